"""Who turns inputs into deliveries? One worker a partition: read, step, commit, for as long as it owns it.

It sleeps until the next due or the next input, whichever comes first; there is no tick.
"""

import asyncio
import logging

from lightsched.engine.engine import Engine
from lightsched.engine.step import Step
from lightsched.log.port import Partition
from lightsched.node.answers import Answers
from lightsched.node.clock import Clock
from lightsched.node.guard import ClockGuard
from lightsched.node.metrics import Metrics

log = logging.getLogger(__name__)

STEP_INPUTS = 1_000
LONGEST_SLEEP_S = 5.0
"""Also the pace at which an idle worker looks at the clock."""
DOUBT_SLEEP_S = 0.5


class Worker:
    """The only writer of one partition."""

    def __init__(  # noqa: PLR0917 -- each is what its name says
        self,
        partition: Partition,
        engine: Engine,
        clock: Clock,
        answers: Answers,
        metrics: Metrics,
        guard: ClockGuard | None = None,
    ) -> None:
        """`guard`: the one that also stamps the records of the log, so that nobody's `now` is behind another's."""
        self.partition = partition
        self.engine = engine
        self.clock = clock
        self.answers = answers
        self.metrics = metrics
        self.guard = guard or ClockGuard(clock.wall_ms(), clock.monotonic_ms())
        self._stopping = False

    async def run(self) -> None:
        """Work until stopped; the step under way is finished."""
        wait_s = 0.0
        while not self._stopping:
            wait_s = await self.turn(wait_s)
            await asyncio.sleep(0)  # the API has its turn, also when there is always more to do

    def stop(self) -> None:
        """End after the step under way."""
        self._stopping = True
        self.partition.wake()

    async def turn(self, wait_s: float) -> float:
        """One round: inputs, step, commit. Returns how long the next one may wait for inputs."""
        inputs = await self.partition.read(STEP_INPUTS, wait_s)
        if self._stopping and not inputs:
            return 0.0
        began_ms = self.clock.monotonic_ms()
        reading = self.guard.look(self.clock.wall_ms(), began_ms)
        firing = reading.trusted and not self.partition.behind
        with self.metrics.step_timer():
            step = self.engine.step(self.partition.store, inputs, reading.now_ms, firing=firing)
            if not step.empty:
                await self.partition.commit(step)
        self.answers.resolve(self.partition.number, step.answers)
        now_ms = reading.now_ms + self.clock.monotonic_ms() - began_ms  # the step has taken its time
        self.metrics.count(self.partition, step, self.guard, now_ms)
        return self._next_wait_s(step, now_ms, firing=firing, full=len(inputs) == STEP_INPUTS)

    def _next_wait_s(self, step: Step, now_ms: int, *, firing: bool, full: bool) -> float:
        if full or step.more:
            return 0.0
        if not firing:
            return 0.0 if self.partition.behind else DOUBT_SLEEP_S
        next_ms = self.partition.store.next_due_ms()
        if next_ms is None:
            return LONGEST_SLEEP_S
        return min(max((next_ms - now_ms) / 1000, 0.0), LONGEST_SLEEP_S)
