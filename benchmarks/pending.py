"""What do millions of pending events cost? Resident memory of the server, and its restart after kill -9."""

import asyncio
import time
from collections.abc import Callable
from datetime import datetime
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
        await node.commands.submit(node.log.topics.events, [(0, Record(None, line)) for line in batch])
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


def restart_s(path: Path) -> tuple[float, float]:
    """From the start of a process after kill -9 until it has fired what was due meanwhile, and until that is read."""
    server = Server(path)
    server.start()
    group = f"restart-{time.time_ns()}"
    with httpx.Client(base_url=server.url, timeout=60) as client:
        ends = client.get("/api/v1/deliveries/lightsched.deliveries", params={"group": group, "max": 1_000}).json()
        while ends["deliveries"]:
            client.post("/api/v1/deliveries/lightsched.deliveries/ack", json={"group": group, "cursor": ends["cursor"]})
            ends = client.get("/api/v1/deliveries/lightsched.deliveries", params={"group": group, "max": 1_000}).json()
        lines = "\n".join(f'{{"id":"k-{group}-{n}","in":"3s"}}' for n in range(1_000))
        client.post("/api/v1/events", content=lines, headers={"content-type": "application/x-ndjson"})
    server.kill()
    time.sleep(3.5)  # they are due now
    began = time.time()
    server.start()
    with httpx.Client(base_url=server.url, timeout=60) as client:
        first = read_one(client, wait="30s", group=group)
    read = time.time() - began
    fired = datetime.fromisoformat(first["delivered_at"]).timestamp() - began
    server.stop()
    return fired, read


def read_one(client: httpx.Client, *, wait: str, group: str = "bench") -> dict[str, str]:
    """Wait for a delivery."""
    response = client.get("/api/v1/deliveries/lightsched.deliveries", params={"group": group, "max": 1, "wait": wait})
    assert response.json()["deliveries"], response.text
    first: dict[str, str] = response.json()["deliveries"][0]
    return first


def measure(
    path: Path, counts: list[int], say: Callable[[str], None]
) -> tuple[list[tuple[int, float]], tuple[float, float]]:
    """Memory for each number of pending events, and the restart with the first of them."""
    memory: list[tuple[int, float]] = []
    restart = 0.0, 0.0
    before = 0
    for count in counts:
        asyncio.run(fill(path, before, count, say))
        before = count
        memory.append((count, resident_mb(path)))
        say(f"{count:,} pending: {memory[-1][1]:.0f} MB")
        if len(memory) == 1:
            restart = restart_s(path)
            say(f"restart: fires after {restart[0]:.2f} s, read after {restart[1]:.2f} s")
    return memory, restart
