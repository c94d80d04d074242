"""What is the application? All endpoints, behind the gate, with every error as a problem."""

import logging
from collections.abc import Iterable
from secrets import token_hex
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette._utils import get_route_path
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from lightsched import __version__
from lightsched.api import (
    became,
    bulk,
    commands,
    dead_letters,
    deliveries,
    documents,
    events,
    forecast,
    health,
    history,
    internal,
    pages,
    patch,
    preview,
    recent,
    reports,
    runs,
    submit,
    tasks,
    tenants,
    upcoming,
)
from lightsched.api.complaints import problems_of
from lightsched.api.direct import PastTheFramework
from lightsched.api.elsewhere import Elsewhere, ask_elsewhere
from lightsched.api.face import Face
from lightsched.api.gate import Gate, hosts_for
from lightsched.api.problem import (
    FORBIDDEN,
    INTERNAL,
    INVALID,
    NOT_FOUND,
    TIMEOUT,
    TOO_LARGE,
    UNAVAILABLE,
    WRONG_METHOD,
    Kind,
    Refusal,
)
from lightsched.event.errors import InvalidEvent
from lightsched.log.errors import LogClosed, LogLost, NotAppended, NotRead, TooLargeToAppend
from lightsched.node.answers import NotAnswered
from lightsched.node.node import Node
from lightsched.node.peers import PeerFailed
from lightsched.node.submitting import NodeStopped, PartitionLost
from lightsched.store.errors import StoreClosed

log = logging.getLogger(__name__)

ROUTERS = (
    *(
        submit.router,
        bulk.router,
        reports.router,
        deliveries.router,
        events.router,
        patch.router,
        commands.router,
        runs.router,
    ),
    *(history.router, tasks.router, dead_letters.router, tenants.router),
    *(recent.router, upcoming.router, forecast.router, preview.router),
    *(internal.router, bulk.names, history.for_nodes, became.for_nodes, upcoming.internal),
    *(health.cluster, health.watch, pages.router),
)
_FOR_NOW = (
    *(NodeStopped, NotAnswered, PartitionLost, PeerFailed, StoreClosed),
    *(LogClosed, LogLost, NotAppended, NotRead),
)
"""Errors that pass."""


def make_app(node: Node, hosts: Iterable[str] | None = None) -> Gate:
    """The application of one node: an ASGI app. `hosts`: the names it goes by, if not as its settings say."""
    app = FastAPI(
        title="lightsched", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False, openapi_url=None
    )
    app.state.face = face = Face(node)
    node.roles.append("api")
    for router in ROUTERS:
        # One flat list: an included router would be searched for the route of each request, at twice the cost.
        app.router.routes.extend(router.routes)
    app.openapi = lambda: documents.openapi(app)  # type: ignore[method-assign]
    _answer_errors(app)
    http = node.settings.http
    names = hosts_for(http.host, http.hosts) if hosts is None else frozenset(hosts) or None
    return Gate(PastTheFramework(app), names, node.workers, face.stopping.is_set)


def face_of(gate: Gate) -> Face:
    """What the application's endpoints share."""
    face: Face = framework_of(gate).state.face
    return face


def framework_of(gate: Gate) -> FastAPI:
    """The application behind the gate, and behind its short cuts."""
    app: Any = gate.app
    framework: FastAPI = app.framework
    return framework


def _answer_errors(app: FastAPI) -> None:
    app.exception_handler(Refusal)(refuse)
    app.exception_handler(Elsewhere)(ask_elsewhere)
    app.exception_handler(InvalidEvent)(refuse_event)
    app.exception_handler(RequestValidationError)(refuse_parameters)
    app.exception_handler(HTTPException)(refuse_route)
    for error in _FOR_NOW:
        app.exception_handler(error)(refuse_for_now)
    app.exception_handler(TooLargeToAppend)(refuse_size)
    app.exception_handler(ClientDisconnect)(nobody_there)
    app.exception_handler(Exception)(unexpected)


async def refuse(_request: Request, error: Refusal) -> Response:
    """An endpoint has refused the request."""
    return error.response()


async def refuse_event(_request: Request, error: InvalidEvent) -> Response:
    """An event, a report or a name makes no sense."""
    return Refusal(INVALID, str(error), error.problems).response()


async def refuse_parameters(_request: Request, error: RequestValidationError) -> Response:
    """A parameter makes no sense."""
    problems = problems_of(error.errors(), "parameter", skip=1)
    return Refusal(INVALID, "; ".join(map(str, problems)), problems).response()


async def refuse_route(request: Request, error: HTTPException) -> Response:
    """There is nothing at this address, or not with this method."""
    kinds: dict[int, tuple[Kind, str]] = {
        404: (NOT_FOUND, f"There is nothing at {request.url.path[:200]!r}: see /docs for what there is."),
        405: (WRONG_METHOD, f"{request.method} is not for this address: see /docs for what is."),
        403: (FORBIDDEN, str(error.detail)),
    }
    kind, detail = kinds.get(error.status_code, (INVALID, str(error.detail)))
    headers = {"Allow": ", ".join(_methods_at(request))} if error.status_code == 405 else error.headers
    return Refusal(kind, detail).response(headers)


def _methods_at(request: Request) -> list[str]:
    """The methods of all routes that have this path; of those with a name in it, if none is written like this."""
    there = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    path = get_route_path(request.scope)
    there = [route for route in there if getattr(route, "path", "") == path] or there
    return sorted({method for route in there for method in getattr(route, "methods", None) or ()})


async def refuse_for_now(_request: Request, error: Exception) -> Response:
    """The node cannot do it at present."""
    return Refusal(UNAVAILABLE, str(error)).response()


async def refuse_size(_request: Request, error: Exception) -> Response:
    """More than the log takes in one piece."""
    return Refusal(TOO_LARGE, str(error)).response()


async def nobody_there(_request: Request, _error: ClientDisconnect) -> Response:
    """The client has left; whatever is answered, it does not hear it."""
    return Refusal(TIMEOUT, "The client has left before the request was complete.").response()


async def unexpected(request: Request, error: Exception) -> Response:
    """A bug: the log has all about it, under a number that the client is told."""
    incident = token_hex(6)
    log.error("incident %s at %s %r", incident, request.method, request.url.path, exc_info=error)
    return Refusal(INTERNAL, f"This is a bug in lightsched; its log says more under the number {incident}.").response()
