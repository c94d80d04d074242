"""What do millions of pending events cost? Resident memory of the server, and its restart after kill -9."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from benchmarks.heart import start
from benchmarks.load import batches, events
from benchmarks.server import Server
from lightsched.event.record import Record
from lightsched.node.settings import Settings

YEAR_MS = 365 * 86_400_000


async def fill(path: Path, first: int, last: int, say: Callable[[str], None]) -> None:
    """Add events that are due within a year, with nothing due soon."""
    node, running = await start(Settings.load(data=path))
    first_ms = time.time_ns() // 1_000_000 + 3_600_000
    done = first
    for batch in batches(events(last - first, first_ms, YEAR_MS, name=f"p{first}", seed=first), 1_000):
        await node.submit(node.log.topics.events, [(0, Record(None, line)) for line in batch])
        done += len(batch)
        if done % 500_000 == 0:
            say(f"{done:,} pending")
    node.stop()
    await running


def resident_mb(path: Path) -> float:
    """Memory of a server on this directory after it has fired and listed a little, which warms its caches."""
    server = Server(path)
    server.start()
    with httpx.Client(base_url=server.url, timeout=60) as client:
        cursor = None
        for _ in range(50):
            page = client.get("/api/v1/events", params={"limit": 200, **({"cursor": cursor} if cursor else {})}).json()
            cursor = page["cursor"]
        lines = "\n".join(f'{{"id":"warm-{n}","in":"1ms"}}' for n in range(5_000))
        client.post("/api/v1/events", content=lines, headers={"content-type": "application/x-ndjson"})
        read_one(client, wait="10s")
    megabytes = server.rss_mb()
    server.stop()
    return megabytes


def restart_s(path: Path) -> float:
    """From the start of a process after kill -9 to its first delivery."""
    server = Server(path)
    server.start()
    group = f"restart-{time.time_ns()}"
    with httpx.Client(base_url=server.url, timeout=60) as client:
        lines = "\n".join(f'{{"id":"k-{group}-{n}","in":"3s"}}' for n in range(1_000))
        client.post("/api/v1/events", content=lines, headers={"content-type": "application/x-ndjson"})
        seen = client.get("/api/v1/deliveries/lightsched.deliveries", params={"group": group, "max": 1000}).json()
        if seen["deliveries"]:
            client.post("/api/v1/deliveries/lightsched.deliveries/ack", json={"group": group, "cursor": seen["cursor"]})
    server.kill()
    time.sleep(3.5)  # they are due now
    began = time.perf_counter()
    server.start()
    with httpx.Client(base_url=server.url, timeout=60) as client:
        read_one(client, wait="30s", group=group)
    taken = time.perf_counter() - began
    server.stop()
    return taken


def read_one(client: httpx.Client, *, wait: str, group: str = "bench") -> None:
    """Wait for a delivery."""
    response = client.get("/api/v1/deliveries/lightsched.deliveries", params={"group": group, "max": 1, "wait": wait})
    assert response.json()["deliveries"], response.text


def measure(path: Path, counts: list[int], say: Callable[[str], None]) -> tuple[list[tuple[int, float]], float]:
    """Memory for each number of pending events, and the restart with the first of them."""
    memory = []
    restart = 0.0
    before = 0
    for count in counts:
        asyncio.run(fill(path, before, count, say))
        before = count
        memory.append((count, resident_mb(path)))
        say(f"{count:,} pending: {memory[-1][1]:.0f} MB")
        if not restart:
            restart = restart_s(path)
            say(f"restart {restart:.2f} s")
    return memory, restart
