"""Who turns inputs into deliveries? One worker a partition: read, step, commit, for as long as it owns it.

It sleeps until the next due or the next input, whichever comes first; there is no tick.
"""

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Awaitable, Collection, Sequence
from functools import partial
from time import monotonic

from lightsched.engine.engine import Engine, Place
from lightsched.engine.step import Step
from lightsched.event.record import Appended
from lightsched.log.errors import StepRefused
from lightsched.log.port import Partition
from lightsched.node.answers import Answers
from lightsched.node.clock import Clock
from lightsched.node.guard import ClockGuard
from lightsched.node.metrics import Metrics
from lightsched.store.errors import StoreClosed, StoreUnreadable

log = logging.getLogger(__name__)

STEP_INPUTS = 1_000
LONGEST_SLEEP_S = 5.0
"""Also the pace at which an idle worker looks at the clock."""
DOUBT_SLEEP_S = 0.5
ARRIVES_S = 0.01
"""What was due and did not go waits for inputs that are on their way."""
MOST_REFUSALS = 10
"""Of one step, in a row; then the partition is taken again."""


class Worker:
    """The only writer of one partition."""

    def __init__(  # noqa: PLR0917 -- each is what its name says
        self,
        partition: Partition,
        engine: Engine,
        clock: Clock,
        answers: Answers,
        metrics: Metrics,
        guard: ClockGuard,
    ) -> None:
        """`guard`: the one that also stamps the records of the log, so that nobody's `now` is behind another's."""
        self.partition = partition
        self.engine = engine
        self.clock = clock
        self.answers = answers
        self.metrics = metrics
        self.guard = guard
        self._stopping = False
        self.turned_at = monotonic()  # when the last turn was over: one takes a few seconds at most
        self._finishing: asyncio.Task[None] | None = None  # the last step, until it is durable

    async def run(self) -> None:
        """Work until stopped; the step under way is finished."""
        wait_s = 0.0
        while not self._stopping:
            wait_s = await self.turn(wait_s)
            self.turned_at = monotonic()
            await asyncio.sleep(0)  # the API has its turn, also when there is always more to do
        await self.settle()

    def stop(self) -> None:
        """End after the step under way."""
        self._stopping = True
        self.partition.wake()

    async def turn(self, wait_s: float) -> float:
        """One round: inputs, step, commit. Returns how long the next one may wait for inputs.

        While a step is being made durable the next one is computed, if there is always more to do; it is written when
        the one before is durable. Otherwise what comes meanwhile gathers, and goes into one step together.
        """
        if wait_s > 0 and self._finishing is not None:
            began_ms = self.clock.monotonic_ms()
            await self.settle()
            wait_s = max(wait_s - (self.clock.monotonic_ms() - began_ms) / 1000, 0.0)
        inputs = await self.partition.read(STEP_INPUTS, wait_s)
        if self._stopping and not inputs:
            return 0.0
        began_ms = self.clock.monotonic_ms()
        reading = self.guard.look(self.clock.wall_ms(), began_ms)
        firing = reading.trusted and not self.partition.behind
        step = self._step(inputs, reading.now_ms, firing=firing)
        await self.settle()
        if step.empty:
            self.metrics.look(self.partition, self.guard)
        else:
            step, durable = await self._write(step, inputs, reading.now_ms, firing=firing)
            self._finishing = asyncio.create_task(self._finish(step, durable, began_ms))
        now_ms = reading.now_ms + self.clock.monotonic_ms() - began_ms  # the step has taken its time
        return self._next_wait_s(step, now_ms, firing=firing, full=len(inputs) == STEP_INPUTS)

    def _step(self, inputs: Sequence[Appended], now_ms: int, *, firing: bool) -> Step:
        """The next step, without the inputs that the engine fails on: no input may stop a partition.

        A step is pure, so it can be tried on fewer inputs. A store that cannot be read is no input's fault.
        """
        read_ms, heard_ms = self.partition.read_until(now_ms)
        make, store = self.engine.step, self.partition.store
        step = partial(make, store, inputs, now_ms, firing=firing, read_ms=read_ms, heard_ms=heard_ms)
        try:
            return step()
        except (StoreClosed, StoreUnreadable):
            raise
        except Exception as error:
            poison = {_place(each) for each in inputs if self._fails([each], now_ms)}
            while self._fails(inputs, now_ms, poison):
                poison.add(self._first_poison(inputs, now_ms, poison))
            if not poison:
                raise
            log.exception("inputs make the engine fail, and are put aside: %s", sorted(poison), exc_info=error)
        return step(poison=poison)

    def _first_poison(self, inputs: Sequence[Appended], now_ms: int, poison: set[Place]) -> Place:
        """The first input that fails together with those before it."""
        count = bisect_left(range(1, len(inputs)), True, key=lambda count: self._fails(inputs[:count], now_ms, poison))
        return _place(inputs[count])

    def _fails(self, inputs: Sequence[Appended], now_ms: int, poison: Collection[Place] = ()) -> bool:
        try:
            self.engine.step(self.partition.store, inputs, now_ms, firing=False, poison=poison)
        except (StoreClosed, StoreUnreadable):
            raise
        except Exception:  # noqa: BLE001 -- whatever it is
            return True
        return False

    async def _write(
        self, step: Step, inputs: Sequence[Appended], now_ms: int, *, firing: bool
    ) -> tuple[Step, Awaitable[None]]:
        """Write a step; if it is refused, what it must do without is known now: make it again from the same inputs."""
        for attempt in range(MOST_REFUSALS):
            try:
                return step, await self.partition.write(step)
            except StepRefused as error:
                log.info("partition %d: %s", self.partition.number, error)
                await asyncio.sleep(0.01 * attempt)
                step = self._step(inputs, now_ms, firing=firing)
        return step, await self.partition.write(step)

    async def settle(self) -> None:
        """Wait until all steps so far are durable, and answered."""
        if self._finishing is not None:
            finishing, self._finishing = self._finishing, None
            await finishing

    async def _finish(self, step: Step, durable: Awaitable[None], began_ms: int) -> None:
        try:
            await durable
        except BaseException:
            self.partition.wake()  # nothing goes on here: whoever reads gets to know it
            raise
        self.answers.resolve(self.partition.number, step.answers)
        self.metrics.count(self.partition, step, self.guard, self.clock.monotonic_ms() - began_ms)

    def _next_wait_s(self, step: Step, now_ms: int, *, firing: bool, full: bool) -> float:
        if full or step.more:
            return 0.0
        if not firing:
            return 0.0 if self.partition.behind else DOUBT_SLEEP_S
        next_ms = self.partition.store.next_due_ms()
        if next_ms is None:
            return LONGEST_SLEEP_S
        if step.empty and next_ms <= step.now_ms:
            return ARRIVES_S
        return min(max((next_ms - now_ms) / 1000, 0.0), LONGEST_SLEEP_S)


def _place(appended: Appended) -> Place:
    return appended.topic, appended.offset
