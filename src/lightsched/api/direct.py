"""Where every microsecond counts: an endpoint that takes the request as it is, and answers with a response.

FastAPI routes and documents it; parameters, validation and what else it does for an endpoint are left out. Errors are
answered as everywhere.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send


class Direct(APIRoute):
    """A route whose endpoint is called with the request, and nothing else."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.app = _call(endpoint)


def _call(endpoint: Callable[[Request], Awaitable[Response]]) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await endpoint(Request(scope, receive, send))
        await response(scope, receive, send)

    return app
