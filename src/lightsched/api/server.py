"""How does a node serve? One process, one event loop: the HTTP server and the workers of the node side by side."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager, nullcontext
from functools import partial

import uvicorn

from lightsched.api.accepting import Accepting
from lightsched.api.app import face_of, framework_of, make_app
from lightsched.api.crowd import Crowd
from lightsched.api.face import Face
from lightsched.api.files import most_open_files
from lightsched.api.pages import written_document
from lightsched.api.protocol import protocol
from lightsched.errors import LightschedError
from lightsched.node.listening import address_of
from lightsched.node.metrics import Metrics
from lightsched.node.node import Node

log = logging.getLogger(__name__)

Beside = Callable[[Face, str], AbstractAsyncContextManager[None]]
"""What runs while the server does, and asks it at an address."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_GRACE_S = 10
"""How long a request may take to end when the node stops."""


def nothing(_face: Face, _address: str) -> AbstractAsyncContextManager[None]:
    """Nothing else runs."""
    return nullcontext()


class Server(uvicorn.Server):
    """uvicorn's server, as a guest: signals and the end of the process are our own business."""

    def __init__(self, config: uvicorn.Config, crowd: Crowd, metrics: Metrics) -> None:
        super().__init__(config)
        self._crowd = crowd
        self._metrics = metrics

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept connections on the sockets that are bound already."""
        make = partial(self.config.http_protocol_class, self.config, self.server_state, {})  # type: ignore[call-arg]
        self.servers = [Accepting(each, make) for each in sockets or ()]  # type: ignore[misc]
        self.started = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        if counter % 10 == 0:
            self._crowd.look()
            self._metrics.http_connections.set(self._crowd.size)
        return await super().on_tick(counter)

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """They are caught in `serve`."""
        return nullcontext()


async def serve(
    node: Node,
    running: asyncio.Task[None],
    listening: socket.socket,
    announce: Callable[[str], None],
    beside: Beside = nothing,
) -> None:
    """Serve a node that runs until a signal comes, or until it ends; `announce` is told the address once it is ready.

    1. On a signal: what runs beside the server finishes, while it is still there to be asked.
    2. End the long polls, finish the requests, accept no more.
    3. Then the node finishes the steps under way and closes the log.

    A second signal ends the process at once. That loses nothing: what was acknowledged is on the disk.
    """
    app = make_app(node)
    await asyncio.to_thread(written_document, framework_of(app))  # a tenth of a second, that nobody waits for
    metrics = node.metrics
    crowd = Crowd(
        node.settings.http, most_open_files(), lambda reason: metrics.http_turned_away.labels(reason=reason).inc()
    )
    config = uvicorn.Config(
        app,
        http=protocol(crowd),
        ws="none",
        lifespan="off",
        access_log=False,
        proxy_headers=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = Server(config, crowd, metrics)

    stopping = asyncio.Event()

    def end_serving() -> None:
        face_of(app).stopping.set()
        server.should_exit = True

    def stop() -> None:
        stopping.set()
        if not node.ready:
            end_serving()

    async def serve_requests() -> None:
        await server.serve(sockets=[listening])
        saying.cancel()
        node.stop()

    async def run_beside() -> None:
        await node.wait_ready()
        address = address_of(listening)
        async with beside(face_of(app), address):
            announce(address)
            await stopping.wait()
        end_serving()

    with stopped_by_signals(stop):
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_end_of(running), name="node")
                group.create_task(serve_requests(), name="http")
                saying = group.create_task(run_beside(), name="beside")
        except BaseExceptionGroup as failures:
            said, unexpected = failures.split(LightschedError)
            if said is None or unexpected is not None:
                raise
            raise _first(said) from None


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


async def _end_of(running: asyncio.Task[None]) -> None:
    await running


def _first(failures: BaseExceptionGroup[LightschedError]) -> LightschedError:
    first = failures.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
