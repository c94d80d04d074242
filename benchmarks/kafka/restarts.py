"""make bench-restarts: how long does it take until everything fires again, when nodes are stopped, killed or replaced?

python -m benchmarks.kafka.restarts                             # about ten minutes
python -m benchmarks.kafka.restarts --quick                     # fewer events, about three minutes
python -m benchmarks.kafka.restarts --pending 1000000 --rate 5000 --seconds 120

1. One node with many events pending is ended and started again: SIGTERM, kill -9, kill -9 and its store deleted. While
   it is down, probes fall due in every partition. From the start of the process until it owns all partitions, until
   the first probe can be read, and until one of every partition can be read.
2. Three nodes, events fall due at an even rate: a rolling restart (SIGTERM one, start it, wait until it has its share
   again, the next), and how late what fell due during it was, beside what fell due before.
3. The same nodes and load: one is killed with -9 and stays away. From the kill until its partitions deliver again.

Each with members that have no name (the default), and with static ones (`kafka.instance`). An event that is missing,
delivered twice or early is an error instead of a figure.
"""

import argparse
import asyncio
import platform
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvloop

from benchmarks.kafka.contestants import PARTITIONS, Lightsched
from benchmarks.kafka.counter import Delivery
from benchmarks.kafka.nodes import Node
from benchmarks.kafka.program import READY_WITHIN_S, ProgramFailed
from benchmarks.kafka.rig import Rig, now_ms, rig
from benchmarks.load import percentile
from lightsched.log.kafka.connection import Group
from lightsched.node.garbage import collect_seldom
from tests.broker.download import kafka_version

PROBES = 200 * PARTITIONS
PROBES_MS = 2_000
BEFORE_MS = 300  # the end of the process comes so long before the first probe is due
LOOK_EVERY_S = 0.02

