"""What if thousands mean it badly? Slow, broken and hostile requests at once, and what that does to everybody else.

    python -m benchmarks.hostile                     # 10,000 at once, for 30 s
    python -m benchmarks.hostile --clients 500 --seconds 5

The same events are due at the same pace twice, first alone, then beside the hostile clients, which run in a process of
their own. What is reported: how late the deliveries were, with and without; the resident memory; whether every honest
request was answered; and that each event was delivered once.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpx

from benchmarks.load import percentile
from benchmarks.server import Server
from lightsched.timing import parse_instant

RATE = 200
"""Events due a second."""
HONEST_EVERY_S = 0.1
_LEAD_S = 3
_TOPIC = "lightsched.deliveries"
_LAST_S = 60


class Seen(NamedTuple):
    """One run."""

    lateness_ms: list[float]  # from due until it is written
    received_ms: list[float]  # from due until a subscriber has it
    delivered: dict[str, set[int]]  # event → offsets
    expected: int
    answered: int
    refused: list[str]
    answer_ms: list[float]
    rss_mb: float  # the most

    def __str__(self) -> str:
        fired, received, answer = map(_percentiles, (self.lateness_ms, self.received_ms, self.answer_ms))
        return (
            f"fired {fired} late, received {received} late, honest requests answered in {answer} "
            f"({self.answered} of them, {len(self.refused)} not), at most {self.rss_mb:.0f} MB resident"
        )


def _percentiles(values: list[float]) -> str:
    return f"p50 {percentile(values, 0.5):.0f} ms p99 {percentile(values, 0.99):.0f} ms"


def main() -> None:
    """Measure, and print both runs and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10_000, help="hostile ones, at once")
    parser.add_argument("--seconds", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lightsched-hostile-") as folder:
        server = Server(Path(folder) / "data")
        server.start()
        try:
            alone, beside = measure(server, options.clients, options.seconds)
        finally:
            server.stop()
    print(f"alone:    {alone}")
    print(f"hostile:  {beside}")
    ratio = percentile(beside.lateness_ms, 0.99) / max(percentile(alone.lateness_ms, 0.99), 1)
    print(f"p99 lateness beside {options.clients:,} hostile clients / alone: {ratio:.1f}")
    for each in (alone, beside):
        assert not each.refused, each.refused[:5]
        assert len(each.delivered) == each.expected, "some were not delivered"
        assert all(len(offsets) == 1 for offsets in each.delivered.values()), "some were delivered twice"


def measure(server: Server, clients: int, seconds: int) -> tuple[Seen, Seen]:
    """Without and with hostile clients."""
    alone = asyncio.run(_honest(server, "alone", seconds))
    command = [sys.executable, "-m", "benchmarks.enemies", str(server.port), str(clients), str(seconds + _LEAD_S + 2)]
    enemies = subprocess.Popen(command)
    try:
        beside = asyncio.run(_honest(server, "beside", seconds))
    finally:
        enemies.wait(_LAST_S + seconds)
    return alone, beside


async def _honest(server: Server, name: str, seconds: int) -> Seen:
    """Schedule events, watch them arrive, and ask for something now and then, as honest clients do."""
    count = seconds * RATE
    first_ms = time.time_ns() // 1_000_000 + _LEAD_S * 1_000
    seen = Seen([], [], {}, count, 0, [], [], 0.0)
    limits = httpx.Limits(max_keepalive_connections=0)  # each request finds its way in anew
    async with httpx.AsyncClient(base_url=f"{server.url}/api/v1", timeout=_LAST_S, limits=limits) as client:
        lines = (f'{{"id":"{name}-{index}","at":{first_ms + index * 1000 // RATE}}}' for index in range(count))
        await _post(client, "\n".join(lines))
        watching = asyncio.create_task(_watch(client, name, seen))
        answered, most = 0, 0.0
        until = time.monotonic() + _LEAD_S + seconds
        while time.monotonic() < until:
            answered += await _ask(client, f"{name}-honest-{answered}", seen)
            most = max(most, server.rss_mb())
            await asyncio.sleep(HONEST_EVERY_S)
        await asyncio.wait_for(watching, _LAST_S)
    return seen._replace(answered=answered, rss_mb=most)


async def _post(client: httpx.AsyncClient, lines: str) -> None:
    response = await client.post("/events", content=lines, headers={"content-type": "application/x-ndjson"})
    assert response.status_code == 201, response.text


async def _ask(client: httpx.AsyncClient, id_: str, seen: Seen) -> int:
    """Schedule, look, cancel: how many were answered."""
    answered = 0
    for method, path, body in (
        ("POST", "/events", {"id": id_, "in": "1h"}),
        ("GET", f"/events/{id_}", None),
        ("DELETE", f"/events/{id_}", None),
    ):
        began = time.perf_counter()
        try:
            response = await client.request(method, path, json=body)
        except httpx.HTTPError as error:
            seen.refused.append(f"{method} {path}: {error!r}")
            continue
        seen.answer_ms.append((time.perf_counter() - began) * 1_000)
        if response.is_success:
            answered += 1
        else:
            seen.refused.append(f"{method} {path}: {response.status_code} {response.text}")
    return answered


async def _watch(client: httpx.AsyncClient, name: str, seen: Seen) -> None:
    """Receive every delivery, and note how late it came."""
    while len(seen.delivered) < seen.expected:
        group = {"group": f"watch-{name}", "wait": "10s", "max": 1_000}
        try:
            response = await client.get(f"/deliveries/{_TOPIC}", params=group)
            page = response.raise_for_status().json()
            for delivery in page["deliveries"]:
                if not delivery["id"].startswith(f"{name}-"):
                    continue
                offsets = seen.delivered.setdefault(delivery["id"], set())
                if not offsets:
                    due_ms = parse_instant(delivery["due"])
                    seen.lateness_ms.append(parse_instant(delivery["delivered_at"]) - due_ms)
                    seen.received_ms.append(time.time_ns() / 1e6 - due_ms)
                offsets.add(delivery["offset"])
            cursor = {"group": group["group"], "cursor": page["cursor"]}
            (await client.post(f"/deliveries/{_TOPIC}/ack", json=cursor)).raise_for_status()
        except httpx.HTTPError as error:
            seen.refused.append(f"watching: {error!r}")


if __name__ == "__main__":
    main()
