"""How does lightsched live inside another application? As an ASGI app, mounted under any path.

    scheduler = asgi(Settings.load(data="/var/lib/scheduler"))
    app.mount("/scheduler", scheduler)

A mounted application is not told when the outer one starts and ends. So its node starts with the first request, or,
which is better because what is due fires before that, with the outer application:

    @asynccontextmanager
    async def lifespan(app):
        async with scheduler:
            yield

A node that fails says so in the log, and the next request starts it again. While it cannot start, requests are
answered 503 with the reason.

Who may come in is then the outer application's business; names are checked only where `http.hosts` is set.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Self

from starlette.types import ASGIApp, Receive, Scope, Send

from lightsched.api.app import face_of, make_app
from lightsched.api.face import Face
from lightsched.api.gate import Gate
from lightsched.api.problem import UNAVAILABLE, Refusal
from lightsched.errors import LightschedError
from lightsched.node.node import Node
from lightsched.node.settings import Settings
from lightsched.node.submitting import NodeStopped

log = logging.getLogger(__name__)

_READY_S = 5.0
"""So long a start waits for all partitions, once those that are there can answer."""

_FORESEEN = (LightschedError, OSError)
"""Errors of a start that say by themselves what is wrong: a directory that is in use, or may not be written to."""


class Mounted:
    """A node and its API, as one ASGI app."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._running: asyncio.Task[None] | None = None
        self._started: asyncio.Future[Gate]  # of the one that runs
        self._face: Face | None = None  # its log is open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the node is started if it does not run."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await (await self._answering(scope))(scope, receive, send)

    async def _answering(self, scope: Scope) -> ASGIApp:
        """What answers a request: the node, or why it cannot start."""
        try:
            return await self.start()
        except _FORESEEN as error:
            if scope["type"] != "http":
                raise
            return Refusal(UNAVAILABLE, f"The scheduler cannot start: {error}").response()

    async def start(self) -> ASGIApp:
        """Start the node, if it does not run, and wait until it answers. It goes on if whoever waits gives up."""
        if self._running is None or self._running.done():
            self._started = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._started), name="lightsched")
        return await asyncio.shield(self._started)

    async def _run(self, started: asyncio.Future[Gate]) -> None:
        """A node, from its start to its end."""
        try:
            node = await Node.open(self._settings)
            gate = make_app(node, hosts=node.settings.http.hosts)
            self._face = face_of(gate)
            saying = asyncio.create_task(_say_when_it_answers(node, gate, started))
            try:
                await node.run()
            finally:
                saying.cancel()
        except Exception as error:
            starting = not started.done()
            if starting:
                started.set_exception(error)
            if starting and isinstance(error, _FORESEEN):
                log.error("the node cannot start; the next request tries again: %s", error)  # noqa: TRY400 -- it says all
            else:
                log.exception("the node has failed; the next request starts it again")
        finally:
            self._face = None

    async def stop(self) -> None:
        """Finish what is under way, and let go of the log."""
        if self._running is None:
            return
        running, started = self._running, self._started
        if self._face is None:
            running.cancel()  # it has not opened the log yet
        else:
            self._face.stopping.set()
            self._face.node.stop()
        await asyncio.wait({running})
        if not started.done():
            started.set_exception(NodeStopped())

    async def __aenter__(self) -> Self:
        """Run with whoever is around."""
        try:
            await self.start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_why: object) -> None:
        """End with whoever is around."""
        await self.stop()

    async def _live(self, receive: Receive, send: Send) -> None:
        """Where it is the whole application, the server says when to start and to end."""
        await receive()
        try:
            await self.start()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})


async def _say_when_it_answers(node: Node, gate: Gate, started: asyncio.Future[Gate]) -> None:
    await node.wait_reachable()
    with suppress(TimeoutError):
        async with asyncio.timeout(_READY_S):
            await node.wait_ready()
    started.set_result(gate)
