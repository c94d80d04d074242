"""Read, step, commit: in which order, and how long until the next turn? On a partition in memory and a hand clock."""

import asyncio

import msgspec
import pytest

from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.event.identity import parts
from lightsched.event.record import Appended, Record
from lightsched.node.answers import Answers
from lightsched.node.metrics import Metrics
from lightsched.node.worker import DOUBT_SLEEP_S, LONGEST_SLEEP_S, STEP_INPUTS, Worker
from tests.unit.engine.memory_view import MemoryView

EVENTS = "lightsched.events"
START = 1_772_445_600_000


class HandClock:
    def __init__(self):
        self.wall, self.monotonic = START, 0

    def wall_ms(self):
        return self.wall

    def monotonic_ms(self):
        return self.monotonic

    def pass_(self, ms):
        self.wall += ms
        self.monotonic += ms


class MemoryStore(MemoryView):
    in_flight_runs = 0

    def next_due_ms(self):
        return self.next_ms()


class MemoryPartition:
    """A partition whose log is a list. Implements `lightsched.log.port.Partition`."""

    number = 0

    def __init__(self, clock):
        self.store = MemoryStore()
        self.clock = clock
        self.log = []
        self.position = 0
        self.commits = []
        self.waits = []
        self.asleep = asyncio.Event()
        self.woken = asyncio.Event()
        self.before_commit = lambda: None
        self.end_at_take = 0

    @property
    def behind(self):
        return self.position < self.end_at_take

    @property
    def lag(self):
        return len(self.log) - self.position

    def append(self, *events):
        for event in events:
            record = Record(None, msgspec.json.encode(event))
            self.log.append(Appended(EVENTS, 0, len(self.log), self.clock.wall, record))

    async def read(self, limit, wait_s):
        self.waits.append(wait_s)
        if wait_s and self.position == len(self.log):
            self.asleep.set()
            await self.woken.wait()
        found = self.log[self.position : self.position + limit]
        self.position += len(found)
        return found

    def wake(self):
        self.woken.set()

    async def commit(self, step):
        self.before_commit()
        self.store.apply(step)
        self.commits.append(step)

    async def close(self):
        pass

    @property
    def delivered(self):
        return [parts(delivery.identity)[2] for step in self.commits for delivery in step.deliveries]


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
async def partition(clock):
    return MemoryPartition(clock)


@pytest.fixture
async def worker(partition, clock):
    return Worker(partition, Engine(Rules(step_fires=5)), clock, Answers(), Metrics())


async def test_it_wakes_at_the_next_due_and_not_by_a_tick(worker, partition, clock):
    partition.append({"id": "e", "in": "2345ms"})
    assert await worker.turn(0) == 2.345
    clock.pass_(2345)
    await worker.turn(0)
    assert partition.delivered == ["e"]


async def test_without_anything_to_do_it_sleeps_for_a_while(worker, partition):
    assert await worker.turn(0) == LONGEST_SLEEP_S
    assert partition.commits == [], "nothing to commit"
    partition.append({"id": "e", "in": "1h"})
    assert await worker.turn(0) == LONGEST_SLEEP_S


async def test_time_that_the_step_took_is_not_slept_again(worker, partition, clock):
    partition.append({"id": "e", "in": "2s"})
    partition.before_commit = lambda: clock.pass_(500)
    assert await worker.turn(0) == 1.5


async def test_with_work_left_it_goes_on_at_once(worker, partition, clock):
    partition.append(*({"id": f"{n}", "in": "1s"} for n in range(7)))
    await worker.turn(0)
    clock.pass_(1000)
    assert await worker.turn(0) == 0
    assert len(partition.delivered) == 5
    assert await worker.turn(0) > 0
    assert len(partition.delivered) == 7


