"""How does a Faust app execute deliveries? One agent reads the topics, calls the function for a type, and reports.

1. A record is read. Of a type that no function is for, nothing is done: it is somebody else's.
2. The function is called; every third of the timeout, a heartbeat is sent meanwhile.
3. What came of it is reported, to the partition that the delivery names, and is durable.
4. Only then the record counts as read: if the process dies before, it comes again, with the same id.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import faust

from lightsched_faust.committed import CommittedTransport
from lightsched_faust.delivery import Delivery
from lightsched_faust.report import Fatal, Retry, failure, heartbeat, success

log = logging.getLogger(__name__)

PER_TIMEOUT = 3
Function = TypeVar("Function", bound=Callable[[Any, Delivery], Awaitable[Any]])


class Deliveries:
    """The deliveries that an app executes.

    `prefix`: of lightsched's own topics. `topics`: where deliveries are read; default the usual one. `name`: who
    reports. `concurrency`: so many at once; with more than one, deliveries of one key may overtake each other.
    """

    def __init__(
        self,
        app: faust.App,
        *,
        prefix: str = "lightsched.",
        topics: Sequence[str] = (),
        name: str | None = None,
        concurrency: int = 1,
    ) -> None:
        self.name = name or f"{socket.gethostname()}-{os.getpid()}"
        self._functions: dict[str, Callable[[Any, Delivery], Awaitable[Any]]] = {}
        app.transport = CommittedTransport(app.conf.broker_consumer, app)
        raw = {"key_type": bytes, "value_type": bytes, "key_serializer": "raw", "value_serializer": "raw"}
        self._reports = app.topic(f"{prefix}reports", **raw)
        names = topics or (f"{prefix}deliveries",)
        app.agent(app.topic(*names, **raw), name="lightsched", concurrency=concurrency)(self._read)

    def on(self, type: str) -> Callable[[Function], Function]:
        """Let a function execute a type: `email.send`, all that begin so (`email.*`), or all others (`*`)."""

        def add(function: Function) -> Function:
            assert type not in self._functions, f"{type} has a function already"
            self._functions[type] = function
            return function

        return add

    def function_for(self, type: str) -> Callable[[Any, Delivery], Awaitable[Any]] | None:
        """The one for it, else the one for its longest prefix, else the one for `*`."""
        names = type.split(".")
        wider = (".".join([*names[:n], "*"]) for n in range(len(names) - 1, -1, -1))
        return next((self._functions[each] for each in (type, *wider) if each in self._functions), None)

    async def _read(self, stream: Any) -> None:
        async for event in stream.events():
            headers = {name: value or b"" for name, value in event.headers.items()}
            await self.execute(Delivery(headers, event.message.key or b"", event.message.value or b""))

    async def execute(self, delivery: Delivery) -> None:
        """Call the function for a delivery, and report what came of it."""
        function = self.function_for(delivery.type)
        if function is None:
            return
        try:
            async with self._heartbeats(delivery):
                returned = await function(delivery.payload, delivery)
            report = success(delivery, self.name, returned)
        except Exception as error:
            report = failure(delivery, self.name, error)
            if not isinstance(error, Retry | Fatal):
                log.exception("%s failed", delivery.name)
        if delivery.timeout_s:
            await self._say(delivery, report)

    @asynccontextmanager
    async def _heartbeats(self, delivery: Delivery) -> Any:
        if not delivery.timeout_s:
            yield
            return

        async def beat() -> None:
            while True:
                await asyncio.sleep(delivery.timeout_s / PER_TIMEOUT)
                await self._say(delivery, heartbeat(delivery, self.name))

        beating = asyncio.create_task(beat())
        try:
            yield
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    async def _say(self, delivery: Delivery, report: bytes) -> None:
        """To the partition that the delivery names; returns when it is durable."""
        sent = await self._reports.send(key=delivery.key, value=report, partition=delivery.partition, force=True)
        await sent
