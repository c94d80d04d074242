"""How fast are ingest and fire? Through the worker, the engine, the store and the embedded log, without HTTP."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from benchmarks.load import batches, events
from lightsched.event.record import Headers, Record
from lightsched.node.node import Node
from lightsched.node.settings import Settings


class ShiftedClock:
    """The machine's clock, some time off."""

    def __init__(self, shift_ms: int) -> None:
        self.shift_ms = shift_ms

    def wall_ms(self) -> int:
        """Shifted wall time."""
        return time.time_ns() // 1_000_000 + self.shift_ms

    def monotonic_ms(self) -> int:
        """Monotonic time."""
        return time.monotonic_ns() // 1_000_000


HOUR_MS = 3_600_000


async def measure(path: Path, count: int, say: Callable[[str], None]) -> tuple[float, float]:
    """Events a second: ingest, then fire all of them in one burst, counted by a subscriber."""
    settings = Settings.load(data=path)
    now_ms = time.time_ns() // 1_000_000
    lines = [
        [Record(None, line) for line in batch] for batch in batches(events(count, now_ms - HOUR_MS, HOUR_MS), 1_000)
    ]
    node, running = await start(settings, ShiftedClock(-2 * HOUR_MS))
    topic = node.log.topics.events
    began = perf_counter()
    under_way: set[asyncio.Future[object]] = set()
    for batch in lines:
        under_way.add(asyncio.ensure_future(node.commands.submit(topic, [(0, record) for record in batch])))
        if len(under_way) >= 4:
            _, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.gather(*under_way)
    ingest = count / (perf_counter() - began)
    say(f"ingest {ingest:,.0f}/s")
    node.stop()
    await running
    del node  # its store must be gone before the directory is opened again
    began = perf_counter()
    node, running = await start(settings, ShiftedClock(0))
    delivered: list[Headers] = []
    position = 0
    while len(delivered) < count:
        records = await node.log.fetch(node.log.topics.deliveries, {0: position}, 5_000, 10)
        delivered += [record.record.headers for record in records]
        position = records[-1].offset + 1
    fire = count / (perf_counter() - began)
    seen = {dict(headers)["ls_id"] for headers in delivered}
    assert len(seen) == len(delivered) == count, (len(seen), len(delivered), count)
    say(f"fire {fire:,.0f}/s")
    node.stop()
    await running
    return ingest, fire


async def start(settings: Settings, clock: ShiftedClock | None = None) -> tuple[Node, asyncio.Task[None]]:
    node = await Node.open(settings, clock)
    running = asyncio.create_task(node.run())
    await node.wait_ready()
    return node, running