async def test_nothing_fires_before_the_inputs_from_before_the_take_are_read(worker, partition):
    partition.append({"id": "e", "at": START - 1000})
    partition.append(*({"id": f"{n}", "in": "1h"} for n in range(2 * STEP_INPUTS - 2)))
    partition.append({"op": "cancel", "id": "e"})
    partition.end_at_take = len(partition.log)
    assert [await worker.turn(0) for _ in range(2)] == [0, 0]
    assert partition.delivered == []
    await worker.turn(0)
    assert partition.delivered == [], "the cancel at the end of the backlog was not overtaken"
    partition.append({"id": "f", "at": START})
    await worker.turn(0)
    assert partition.delivered == ["f"]


async def test_a_clock_that_jumps_fires_nothing_until_it_is_believed(worker, partition, clock):
    partition.append({"id": "tomorrow", "in": "1d"})
    await worker.turn(0)
    clock.wall += 2 * 86_400_000
    assert await worker.turn(0) == DOUBT_SLEEP_S
    clock.wall -= 2 * 86_400_000
    assert await worker.turn(0) == DOUBT_SLEEP_S
    clock.pass_(5000)
    assert await worker.turn(0) == LONGEST_SLEEP_S
    assert partition.delivered == []
    assert worker.guard.errors == 1


async def test_commands_are_applied_while_the_clock_is_in_doubt(worker, partition, clock):
    await worker.turn(0)
    clock.wall += 86_400_000
    partition.append({"id": "e", "in": "1h"})
    asked = worker.answers.expect(EVENTS, 0, 0, 1)
    await worker.turn(0)
    assert (await asked)[0].outcome == "SCHEDULED"


async def test_answers_are_given_after_the_commit_and_not_before(worker, partition):
    partition.append({"id": "e", "in": "1h"})
    asked = worker.answers.expect(EVENTS, 0, 0, 1)
    seen = []
    partition.before_commit = lambda: seen.append(asked.done())
    await worker.turn(0)
    assert seen == [False]
    assert (await asked)[0].outcome == "SCHEDULED"


async def test_a_step_that_cannot_be_committed_is_answered_to_nobody(worker, partition):
    partition.append({"id": "e", "in": "1h"})
    asked = worker.answers.expect(EVENTS, 0, 0, 1)

    def fail():
        raise OSError("disk full")

    partition.before_commit = fail
    with pytest.raises(OSError, match="disk full"):
        await worker.turn(0)
    assert not asked.done()


async def test_a_stop_ends_the_sleep_and_finishes_what_was_read(worker, partition):
    running = asyncio.create_task(worker.run())
    await partition.asleep.wait()
    partition.append({"id": "e", "in": "1h"})
    worker.stop()
    await asyncio.wait_for(running, 5)
    assert partition.waits == [0.0, LONGEST_SLEEP_S]
    assert [len(step.answers) for step in partition.commits] == [1]


async def test_what_was_done_is_counted(worker, partition, clock):
    partition.append({"id": "e", "in": "1s"}, {"op": "cancel", "id": "nobody"})
    await worker.turn(0)
    clock.pass_(1500)
    await worker.turn(0)
    value = worker.metrics.registry.get_sample_value
    assert value("lightsched_commands_total", {"tenant": "default", "outcome": "SCHEDULED"}) == 1
    assert value("lightsched_commands_total", {"tenant": "default", "outcome": "NOT_FOUND"}) == 1
    assert value("lightsched_deliveries_total", {"tenant": "default", "topic": "lightsched.deliveries"}) == 1
    assert value("lightsched_runs_total", {"status": "SUCCESS"}) == 1
    assert value("lightsched_pending_events", {"partition": "0"}) == 0
    assert value("lightsched_reconciliation_difference", {"partition": "0"}) == 0


async def test_what_became_due_while_it_slept_fires_when_it_wakes(worker, partition, clock):
    partition.append({"id": "e", "in": "2s"})
    await worker.turn(0)
    turn = asyncio.create_task(worker.turn(2.0))
    await partition.asleep.wait()
    clock.pass_(2000)
    partition.wake()
    await turn
    assert partition.delivered == ["e"]
