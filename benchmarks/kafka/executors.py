"""make bench-executors: how many deliveries a second does one process execute and report, and how long is a round trip?

python -m benchmarks.kafka.executors            # two minutes
python -m benchmarks.kafka.executors --quick    # a tenth of the events

1. Deliveries of 1 KB appear on twelve partitions at once, in front of a program that waits for them. From then until
   the last report can be read by a read-committed consumer; beside bare aiokafka that reads and sends the same.
2. A node, an executor, and events that fall due evenly within a minute: from due to SUCCESS, by the audit.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections import Counter as Counts
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import uvloop

from benchmarks.kafka.contestants import PARTITIONS, Lightsched
from benchmarks.kafka.counter import Counter
from benchmarks.kafka.loader import Loader
from benchmarks.kafka.program import Program
from benchmarks.kafka.rig import make_topics, now_ms
from benchmarks.load import events, percentile
from lightsched.event.delivery import Emitter
from lightsched.event.identity import identity
from lightsched.event.model import decoder
from lightsched.event.murmur2 import murmur2
from lightsched.event.record import Record
from lightsched.event.topics import Topics
from lightsched.node.garbage import collect_seldom
from tests.broker.local import LocalCluster
from tests.chaos.kafka.checker import read_all

SETTLES_S = 3.0
LEAD_MS_EACH = 0.3
WITHIN_S = 240
PARTS = ("throughput", "trips")


def say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)


class Rate(NamedTuple):
    """How fast, and at which price."""

    a_second: float
    cpu_us: float  # of the process, for each delivery


async def throughput(kind: str, bootstrap: str, count: int, folder: Path) -> Rate:
    """Deliveries a second, and the processor's time that each takes."""
    prefix = f"{kind}{folder.name}."
    topics = await _topics(bootstrap, prefix)
    loader = Loader(bootstrap, topics.deliveries, PARTITIONS)
    counter = Counter(bootstrap, topics.reports, PARTITIONS)
    await loader.start()
    await counter.start()
    program = _program(kind, bootstrap, prefix, folder)
    try:
        await program.says("READY")
        await loader.hide_records(_deliveries("warm", count // 20))
        await loader.reveal()
        await counter.reach(count // 20, WITHIN_S)
        await loader.hide_records(_deliveries("bench", count))
        began_ms, used_s = now_ms(), program.cpu_s()
        await loader.reveal()
        last_ms = await counter.reach(count // 20 + count, WITHIN_S)
        return Rate(count / (last_ms - began_ms) * 1000, (program.cpu_s() - used_s) / count * 1e6)
    finally:
        program.stop()
        await counter.stop()
        await loader.stop()


async def round_trips(bootstrap: str, count: int, seconds: int, folder: Path) -> list[float]:
    """From due to SUCCESS, in ms, of each event."""
    prefix = "trips."
    topics = await _topics(bootstrap, prefix)
    node = Lightsched(1, bootstrap, prefix, folder)
    loader = Loader(bootstrap, topics.events, PARTITIONS)
    counter = Counter(bootstrap, topics.reports, PARTITIONS)
    await loader.start()
    await counter.start()
    program = _program("sdk", bootstrap, prefix, folder)
    try:
        await node.start()
        await program.says("READY")
        await asyncio.sleep(SETTLES_S)
        first_ms = now_ms() + int(count * LEAD_MS_EACH) + 5_000
        await loader.hide(_tracked(count, first_ms, seconds * 1000))
        await loader.reveal()
        await _until(lambda: node.has_stored(loader))
        if now_ms() >= first_ms:
            raise RuntimeError("the events were not stored before the first was due: the machine is too busy")
        await counter.reach(count, WITHIN_S)
        await _until(lambda: _nothing_pending(node))
    finally:
        program.stop()
        await counter.stop()
        await loader.stop()
        await node.stop()
    ended = _ended(await read_all(bootstrap, topics.audit, PARTITIONS))
    statuses = Counts(status for _, status, _ in ended)
    if statuses != {"SUCCESS": count} or len({id_ for id_, _, _ in ended}) != count:
        raise RuntimeError(f"{count} events ended so: {statuses}")
    return [took_ms for _, _, took_ms in ended]


async def _topics(bootstrap: str, prefix: str) -> Topics:
    topics = await make_topics(bootstrap, prefix)
    await asyncio.sleep(SETTLES_S)  # until all partitions have a leader
    return topics


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.1)


async def _nothing_pending(cluster: Lightsched) -> bool:
    shown = [one for node in cluster.nodes for one in await node.partitions()]
    return len(shown) == PARTITIONS and not any(one["pending"] for one in shown)


def _ended(audit: list) -> list[tuple[str, str, float]]:
    lines = (json.loads(line) for record in audit for line in record.value.splitlines() if line)
    return [
        (line["id"], line["after"], datetime.fromisoformat(line["at"]).timestamp() * 1000 - line["due"])
        for line in lines
        if line["what"] == "finish"
    ]


def _program(kind: str, bootstrap: str, prefix: str, folder: Path) -> Program:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-m", "benchmarks.kafka.executing", kind, bootstrap, prefix]
    return Program(f"{kind}-{prefix}", command, folder, {"PYTHONPATH": root})


def _deliveries(name: str, count: int) -> Iterator[tuple[int, Record]]:
    """Partitions and deliveries, as a node makes them."""
    emitters = [Emitter(partition, b"secret") for partition in range(PARTITIONS)]
    for index, line in enumerate(events(count, now_ms(), 60_000, name=name)):
        event = decoder.decode(line)
        id_ = f"{name}-{index:09d}"
        partition = (murmur2(id_.encode()) & 0x7FFFFFFF) % PARTITIONS
        who = identity("default", id_, id_)
        yield partition, emitters[partition].emit(who, 1, int(event.at or 0), 1, event, (), 300_000).record


def _tracked(count: int, first_ms: int, spread_ms: int) -> Iterator[tuple[bytes, bytes]]:
    lines = events(count, first_ms, spread_ms, name="trip")
    return ((b"trip-%09d" % index, line[:-1] + b',"track":true}') for index, line in enumerate(lines))


async def measure(parts: list[str], count: int, seconds: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="lightsched-bench-") as name:
        folder = Path(name)
        cluster = LocalCluster(folder / "kafka", for_load=True)
        try:
            if "throughput" in parts:
                await _show_throughput(cluster.bootstrap, count, rounds, folder)
            if "trips" in parts:
                trips = await round_trips(cluster.bootstrap, count, seconds, folder / "trips")
                p50, p99 = percentile(trips, 0.5), percentile(trips, 0.99)
                print(f"{count:,} events due within {seconds} s: all SUCCESS, p50 {p50:.0f} ms, p99 {p99:.0f} ms")
        finally:
            cluster.close()


async def _show_throughput(bootstrap: str, count: int, rounds: int, folder: Path) -> None:
    found: dict[str, list[Rate]] = {"bare": [], "sdk": []}
    for number in range(rounds):
        for kind, rates in found.items():  # in turns, so that a noisy minute is noisy for both
            rates.append(await throughput(kind, bootstrap, count, folder / str(number)))
            say(f"{kind}: {rates[-1].a_second:,.0f} deliveries/s, {rates[-1].cpu_us:.1f} µs of CPU each")
    bare, sdk = (Rate(*map(statistics.median, zip(*found[kind], strict=True))) for kind in ("bare", "sdk"))
    print("| what | lightsched.Executor | bare aiokafka | share |\n|---|---|---|---|")
    share = sdk.a_second / bare.a_second
    print(f"| executed and reported, one process | {sdk.a_second:,.0f}/s | {bare.a_second:,.0f}/s | {share:.0%} |")
    print(f"| CPU for each | {sdk.cpu_us:.0f} µs | {bare.cpu_us:.0f} µs | {sdk.cpu_us / bare.cpu_us:.1f}× |\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="these parts only")
    parser.add_argument("--rounds", type=int, default=1, help="the median of so many")
    options = parser.parse_args()
    collect_seldom()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        count, seconds = (10_000, 6) if options.quick else (100_000, 60)
        runner.run(measure(options.only, count, seconds, options.rounds))


if __name__ == "__main__":
    main()
