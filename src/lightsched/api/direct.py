"""Where every microsecond counts: an endpoint that takes the request as it is, and answers with a response.

FastAPI routes and documents it, and leaves the rest (parameters, dependencies, validation) to the endpoint.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute


class Direct(APIRoute):
    """A route whose endpoint is called with the request, and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The endpoint itself."""
        return self.endpoint
