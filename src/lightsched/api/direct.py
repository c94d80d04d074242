"""Where every microsecond counts: an endpoint that takes the request as it is, and answers with a response.

FastAPI documents it, and finds it where the application is mounted under another path. Otherwise it is called past the
framework: routing, parameters, validation and the layers around them cost more than scheduling an event. Errors are
answered as everywhere.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

Endpoint = Callable[[Request], Awaitable[Response]]


class Direct(APIRoute):
    """A route whose endpoint is called with the request, and nothing else."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.app = _call(endpoint)


def _call(endpoint: Endpoint) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await endpoint(Request(scope, receive, send))
        await response(scope, receive, send)

    return app


class PastTheFramework:
    """An application whose direct routes are called without it."""

    def __init__(self, app: FastAPI) -> None:
        self.framework = app
        self._endpoints: dict[tuple[str, str], Endpoint] = {
            (method, route.path): route.endpoint
            for route in app.routes
            if isinstance(route, Direct)
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        endpoint = self._endpoints.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if endpoint is None:
            await self.framework(scope, receive, send)
            return
        scope["app"] = self.framework
        request = Request(scope, receive, send)
        try:
            response = await endpoint(request)
        except ClientDisconnect:
            raise
        except Exception as error:  # noqa: BLE001 -- all have their answer
            response = await _handler_of(self.framework, error)(request, error)
        await response(scope, receive, send)


def _handler_of(app: FastAPI, error: Exception) -> Callable[[Request, Exception], Awaitable[Response]]:
    handlers: Mapping[Any, Any] = app.exception_handlers
    handler: Callable[[Request, Exception], Awaitable[Response]]
    handler = next(handlers[kind] for kind in type(error).__mro__ if kind in handlers)
    return handler
