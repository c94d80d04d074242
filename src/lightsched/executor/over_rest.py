"""How does an executor work over HTTP? It polls as a group, reports in batches, and acknowledges what is done.

It reads on while what it has taken is being worked on: the next poll goes on after the last answer's cursor. A page is
acknowledged when all in it, and all before it, is done or carried by its lease. While the server cannot be reached,
what runs goes on, and what came of it is said when it can.
"""

import asyncio
import logging
from base64 import b64decode
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import msgspec
from msgspec import UNSET, Raw, UnsetType

from lightsched.client.errors import ClientError, ServerFailed, Unavailable, Unreachable
from lightsched.client.rest import App, Rest
from lightsched.executor.source import HandOver, Said
from lightsched.executor.taken import Taken
from lightsched.timing import TimingError, parse_duration

log = logging.getLogger(__name__)

T = TypeVar("T")
_WAIT_S = 5.0  # not longer: one that freezes in a poll keeps its group until the answer, and for a while after
_TIMEOUT_S = 30.0
_MOST_AT_ONCE = 1_000
_MOST_BYTES = 4 * 1024 * 1024
_AGAIN_S = 1.0
_NOT_NOW = 503  # where the partition that a report belongs to changes hands, or the server stops
_STAY_S = 3.0  # a reader that is silent for longer than ten is taken to be gone
_MS = 1_000


class _Delivery(msgspec.Struct):
    delivery: str
    partition: int
    offset: int
    key: str
    tenant: str
    id: str
    type: str
    due: datetime
    attempt: int
    headers: dict[str, str]
    token: str
    timeout: str | None = None
    payload: Raw | UnsetType = UNSET
    payload_base64: str | None = None


class _Page(msgspec.Struct):
    deliveries: list[_Delivery]
    cursor: str


class _Reading:
    """How far one topic is read, and acknowledged."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.cursor: str | None = None
        self.pages: deque[tuple[str, deque[Taken]]] = deque()
        self.polling: asyncio.Task[_Page] | None = None
        self.polled_at = 0.0

    def done_with(self) -> str | None:
        """The cursor of the last page that is done with, if there is a new one."""
        cursor = None
        while self.pages:
            last, taken = self.pages[0]
            while taken and (taken[0].settled or taken[0].leased):
                taken.popleft()
            if taken:
                break
            cursor = last
            self.pages.popleft()
        return cursor


class RestSource:
    """A server as the source of deliveries."""

    def __init__(self, server: str, token: str, group: str, topics: Sequence[str], app: App | None = None) -> None:
        self._rest = Rest(server, token, _TIMEOUT_S, retries=5, app=app)
        self._group = group
        self._reader = uuid4().hex
        self._readings = [_Reading(topic) for topic in topics]
        self._staying: asyncio.Task[None] | None = None

    async def start(self, hand_over: HandOver) -> None:  # noqa: ARG002 - nothing is taken away here
        """The first poll says whether somebody is there."""
        self._staying = asyncio.create_task(self._stay(), name="executor stays")

    async def _stay(self) -> None:
        """While there is no room for more deliveries: say now and then that this reader is still there."""
        now = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(_STAY_S / 2)
            for reading in self._readings:
                if reading.polling is None and now() - reading.polled_at >= _STAY_S:
                    reading.polled_at = now()
                    with suppress(ClientError):
                        await self._rest.poll(reading.topic, _Page, self._query(reading, 0, 0.0), 0.0)

    async def take(self, most: int) -> list[Taken]:
        """From whichever topic has something."""
        for reading in self._readings:
            if reading.polling is None:
                reading.polling = asyncio.create_task(self._poll(reading, min(most, _MOST_AT_ONCE)))
        polls = [reading.polling for reading in self._readings if reading.polling is not None]
        await asyncio.wait(polls, return_when=asyncio.FIRST_COMPLETED)
        for reading in self._readings:
            if reading.polling is not None and reading.polling.done():
                page, reading.polling = reading.polling.result(), None
                reading.cursor = page.cursor
                if page.deliveries:
                    taken = list(_all_taken(reading.topic, page.deliveries))
                    reading.pages.append((page.cursor, deque(taken)))
                    return taken
        return []

    async def _poll(self, reading: _Reading, most: int) -> _Page:
        query = self._query(reading, most, _WAIT_S)
        page = await self._patiently(lambda: self._rest.poll(reading.topic, _Page, query, _WAIT_S))
        reading.polled_at = asyncio.get_running_loop().time()
        return page

    def _query(self, reading: _Reading, most: int, wait_s: float) -> dict[str, str | int | None]:
        return {
            "group": self._group,
            "reader": self._reader,
            "max": most,
            "wait": f"{int(wait_s * _MS)}ms",
            "cursor": reading.cursor,
        }

    async def say(self, said: Sequence[Said]) -> Sequence[Taken]:
        """Report, then acknowledge: should one of them be lost, it is the acknowledgement."""
        lost: list[Taken] = []
        for some in _portions(said):
            lost += await self._report(some)
        for reading in self._readings:
            cursor = reading.done_with()
            if cursor is not None:
                await self._patiently(partial(self._rest.acknowledge, reading.topic, self._group, cursor))
        return lost

    async def _report(self, some: Sequence[tuple[Taken, bytes]]) -> list[Taken]:
        """Report until all are taken or refused; those that are refused."""
        lost: list[Taken] = []
        while some:
            answers = await self._patiently(partial(self._rest.report_many, [report for _, report in some]))
            again: list[tuple[Taken, bytes]] = []
            for (taken, report), answer in zip(some, answers, strict=True):
                if answer.status == _NOT_NOW:
                    again.append((taken, report))
                elif answer.error:
                    log.warning("%s: %s", taken.name, answer.error)
                    lost.append(taken)
            if again:
                log.info("%d reports are sent again: the server cannot take them now", len(again))
                await asyncio.sleep(_AGAIN_S)
            some = again
        return lost

    async def close(self) -> None:
        """Let go of the connections."""
        tasks: list[asyncio.Task[Any]] = [each.polling for each in self._readings if each.polling is not None]
        tasks = [*tasks, *([self._staying] if self._staying is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(_STAY_S):
                for reading in self._readings:
                    await self._rest.leave(reading.topic, self._group, self._reader)
        await self._rest.close()

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until there is an answer: a server may be away for a while."""
        complained = False
        while True:
            try:
                return await ask()
            except (Unreachable, Unavailable, ServerFailed) as error:
                if not complained:
                    log.warning("%s It is tried until it answers.", error)
                complained = True
                await asyncio.sleep(_AGAIN_S)


