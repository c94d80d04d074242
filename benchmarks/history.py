"""Do lists, look-ups and run histories stay fast when there is a lot? Latencies over REST, one request at a time.

Beside them, in the same run: the same reads of the same files with RocksDB alone, and an empty FastAPI handler. Ids are
spread, so a page of a list lies together in `states` and all over `definitions`, as it does in real life.
"""

import asyncio
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from benchmarks.heart import start
from benchmarks.load import batches, events, percentile
from benchmarks.rest import EMPTY
from benchmarks.server import Server, wait_until_ready
from lightsched.api.cursor import write_cursor
from lightsched.event.identity import identity
from lightsched.event.record import Record
from lightsched.event.status import Outcome
from lightsched.log.embedded.families import FAMILIES
from lightsched.node.settings import Settings
from lightsched.store.families import DEFINITIONS, STATES
from lightsched.store.keys import definition_key, partition_key
from lightsched.store.rocks import Rocks
from lightsched.store.values import decode_state

YEAR_MS = 365 * 86_400_000
PAGE = 100
MANY_RUNS = "many-runs"
_encode = msgspec.json.encode


class Latency(NamedTuple):
    """In milliseconds."""

    p50: float
    p99: float

    def __str__(self) -> str:
        return f"p50 {self.p50:.2f} ms, p99 {self.p99:.2f} ms"


class Found(NamedTuple):
    """What was measured."""

    empty: Latency  # GET of an empty FastAPI handler
    get: Latency
    bare_get: Latency  # a state and a definition
    page: Latency  # 100 events
    bare_page: Latency  # 100 states and their definitions
    search: Latency  # a filter that nothing matches: as much as one request looks at
    runs: Latency  # 100 runs, page after page
    memory_mb: float


def name_of(index: int) -> str:
    """An id: the order of ids has nothing to do with that of arrival."""
    return f"h-{index * 2_654_435_761 % (1 << 32):08x}"


async def fill(path: Path, count: int, runs: int, say: Callable[[str], None]) -> None:
    """Events that are due within a year, and one with many runs."""
    node, running = await start(Settings.load(data=path))
    first_ms = time.time_ns() // 1_000_000 + 3_600_000
    lines = (
        _encode({**msgspec.json.decode(line), "id": name_of(index)})
        for index, line in enumerate(events(count, first_ms, YEAR_MS))
    )
    for batch in batches(lines, 1_000):
        await node.commands.submit(node.log.topics.events, [(0, Record(None, line)) for line in batch])
    say(f"{count:,} events")
    often = [_encode({"id": MANY_RUNS, "cron": "@yearly"}), *[_encode({"op": "trigger", "id": MANY_RUNS})] * runs]
    store, name = node.workers[0].partition.store, identity("default", MANY_RUNS, MANY_RUNS)
    for batch in batches(iter(often), 500):
        answers = await node.commands.submit(node.log.topics.events, [(0, Record(None, line)) for line in batch])
        outcomes = {answer.outcome for answer in answers}
        assert outcomes <= {Outcome.SCHEDULED, Outcome.TRIGGERED}, outcomes
        # they are due one a millisecond, and no more than 1,000 may wait
        while (state := store.states([name])[0]) is not None and state.runs:  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.01)
    say(f"{runs:,} runs of one event")
    node.stop()
    await running


def measure(path: Path, count: int, runs: int, requests: int, say: Callable[[str], None]) -> Found:
    """Fill a store, then read it: RocksDB alone, an empty handler, and the server."""
    asyncio.run(fill(path, count, runs, say))
    rng = random.Random(2)
    chosen = [rng.randrange(count) for _ in range(requests)]
    bare_get, bare_page = _bare(path, chosen)
    server, floor = Server(path), Server(path)
    empty = subprocess.Popen([sys.executable, "-c", EMPTY, str(floor.port)])
    server.start()
    try:
        wait_until_ready(floor.url, empty)
        base = "/api/v1/events"
        nothing, get, page = _in_turns(
            [(floor.port, "/readyz")] * requests,
            [(server.port, f"{base}/{name_of(index)}") for index in chosen],
            [(server.port, f"{base}?limit={PAGE}&cursor={_cursor(index)}") for index in chosen],
        )
        (search,) = _in_turns([(server.port, f"{base}?type=none&cursor={_cursor(index)}") for index in chosen[:50]])
        history = _summed(_runs(server.port, min(runs // PAGE, requests)))
        return Found(nothing, get, bare_get, page, bare_page, search, history, server.rss_mb())
    finally:
        server.stop()
        empty.terminate()
        empty.wait()


def _cursor(index: int) -> str:
    return quote(write_cursor("e", bytes(identity("default", name_of(index), name_of(index)))))


def _bare(path: Path, chosen: list[int]) -> tuple[Latency, Latency]:
    """The reads that a request cannot do without, from the same files."""
    rocks = Rocks(path, FAMILIES)
    states, definitions = rocks.families[STATES], rocks.families[DEFINITIONS]
    keys = [partition_key(0) + identity("default", name_of(index), name_of(index)) for index in chosen]
    gets, pages = [], []
    for key, index in zip(keys, chosen, strict=True):
        began = time.perf_counter()
        assert states.get(key) is not None
        definitions.get(definition_key(0, index))
        gets.append(time.perf_counter() - began)
    for key in keys:
        began = time.perf_counter()
        listed = []
        for value in states.values(from_key=key):
            listed.append(definition_key(0, decode_state(value).seq))
            if len(listed) == PAGE:
                break
        definitions.get(listed)
        pages.append(time.perf_counter() - began)
    del states, definitions
    rocks.close()
    return _summed(gets), _summed(pages)


def _runs(port: int, pages: int) -> Iterable[float]:
    """Page after page, from the newest run on."""
    path = f"/api/v1/events/{MANY_RUNS}/runs?limit={PAGE}"
    cursor = ""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(pages):
            began = time.perf_counter()
            body = _ask(connection, path + cursor)
            yield time.perf_counter() - began
            answer = msgspec.json.decode(body)
            assert len(answer["runs"]) == PAGE
            if answer["cursor"] is None:
                return
            cursor = f"&cursor={answer['cursor']}"


def _in_turns(*kinds: list[tuple[int, str]]) -> list[Latency]:
    """Requests of several kinds, one of each in turn: whatever else the machine does, it does to all of them."""
    took: list[list[float]] = [[] for _ in kinds]
    with ExitStack() as stack:
        ports = {port for kind in kinds for port, _ in kind}
        open_to = {port: stack.enter_context(socket.create_connection(("127.0.0.1", port))) for port in ports}
        for turn in zip(*kinds, strict=True):
            for (port, path), times in zip(turn, took, strict=True):
                began = time.perf_counter()
                _ask(open_to[port], path)
                times.append(time.perf_counter() - began)
    return [_summed(times) for times in took]


def _ask(connection: socket.socket, path: str) -> bytes:
    """GET over a plain socket: a client library would cost more than the server does."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1 << 20)
    head, _, body = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), received
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
    while len(body) < length:
        body += connection.recv(1 << 20)
    return body


def _summed(seconds: Iterable[float]) -> Latency:
    took = [1000 * each for each in seconds]
    return Latency(percentile(took, 0.5), percentile(took, 0.99))
