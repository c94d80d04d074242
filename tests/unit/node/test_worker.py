"""Read, step, commit: in which order, and how long until the next turn? On a partition in memory and a hand clock."""

import asyncio

import msgspec
import pytest

from lightsched.engine import commands
from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.engine.state import Phase
from lightsched.event.identity import identity, parts
from lightsched.event.record import Appended, Record
from lightsched.event.status import Status
from lightsched.node.answers import Answers, NotAnswered
from lightsched.node.guard import ClockGuard
from lightsched.node.metrics import Metrics
from lightsched.node.worker import ARRIVES_S, DOUBT_SLEEP_S, LONGEST_SLEEP_S, STEP_INPUTS, Worker
from lightsched.store.errors import StoreUnreadable
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

    def read_until(self, now_ms):
        return (self.log[self.position - 1].timestamp_ms if self.position else 0 if self.lag else now_ms), now_ms

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

    async def write(self, step):
        self.before_commit()
        self.store.apply(step)
        self.commits.append(step)
        return self.durable()

    async def durable(self):
        pass

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
    guard = ClockGuard(clock.wall_ms(), clock.monotonic_ms())
    return Worker(partition, Engine(Rules(step_fires=5)), clock, Answers(), Metrics(), guard)


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
    await worker.settle()
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


async def test_a_step_is_answered_when_it_is_durable_while_the_next_one_is_computed(worker, partition, clock):
    synced = asyncio.get_running_loop().create_future()
    partition.durable = lambda: synced
    partition.append({"id": "e", "in": "1h"})
    asked = worker.answers.expect(EVENTS, 0, 0, 1)
    await worker.turn(0)
    partition.append({"id": "f", "in": "1h"})
    second = asyncio.create_task(worker.turn(0))
    for _ in range(5):
        await asyncio.sleep(0)
    assert (partition.position, len(partition.commits), asked.done()) == (2, 1, False)
    synced.set_result(None)
    await second
    assert (len(partition.commits), asked.done()) == (2, True)


async def test_what_comes_while_a_step_becomes_durable_goes_into_one_step_together(worker, partition, clock):
    synced = asyncio.Event()
    partition.durable = synced.wait
    partition.append({"id": "first", "at": START + 5_000})
    wait_s = await worker.turn(0.0)
    second = asyncio.create_task(worker.turn(wait_s))
    for number in range(3):
        partition.append({"id": f"later-{number}", "at": START + 5_000})
        await asyncio.sleep(0)
    assert partition.position == 1
    clock.pass_(100)
    synced.set()
    await second
    assert partition.waits[-1] == pytest.approx(4.9)  # that it has waited for the step is not waited again
    assert [len(step.answers) for step in partition.commits] == [1, 3]


async def test_a_step_that_does_not_become_durable_ends_the_worker_and_is_not_answered(worker, partition):
    async def fail():
        raise OSError("no sync")

    partition.durable = fail
    partition.append({"id": "e", "in": "1h"})
    asked = worker.answers.expect(EVENTS, 0, 0, 1)
    with pytest.raises(OSError, match="no sync"):
        await asyncio.wait_for(worker.run(), 5)
    assert not asked.done()


async def test_tenants_beyond_a_number_share_a_label(worker, partition, monkeypatch):
    monkeypatch.setattr("lightsched.node.metrics.MOST_TENANTS", 2)
    partition.append(*({"id": "e", "in": "1h", "tenant": f"t{n}"} for n in range(5)))
    await worker.turn(0)
    await worker.settle()
    value = worker.metrics.registry.get_sample_value
    assert value("lightsched_commands_total", {"tenant": "t1", "outcome": "SCHEDULED"}) == 1
    assert value("lightsched_commands_total", {"tenant": "t2", "outcome": "SCHEDULED"}) is None
    assert value("lightsched_commands_total", {"tenant": "(other)", "outcome": "SCHEDULED"}) == 3


async def test_inputs_that_the_engine_fails_on_are_put_aside_and_the_others_go_on(worker, partition, monkeypatch):
    good = commands.apply

    def fragile(draft, command):
        if command.event.id in ("bad", "worse"):
            raise ZeroDivisionError
        good(draft, command)

    monkeypatch.setattr(commands, "apply", fragile)
    ids = ["a", "bad", "b", "worse", "c"]
    partition.append(*({"id": id_, "in": "1h"} for id_ in ids))
    asked = worker.answers.expect(EVENTS, 0, 0, 5)
    await worker.turn(0)
    assert [answer.outcome for answer in await asked] == ["SCHEDULED", "INVALID"] * 2 + ["SCHEDULED"]
    (step,) = partition.commits
    assert [(letter.reason, letter.offset) for letter in step.dead_letters] == [("POISON", 1), ("POISON", 3)]
    assert step.meta.events_offset == 5


async def test_a_failure_that_no_input_causes_ends_the_worker(worker, partition, clock, monkeypatch):
    partition.append({"id": "a", "in": "1s"})
    await worker.turn(0)
    monkeypatch.setattr("lightsched.engine.engine.fire_due", lambda draft: 1 / 0)
    partition.append({"id": "b", "in": "1h"})
    with pytest.raises(ZeroDivisionError):
        await worker.turn(0)


async def test_a_batch_that_was_passed_over_is_told_so(worker, partition):
    partition.append({"id": "a", "in": "1h"}, {"id": "b", "in": "1h"})
    partition.position = 1
    asked = worker.answers.expect(EVENTS, 0, 0, 1)
    await worker.turn(0)
    with pytest.raises(NotAnswered):
        await asyncio.wait_for(asked, 5)


async def test_a_store_that_cannot_be_read_is_no_inputs_fault(worker, partition, monkeypatch):
    def unreadable(_names):
        raise StoreUnreadable(why="a bad block")

    monkeypatch.setattr(partition.store, "states", unreadable)
    partition.append({"id": "a", "in": "1h"}, {"op": "cancel", "id": "b"})
    with pytest.raises(StoreUnreadable):
        await worker.turn(0)
    assert not partition.commits


async def test_inputs_that_fail_only_together_are_found_too(worker, partition, monkeypatch):
    good = commands.apply

    def fragile(draft, command):
        good(draft, command)
        if len(draft.step.states) == 3:
            raise ZeroDivisionError

    monkeypatch.setattr(commands, "apply", fragile)
    partition.append(*({"id": id_, "in": "1h"} for id_ in "abcd"))
    asked = worker.answers.expect(EVENTS, 0, 0, 4)
    await worker.turn(0)
    assert [answer.outcome for answer in await asked] == ["SCHEDULED", "SCHEDULED", "INVALID", "INVALID"]


async def test_a_lease_does_not_run_out_while_reports_from_before_its_end_are_still_to_be_read(
    worker, partition, clock, monkeypatch
):
    partition.append({"id": "a", "in": "1s", "timeout": "10s"})
    await worker.turn(0)
    clock.pass_(1_000)
    await worker.turn(0)
    assert partition.delivered == ["a"]
    sent_ms = clock.wall
    clock.pass_(60_000)
    monkeypatch.setattr(partition, "read_until", lambda now_ms: (now_ms, sent_ms))
    assert await worker.turn(0) == ARRIVES_S, "it does not run hot meanwhile"
    assert partition.store.states([identity("default", "a", "a")])[0].runs[0].phase is Phase.DELIVERED
    monkeypatch.undo()
    await worker.turn(0)
    assert partition.store.states([identity("default", "a", "a")])[0].status is Status.FATAL_FAILURE