def _all_taken(topic: str, shown: Sequence[_Delivery]) -> Iterator[Taken]:
    for each in shown:
        try:
            yield _taken(topic, each)
        except (TimingError, ValueError):
            log.warning("%s/%d has something at %d that is no delivery", topic, each.partition, each.offset)


def _taken(topic: str, shown: _Delivery) -> Taken:
    """As it would lie on a topic of Kafka."""
    headers = {name: text.encode() for name, text in shown.headers.items()}
    headers |= {
        "ce_id": shown.delivery.encode(),
        "ce_type": shown.type.encode(),
        "ls_tenant": shown.tenant.encode(),
        "ls_id": shown.id.encode(),
        "ls_due": b"%d" % round(shown.due.timestamp() * _MS),
        "ls_attempt": b"%d" % shown.attempt,
        "ls_report": shown.token.encode(),
    }
    if shown.timeout is not None:
        headers["ls_timeout"] = b"%d" % parse_duration(shown.timeout)
    if shown.payload_base64 is not None:
        value = b64decode(shown.payload_base64)
    else:
        value = b"" if shown.payload is UNSET else bytes(shown.payload)
    if "content-type" not in shown.headers and value == b"null":
        value = b""  # there was no payload
    return Taken((topic, shown.partition), shown.offset, shown.key.encode(), value, headers)


def _portions(said: Sequence[Said]) -> list[list[tuple[Taken, bytes]]]:
    """The reports, as many as one request takes."""
    portions: list[list[tuple[Taken, bytes]]] = []
    size = 0
    for taken, report in said:
        if report is not None:
            size += len(report)
            if not portions or len(portions[-1]) == _MOST_AT_ONCE or size > _MOST_BYTES:
                portions.append([])
                size = len(report)
            portions[-1].append((taken, report))
    return portions
