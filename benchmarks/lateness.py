"""How late is it? From due to readable by a subscriber, with events due at an even rate."""

import time
from pathlib import Path

from benchmarks.heart import start
from benchmarks.load import batches, events, percentile
from lightsched.event.record import Record
from lightsched.node.settings import Settings

LEAD_MS = 1_000


async def measure(path: Path, rate: float, seconds: int) -> tuple[float, float, int]:
    """Lateness in ms, p50 and p99, and how many were early (none), at so many events a second."""
    node, running = await start(Settings.load(data=path))
    count = int(rate * seconds)
    # Everything is scheduled before the first is due: what is measured is firing, not ingest.
    ingest_ms = int(count / 4_000 * 1_000) + LEAD_MS
    first_ms = time.time_ns() // 1_000_000 + ingest_ms
    for batch in batches(events(count, first_ms, seconds * 1_000), 1_000):
        await node.commands.submit(node.log.topics.events, [(0, Record(None, line)) for line in batch])
    assert time.time_ns() // 1_000_000 < first_ms, "ingest took longer than planned"
    lateness: list[float] = []
    position = early = 0
    while len(lateness) < count:
        records = await node.log.fetch(node.log.topics.deliveries, {0: position}, 5_000, 10)
        now_ms = time.time_ns() / 1_000_000
        for record in records:
            position = record.offset + 1
            due_ms = int(dict(record.record.headers)["ls_due"])
            lateness.append(now_ms - due_ms)
            early += now_ms < due_ms
    node.stop()
    await running
    return percentile(lateness, 0.5), percentile(lateness, 0.99), early