Row = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much."""

    pending: int
    rate: int  # events/s that fall due
    seconds: int  # for so long
    quiet_s: int  # of these, before anything happens


class Restarts:
    """One node that comes back."""

    def __init__(self, rig: Rig[Lightsched], plan: Plan) -> None:
        self.rig = rig
        self.plan = plan
        self.node = rig.contestant.nodes[0]
        self._count = 0

    async def run(self) -> list[Row]:
        node, pending = self.node, f"{self.plan.pending:,} pending"
        await self.rig.load_for_later(self.plan.pending)
        return [
            (f"SIGTERM, {pending}", await self._restart(node.stop)),
            (f"kill -9, {pending}", await self._restart(node.kill)),
            (f"kill -9 and store deleted, {pending}", await self._restart(node.lose_store)),
        ]

    async def run_static(self) -> list[Row]:
        """What is different with a name."""
        await self.rig.load_for_later(self.plan.pending)
        what = f"kill -9, {self.plan.pending:,} pending, static member"
        return [(what, await self._restart(self.node.kill))]

    async def _restart(self, end: Callable[[], Awaitable[None]]) -> str:
        """End the node and start it again: in words, how long everything took."""
        self._count += 1
        first_ms = await self.rig.schedule(f"probe{self._count}", PROBES, PROBES_MS)
        await _sleep_until(first_ms - BEFORE_MS)
        ended = time.perf_counter()
        await end()
        ended_s = time.perf_counter() - ended
        began, began_ms = time.perf_counter(), now_ms()
        self.node.start()
        await _ready(self.node, PARTITIONS)
        ready_s = time.perf_counter() - began
        await self.rig.reach(PROBES, first_ms + PROBES_MS)
        found = [each for each in self.rig.checked(PROBES) if each.at_ms >= began_ms]
        firsts_ms = _first_of_each(found)
        if len(firsts_ms) < PARTITIONS:
            raise RuntimeError(f"after the start {len(firsts_ms)} of {PARTITIONS} partitions had something to deliver")
        replayed = sum(await self.node.metric("restored_records_total"))
        restore_s = max(await self.node.metric("restore_seconds"))
        rate = f" ({replayed / restore_s:,.0f}/s)" if replayed > self.plan.pending else ""
        return (
            f"ended in {ended_s:.1f} s; all partitions owned after {ready_s:.1f} s; first delivery after "
            f"{(min(firsts_ms.values()) - began_ms) / 1000:.1f} s, of every partition after "
            f"{(max(firsts_ms.values()) - began_ms) / 1000:.1f} s; {replayed:,.0f} records replayed in "
            f"{restore_s:.1f} s{rate}"
        )


class UnderLoad:
    """Three nodes that go on while one of them goes away."""

    def __init__(self, rig: Rig[Lightsched], plan: Plan, kind: str) -> None:
        self.rig = rig
        self.plan = plan
        self.kind = kind
        self.nodes = rig.contestant.nodes

    async def roll(self) -> list[Row]:
        """A rolling restart."""
        first_ms = await self._load("roll")
        began_ms = now_ms()
        for node in self.nodes:
            await node.stop()
            node.start()
            await self.rig.contestant.settled()
        ended_ms = now_ms()
        found = await self._delivered(first_ms, ended_ms)
        before = [each for each in found if each.due_ms < began_ms]
        during = [each for each in found if began_ms <= each.due_ms < ended_ms]
        what = f"rolling restart of 3 at {self.plan.rate:,}/s, {self.kind} members"
        took = f"took {(ended_ms - began_ms) / 1000:.0f} s: {_late(during)}; before: {_late(before)}"
        return [(what, took)]

    async def takeover(self) -> list[Row]:
        """A node is killed and stays away."""
        first_ms = await self._load("kill")
        killed, *others = self.nodes
        gone = {each["partition"] for each in await killed.partitions()}
        replayed_before = [sum(await node.metric("restored_records_total")) for node in others]
        killed_ms = now_ms()
        await killed.kill()
        found = await self._delivered(first_ms, killed_ms)
        again_ms = _first_of_each([each for each in found if each.due_ms >= killed_ms and each.partition in gone])
        took_s = sorted((at_ms - killed_ms) / 1000 for at_ms in again_ms.values())
        replayed = sum([sum(await node.metric("restored_records_total")) for node in others]) - sum(replayed_before)
        before = [each for each in found if each.due_ms < killed_ms - 1_000]  # what is due later may not get out
        stayed = [each for each in found if each.due_ms >= killed_ms and each.partition not in gone]
        what = f"takeover after kill -9 of 1 of 3 at {self.plan.rate:,}/s, {self.kind} members"
        took = (
            f"{len(gone)} partitions deliver again after {took_s[0]:.1f} to {took_s[-1]:.1f} s (session timeout "
            f"{Group().session_timeout_ms / 1000:.0f} s), {replayed:,.0f} records replayed; the other partitions "
            f"meanwhile: {_late(stayed)}; before: {_late(before)}"
        )
        return [(what, took)]

    async def _load(self, name: str) -> int:
        """Events fall due from now on, and have done so for a while: the first due."""
        count, spread_ms = self.plan.rate * self.plan.seconds, self.plan.seconds * 1000
        first_ms = await self.rig.schedule(f"{name}-{self.kind}", count, spread_ms)
        await _sleep_until(first_ms + self.plan.quiet_s * 1000)
        return first_ms

    async def _delivered(self, first_ms: int, ended_ms: int) -> list[Delivery]:
        last_ms = first_ms + self.plan.seconds * 1000
        if ended_ms > last_ms:
            raise RuntimeError(f"the load was over {(ended_ms - last_ms) / 1000:.0f} s before the restarts: --seconds")
        count = self.plan.rate * self.plan.seconds
        await self.rig.reach(count, last_ms)
        return self.rig.checked(count)


async def measure(plan: Plan, folder: Path, say: Callable[[str], None]) -> list[Row]:
    """All rows of the table."""
    rows: list[Row] = []

    def add(more: Sequence[Row]) -> None:
        for row in more:
            say(": ".join(row))
        rows.extend(more)

    for kind, static in (("dynamic", False), ("static", True)):
        async with rig(kind, partial(Lightsched, 1, static=static), folder / f"{kind}-1") as made:
            alone = Restarts(made, plan)
            add(await (alone.run_static() if static else alone.run()))
        async with rig(kind, partial(Lightsched, 3, static=static), folder / f"{kind}-3") as made:
            await made.load_for_later(plan.pending)
            under_load = UnderLoad(made, plan, kind)
            add(await under_load.roll())
            add(await under_load.takeover())
    return rows


async def _ready(node: Node, partitions: int) -> None:
    """Wait until a node owns so many partitions, and runs them."""
    deadline = time.monotonic() + READY_WITHIN_S * 10
    while not (await node.ready() and len(await node.partitions()) == partitions):
        node.running.check()
        if time.monotonic() > deadline:
            raise ProgramFailed(f"{node.name} is not ready:\n{node.running.last_words()}")
        await asyncio.sleep(LOOK_EVERY_S)


async def _sleep_until(ms: float) -> None:
    await asyncio.sleep(max(ms - now_ms(), 0) / 1000)


def _first_of_each(found: Sequence[Delivery]) -> dict[int, float]:
    """Partition → when the first of these could be read."""
    firsts: dict[int, float] = {}
    for each in found:
        firsts[each.partition] = min(firsts.get(each.partition, each.at_ms), each.at_ms)
    return firsts


def _late(found: Sequence[Delivery]) -> str:
    late_ms = [each.late_ms for each in found]
    if not late_ms:
        raise RuntimeError("nothing fell due while something was to be measured")
    p50_ms, p99_ms = percentile(late_ms, 0.5), percentile(late_ms, 0.99)
    return f"p50 {p50_ms:,.0f} ms, p99 {p99_ms:,.0f} ms, max {max(late_ms):,.0f} ms"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer events pending")
    parser.add_argument("--pending", type=int, help="events that are pending all the while (300,000; --quick: 20,000)")
    parser.add_argument("--rate", type=int, default=2_000, help="events/s that fall due, with three nodes")
    parser.add_argument("--seconds", type=int, default=90, help="for so long")
    options = parser.parse_args()
    pending = options.pending or (20_000 if options.quick else 300_000)
    plan = Plan(pending, options.rate, options.seconds, quiet_s=options.seconds // 6)
    collect_seldom()

    def say(text: str) -> None:
        print(f"  {text}", file=sys.stderr, flush=True)

    with (
        tempfile.TemporaryDirectory(prefix="lightsched-bench-") as folder,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        rows = runner.run(measure(plan, Path(folder), say))
    print(f"Kafka {kafka_version()}, Python {platform.python_version()}, {platform.machine()}, {platform.system()}\n")
    print("| what | measured |\n|---|---|")
    for what, measured in rows:
        print(f"| {what} | {measured} |")


if __name__ == "__main__":
    main()
