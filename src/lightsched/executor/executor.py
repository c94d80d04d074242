"""How does a service become an executor? `Executor`: functions by type, and a way to the deliveries."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from lightsched.client.client import USUAL_SERVER, App
from lightsched.client.errors import Invalid
from lightsched.client.fields import Duration
from lightsched.client.kafka_place import Kafka
from lightsched.executor.outcomes import duration_s
from lightsched.executor.routes import Middleware, Routes
from lightsched.executor.signals import stopping_at_signals
from lightsched.executor.source import Source
from lightsched.executor.taken import Taken
from lightsched.executor.work import Work

Function = TypeVar("Function", bound=Callable[..., Any])
Around = TypeVar("Around", bound=Middleware)


class Executor:
    """Acts on deliveries, and reports.

    `server`: as for `Client`: the address of a server, `kafka://host:port`, a `Kafka(…)`; else LIGHTSCHED_SERVER. Or
    what `lightsched.asgi()` gives, where lightsched runs in the same process: then nothing goes over the network.
    `group`: each delivery goes to one executor of a group. `topics`: where deliveries are read. `concurrency`: so many
    functions run at once. `name`: who reports, as it stands in the history. `tenant`: only this one's deliveries.
    `grace`: how long a stop waits for what runs. `session_timeout`: on Kafka, how long after its last sign of life the
    partitions of one that died go to others.
    """

    def __init__(
        self,
        server: str | Kafka | App | None = None,
        *,
        token: str | None = None,
        tenant: str | None = None,
        group: str = "executors",
        topics: Sequence[str] = ("deliveries",),
        concurrency: int = 100,
        name: str | None = None,
        grace: Duration = "30s",
        session_timeout: Duration = "10s",
    ) -> None:
        if concurrency < 1:
            raise Invalid(f"concurrency is {concurrency}: at least one function must be allowed to run.")
        if isinstance(topics, str) or not topics:
            raise Invalid(f"topics is {topics!r}: name them in a list, as in topics=['deliveries'].")
        self.server: str | Kafka | App = server or os.environ.get("LIGHTSCHED_SERVER") or USUAL_SERVER
        self.group = group
        self.topics = tuple(dict.fromkeys(topics))
        self.concurrency = concurrency
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self.tenant = tenant
        self.grace_s = duration_s(grace)
        self.session_timeout_s = duration_s(session_timeout)
        self.routes = Routes()
        self._token = os.environ.get("LIGHTSCHED_TOKEN", "") if token is None else token
        self._stopping: asyncio.Event | None = None
        self._stopped = False

    def on(self, type: str) -> Callable[[Function], Function]:
        """Let a function execute a type: `email.send`, all that begin so: `email.*`, or what no other does: `*`."""

        def add(function: Function) -> Function:
            self.routes.add(type, function)
            return function

        return add

    def middleware(self, around: Around) -> Around:
        """Let something happen around each function.

        Example:
            @executor.middleware
            async def timing(context, call_next):
                began = monotonic()
                try:
                    return await call_next()
                finally:
                    print(context.type, monotonic() - began)
        """
        self.routes.wrap(around)
        return around

    def call_for(self, taken: Taken) -> Callable[[], Awaitable[Any]] | None:
        """What this executor does about a delivery, if anything: for whoever brings deliveries by other ways."""
        ours = self.tenant is None or taken.headers.get("ls_tenant") == self.tenant.encode()
        call = self.routes.find(taken.headers.get("ce_type", b"")) if ours else None
        return None if call is None else partial(call, taken, _no_heartbeat)

    async def run(self) -> None:
        """Execute what is delivered, until `stop`, SIGTERM or SIGINT. Then what was taken is finished and reported."""
        self._stopping = asyncio.Event()
        if self._stopped:
            self._stopping.set()
        work = Work(self._source(), self.routes, self.name, self.concurrency, self.tenant)
        try:
            with stopping_at_signals(self.stop):
                await work.run(self._stopping, self.grace_s)
        finally:
            self._stopping = None
            self._stopped = False

    def stop(self) -> None:
        """Take no more; `run` returns when what runs is done."""
        self._stopped = True
        if self._stopping is not None:
            self._stopping.set()

    def main(self) -> None:
        """Run as a program. Logs go to stderr, unless logging is set up already."""
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        logging.getLogger("aiokafka").setLevel(logging.WARNING)
        logging.getLogger("httpx").setLevel(logging.WARNING)
        with (
            suppress(asyncio.CancelledError, KeyboardInterrupt),
            asyncio.Runner(loop_factory=_loop_factory()) as runner,
        ):
            runner.run(self.run())

    def _source(self) -> Source:
        """Only what is needed is imported."""
        server = self.server
        if isinstance(server, str) and urlsplit(server).scheme == "kafka":
            server = Kafka.found(server)
        if isinstance(server, Kafka):
            from lightsched.executor.over_kafka import KafkaSource  # noqa: PLC0415

            return KafkaSource(server, self.group, self.topics, self.name, self.session_timeout_s)
        from lightsched.executor.over_rest import RestSource  # noqa: PLC0415

        if not isinstance(server, str):
            return RestSource("http://127.0.0.1", self._token, self.group, self.topics, server)
        if urlsplit(server).scheme not in {"http", "https"} or not urlsplit(server).netloc:
            raise Invalid(f"{server!r} is no address of a server: write http://host:port, or kafka://host:port.")
        return RestSource(server, self._token, self.group, self.topics)


async def _no_heartbeat(taken: Taken) -> None:
    """Nobody waits for one."""


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop
