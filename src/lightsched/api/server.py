"""How does a node serve? One process, one event loop: the HTTP server and the workers of the node side by side."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import uvicorn

from lightsched.api.app import face_of, make_app
from lightsched.errors import LightschedError
from lightsched.node.node import Node
from lightsched.node.settings import HttpSettings, Settings

log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE_S = 10
"""How long a request may take to end when the node stops."""


class CannotListen(LightschedError):
    """Cannot listen on {host} port {port} ({why}): give another with --port, or stop what is using it."""


class Server(uvicorn.Server):
    """uvicorn's server, as a guest: signals and the end of the process are our own business."""

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """They are caught in `serve`."""
        return nullcontext()


async def serve(settings: Settings, announce: Callable[[str], None]) -> None:
    """Run a node and its HTTP interface until a signal comes.

    1. Bind the port, open the log: both may fail, and say why.
    2. Run the workers and the server; `announce` is told the address once both are ready.
    3. On a signal: end the long polls, finish the requests, accept no more.
    4. Then finish the steps under way, close the log.

    A second signal ends the process at once. That loses nothing: what was acknowledged is on the disk.
    """
    with bind(settings.http) as listening:
        node = await Node.open(settings)
        await _run(node, listening, announce)


async def _run(node: Node, listening: socket.socket, announce: Callable[[str], None]) -> None:
    app = make_app(node)
    config = uvicorn.Config(
        app,
        lifespan="off",
        access_log=False,
        proxy_headers=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = Server(config)

    def stop() -> None:
        face_of(app).stopping.set()
        server.should_exit = True

    async def serve_requests() -> None:
        await server.serve(sockets=[listening])
        saying.cancel()
        node.stop()

    async def say_when_ready() -> None:
        await node.wait_ready()
        announce(address_of(listening))

    with stopped_by_signals(stop):
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(node.run(), name="node")
                group.create_task(serve_requests(), name="http")
                saying = group.create_task(say_when_ready(), name="ready")
        except BaseExceptionGroup as failures:
            said, unexpected = failures.split(LightschedError)
            if said is None or unexpected is not None:
                raise
            raise _first(said) from None


def bind(http: HttpSettings) -> socket.socket:
    """A socket on the configured address."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            http.host, http.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # on Windows it would let two servers share a port
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(2048)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise CannotListen(host=http.host, port=http.port, why=error.strerror or error) from None
    return listening


def address_of(listening: socket.socket) -> str:
    """Where a browser finds it."""
    host, port = listening.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextmanager
def stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """The first signal stops in good order, the second at once."""
    loop = asyncio.get_running_loop()
    seen = 0

    def on_signal(number: int) -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            os._exit(128 + number)
        log.info("stopping (again to stop at once)")
        stop()

    caught = []
    for number in _SIGNALS:
        try:
            loop.add_signal_handler(number, on_signal, number)
            caught.append(number)
        except NotImplementedError:  # Windows: Ctrl-C then ends the loop itself
            break
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)


def _first(failures: BaseExceptionGroup[LightschedError]) -> LightschedError:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
