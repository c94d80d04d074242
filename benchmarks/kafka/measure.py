"""What is measured of a contestant, and how? The same for each, on a broker of its own that nobody has used before.

1. It starts, and takes and fires a load at an even rate for a while, so that no figure holds the time that Java needs
   to compile, also in the broker, or that partitions need to be taken.
2. Ingest: events that are due in a year and later appear at once. Until all are stored, as it says itself.
3. Burst: events that fall due at 200,000/s, more than anybody can fire. From the first due until the last one can be
   read by a read-committed consumer.
4. Lateness: events that fall due at an even rate. From the due of each until it can be read.
5. Resident memory of its processes.

In 3 and 4 all events are stored before the first is due, every one is delivered once, and none early: otherwise there
is no figure, but an error.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kafka.contestants import CONTESTANTS, Contestant
from benchmarks.kafka.rig import Rig, now_ms, rig
from benchmarks.load import percentile

BURST_PER_MS = 200


@dataclass(frozen=True, slots=True)
class Plan:
    """How much."""

    warm_up: int  # events
    warm_up_s: int  # the broker's way of a transaction is compiled after some thousands of them
    count: int  # ingest, burst
    rate: int  # lateness: events/s
    seconds: int


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one contestant."""

    ingest: float  # events/s
    burst: float  # events/s
    p50_ms: float
    p99_ms: float
    rss_mb: float


async def measure(name: str, plan: Plan, folder: Path, say: Callable[[str], None]) -> Figures:
    """All figures of a contestant."""
    async with rig(name, CONTESTANTS[name], folder) as made:
        return await Measurement(made, plan, say).run()


class Measurement:
    """One contestant, on its broker."""

    def __init__(self, rig: Rig[Contestant], plan: Plan, say: Callable[[str], None]) -> None:
        self.rig = rig
        self.plan = plan
        self.say = say

    async def run(self) -> Figures:
        await self._warm_up()
        ingest = self.plan.count / await self.rig.load_for_later(self.plan.count)
        self.say(f"ingest {ingest:,.0f}/s")
        burst = await self._burst()
        self.say(f"burst {burst:,.0f}/s")
        p50_ms, p99_ms = await self._lateness()
        self.say(f"lateness p50 {p50_ms:.1f} ms, p99 {p99_ms:.1f} ms")
        return Figures(ingest, burst, p50_ms, p99_ms, sum(each.rss_mb() for each in self.rig.contestant.programs))

    async def _warm_up(self) -> None:
        first_ms, spread_ms = now_ms(), self.plan.warm_up_s * 1000
        await self.rig.load("warm", self.plan.warm_up, first_ms, spread_ms)
        await self.rig.reach(self.plan.warm_up, first_ms + spread_ms)

    async def _burst(self) -> float:
        count = self.plan.count
        first_ms = await self.rig.schedule("burst", count, count // BURST_PER_MS)
        last_ms = await self.rig.reach(count, first_ms)
        self.rig.checked(count)
        return count / (last_ms - first_ms) * 1000

    async def _lateness(self) -> tuple[float, float]:
        count = self.plan.rate * self.plan.seconds
        first_ms = await self.rig.schedule("even", count, self.plan.seconds * 1000)
        await self.rig.reach(count, first_ms + self.plan.seconds * 1000)
        late_ms = [delivery.late_ms for delivery in self.rig.checked(count)]
        return percentile(late_ms, 0.5), percentile(late_ms, 0.99)
