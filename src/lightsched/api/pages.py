"""What does a person see? A page with what is pending and what fired, and one with the interface, to read and to try.

Plain files without a build step; they load nothing from elsewhere and work offline.
"""

from importlib.resources import files

import msgspec
from fastapi import APIRouter, FastAPI, Request, Response

from lightsched.api.asyncapi import written_asyncapi
from lightsched.api.elsewhere import root_path
from lightsched.api.face import Face
from lightsched.api.problem import NOT_FOUND, Refusal

router = APIRouter(include_in_schema=False)

_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
_FILES = {
    file.name: (file.read_bytes(), _TYPES[file.name.rpartition(".")[2]])
    for file in files("lightsched.api").joinpath("page").iterdir()
    if file.name.rpartition(".")[2] in _TYPES
}


@router.get("/")
async def home() -> Response:
    """What is pending, and what fired."""
    return _file("home.html")


@router.get("/docs")
async def docs() -> Response:
    """The interface, to read and to try."""
    return _file("docs.html")


@router.get("/openapi.json")
async def document(request: Request) -> Response:
    """The interface, for programs."""
    return Response(written_document(request.app), media_type="application/json")


def written_document(app: FastAPI) -> bytes:
    """Written once, and not for each who asks."""
    state = app.state
    if not hasattr(state, "document"):
        servers = {"servers": [{"url": root_path()}]} if root_path() else {}
        state.document = msgspec.json.encode(app.openapi() | servers)
    document: bytes = state.document
    return document


@router.get("/asyncapi.json")
async def topics(request: Request) -> Response:
    """What stands on the topics, for programs."""
    face: Face = request.app.state.face
    return Response(written_asyncapi(face.names), media_type="application/json")


@router.get("/page/{name}")
async def file(name: str) -> Response:
    """What the pages are made of."""
    return _file(name)


def _file(name: str) -> Response:
    if name not in _FILES:
        raise Refusal(NOT_FOUND, "There is no such file.")
    content, media_type = _FILES[name]
    return Response(content, headers={"Content-Type": media_type})
