"""What may happen in the life of a node? Commands, reports, time, clocks, crashes: each is a method, named as it reads.

What was chosen is written into a journal, which is what a failure shows.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from lightsched.event.record import Record
from lightsched.log.embedded.log import FAULTS
from tests.simulation.model import Event
from tests.simulation.sending import (
    BAD_COMMANDS,
    BAD_REPORTS,
    BAD_THEN,
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    STARTS,
    Chooser,
    absolute,
    definition,
    encoded,
    name,
)
from tests.simulation.world import EVENTS, REPORTS, Expected, Planned, Setup, World

_SHM = Path("/dev/shm")
STATUSES = ("CLAIMED", "PROCESSING", "SUCCESS", "RETRIABLE_FAILURE", "FATAL_FAILURE")
DELIVERY = ("partition", "identity", "revision", "due", "attempt")
COMMITS_AND_APPENDS = [point for point in FAULTS if not point.startswith("acknowledge")]
ACKNOWLEDGES = [point for point in FAULTS if point.startswith("acknowledge")]


def setup(choose: Chooser) -> Setup:
    return Setup(
        partitions=choose.integer(1, 3),
        start=choose.one(STARTS),
        keep=choose.one((7 * DAY, 7 * DAY, 6 * HOUR, 10 * MINUTE)),
        active_runs=choose.one((40, 3)),
        step_fires=choose.one((2_000, 2_000, 2)),
        step_bytes=choose.one((8 * 1024 * 1024, 8 * 1024 * 1024, 1_500)),
        step_inputs=choose.one((1_000, 1_000, 3)),
        by_tenant=choose.chance(3),
        capped=choose.one((1, 2)),
    )


def moment(choose: Chooser) -> int:
    return choose.one((0, 1, 999, SECOND, 10 * SECOND, 30 * SECOND, choose.integer(0, 3 * SECOND)))


def minutes(choose: Chooser) -> int:
    return choose.one((MINUTE, 61 * SECOND, 5 * MINUTE, HOUR, choose.integer(0, 10 * MINUTE)))


def any_time(choose: Chooser) -> int:
    kind = choose.integer(0, 2)
    if kind < 2:
        return (moment, minutes)[kind](choose)
    return choose.one((DAY, 2 * HOUR, 12 * HOUR, 3 * DAY, choose.integer(0, 3 * HOUR)))


def _name_of(event: Event) -> dict:
    tenant, key, id_ = event.identity.split("\0")
    return {"tenant": tenant, "key": key, "id": id_}


class Life:
    """A node's life, beside the model's."""

    def __init__(self, setup_: Setup) -> None:
        self.journal: list[str] = [f"{setup_}"]
        self.numbered = 0
        self.failed = False
        self.holding = False
        with ExitStack() as stack:
            loop = asyncio.new_event_loop()
            stack.callback(loop.close)
            stack.callback(lambda: loop.run_until_complete(loop.shutdown_default_executor()))
            root = Path(tempfile.mkdtemp(prefix="lightsched-sim-", dir=_SHM if _SHM.is_dir() else None))
            stack.callback(shutil.rmtree, root, ignore_errors=True)
            self.world = World(root, setup_, loop)
            stack.callback(self.world.close)
            self._stack = stack.pop_all()

    def do(self, action: "Action", choose: Chooser) -> None:
        """Let something happen. What goes wrong tells how it came to it."""
        try:
            action(self, choose)
        except Exception as error:
            self.failed = True
            error.add_note("\n".join(self.journal))
            raise

    def end(self) -> None:
        """Everything still agrees, and a rebuilt store is the one that was there."""
        with self._stack:
            if not self.failed:
                self.do(Life.the_end, Chooser(lambda low, _high: low))

    def the_end(self, _choose: Chooser) -> None:
        self.world.planned = None
        self.note("the end")
        self.world.settle()
        self.world.check_rebuilt()

    def note(self, what: str) -> None:
        self.journal.append(f"{self.world.clock.wall - self.world.setup.start:+12,} ms  {what}")

    # what there is to choose from

    def known(self, *, alive: bool = False) -> list[Event]:
        events = [event for partition in self.world.model for event in partition.events.values()]
        return sorted((event for event in events if not (alive and event.over)), key=lambda event: event.identity)

    def runs(self, *phases: str) -> list[tuple]:
        """Unfinished runs, named as their deliveries are."""
        return sorted(
            (partition.number, event.identity, run.revision, run.due, run.attempt)
            for partition in self.world.model
            for event in partition.events.values()
            for run in event.runs
            if run.phase in phases
        )

    def out(self) -> list[tuple]:
        return self.runs("out")

    def waiting(self) -> list[tuple]:
        return self.runs("waiting")

    def superseded(self) -> list[dict]:
        """Deliveries of unfinished runs that an executor should not report on any more."""
        unfinished = {run[:4] for run in self.runs("out", "retry", "waiting", "queued")}
        out = self.out()
        return [
            delivery
            for delivery in self.delivered()
            if (found := tuple(delivery[field] for field in DELIVERY))[:4] in unfinished and found not in out
        ]

    def delivered(self) -> Sequence[dict]:
        return self.world.deliveries

    # commands

    def schedule(self, choose: Chooser) -> None:
        command = absolute(definition(choose), self.world.clock.wall) | name(choose)
        if choose.chance(4):
            command["on_conflict"] = choose.one(("keep", "reject"))
        self._send(choose, command, misplaced=choose.chance(6))

    def schedule_without_an_id(self, choose: Chooser) -> None:
        command = absolute(definition(choose), self.world.clock.wall)
        key = choose.one(("", "k", "l"))
        expected = Expected(command, bad=False, raw=encoded(command), record_key=key)
        place = self.world.home("default", key) if key else 0
        self._append(choose, EVENTS, place, Record(key.encode() or None, expected.raw), expected)

    def schedule_the_same_again(self, choose: Chooser) -> None:
        event = choose.one(self.known())
        command = event.definition | _name_of(event)
        if choose.chance(3):
            command["on_conflict"] = choose.one(("keep", "reject"))
        self._send(choose, command, bad=command["id"].startswith("auto:"))

    def schedule_nearly_the_same_again(self, choose: Chooser) -> None:
        event = choose.one(self.known())
        command = event.definition | _name_of(event) | {"payload": choose.integer(4, 9)}
        self._send(choose, command, bad=command["id"].startswith("auto:"))

    def command_anything(self, choose: Chooser) -> None:
        command = {"op": choose.one(("cancel", "pause", "resume", "trigger"))} | name(choose)
        self._send(choose, command, misplaced=choose.chance(6))

    def command_what_lives(self, choose: Chooser) -> None:
        op = choose.one(("pause", "resume", "trigger", "trigger", "cancel"))
        self._send(choose, {"op": op} | _name_of(choose.one(self.known(alive=True))))

    def pause_or_resume(self, choose: Chooser) -> None:
        event = choose.one(self.known(alive=True))
        self._send(choose, {"op": "resume" if event.paused else "pause"} | _name_of(event))

    def a_backlog_builds_up(self, choose: Chooser) -> None:
        """And the worker that finds it must not fire before it has read it."""
        self.holding = True
        for _ in range(choose.integer(3, 8)):
            possible = [action for action in IN_A_BACKLOG if action not in NEEDS or NEEDS[action](self)]
            choose.one(possible)(self, choose)
        self.holding = False
        if choose.chance(2):
            self.restart(choose)
        else:
            self.time_passes_unnoticed(choose)

    def a_season_passes(self, choose: Chooser) -> None:
        """A recurrence whose window closes soon, and perhaps will not open again before its end."""
        command = {
            "every": choose.one(("5s", "30s")),
            "window": (choose.integer(-1, 0), choose.integer(1, 2)),
            "ends_at": choose.one((20 * MINUTE, 2 * DAY)),
            "catch_up": choose.one(("latest", "all")),
            "payload": 0,
        }
        if choose.chance(2):
            command |= {"timeout": "30s", "retry": {"delays": ["30s", "2m"]}, "overlap": choose.one(("skip", "queue"))}
        self._send(choose, absolute(command, self.world.clock.wall) | name(choose))
        if choose.chance(2):
            self._wake_at_each_due(5 * MINUTE, 20)
        else:
            self._pass_unnoticed(choose.integer(2 * MINUTE, 10 * MINUTE))

    def a_pause_passes(self, choose: Chooser) -> None:
        named = _name_of(choose.one(self.known(alive=True)))
        self._send(choose, {"op": "pause"} | named)
        if choose.chance(4):
            self._send(choose, {"op": "trigger"} | named)
        self._pass_unnoticed(minutes(choose))
        self._send(choose, {"op": choose.one(("resume", "resume", "trigger"))} | named)

    def nonsense(self, choose: Chooser) -> None:
        topic, all_ = choose.one(((EVENTS, BAD_COMMANDS), (REPORTS, BAD_REPORTS)))
        raw = choose.one(all_)
        self._append(choose, topic, 0, Record(None, raw), Expected(None, bad=True, raw=raw))

    def _send(self, choose: Chooser, command: dict, *, misplaced: bool = False, bad: bool = False) -> None:
        place = self.world.home(command.get("tenant", "default"), command.get("key") or command["id"])
        if misplaced:
            place = (place + 1) % self.world.setup.partitions
        expected = Expected(command, bad=bad, raw=encoded(command))
        self._append(choose, EVENTS, place, Record(None, expected.raw), expected)

    def _append(self, choose: Chooser, topic: str, place: int, record: Record, expected: Expected) -> None:
        self.note(f"{topic} {place}: {None if record.value is None else record.value.decode()}")
        if choose.chance(3):
            self.world.submit(topic, place, record, expected)
        else:
            self.world.append(topic, place, [(record, expected)])
        if not self.holding and not choose.chance(4):
            self.world.settle()

    # reports

    def report_the_end(self, choose: Chooser) -> None:
        self._report_out(choose, choose.one(("SUCCESS", "RETRIABLE_FAILURE", "RETRIABLE_FAILURE", "FATAL_FAILURE")))

    def report_progress(self, choose: Chooser) -> None:
        self._report_out(choose, choose.one(("CLAIMED", "PROCESSING")))

    def _report_out(self, choose: Chooser, status: str) -> None:
        chosen = choose.one(self.out())
        delivery = next(one for one in self.delivered() if tuple(one[field] for field in DELIVERY) == chosen)
        self._report(choose, delivery, status)

    def report_too_late(self, choose: Chooser) -> None:
        self._report(choose, choose.one(self.superseded()), choose.one(STATUSES))

    def report_anything(self, choose: Chooser) -> None:
        deliveries = self.delivered()
        delivery = deliveries[-1 - choose.integer(0, min(len(deliveries), 8) - 1)]
        self._report(choose, delivery, choose.one(STATUSES), genuine=not choose.chance(4), misplaced=choose.chance(6))

    def _report(
        self, choose: Chooser, delivery: dict, status: str, *, misplaced: bool = False, genuine: bool = True
    ) -> None:
        then = []
        for _ in range(choose.integer(1, 2) if choose.chance(6) else 0):
            bad = choose.chance(4)
            event = dict(choose.one(BAD_THEN)) if bad else self._follow_up(choose)
            then.append({"event": event, "bad": bad, "raw": encoded(event)})
        retry_in = choose.one((None, None, None, "3s", "20m"))
        self.numbered += 1
        sent = {
            "delivery": delivery["id"],
            "token": delivery["token"] if genuine else "0" * 32,
            "status": status,
            "executor": "sim",
            "result": self.numbered,
        }
        if retry_in:
            sent["retry_in"] = retry_in
        if then:
            sent["then"] = [one["event"] for one in then]
        value = {field: delivery[field] for field in DELIVERY}
        value |= {"genuine": genuine, "status": status, "retry_in": retry_in, "then": then, "result": self.numbered}
        place = delivery["partition"]
        if misplaced:
            place = (place + 1) % self.world.setup.partitions
        expected = Expected(value, bad=False, raw=encoded(sent))
        self._append(choose, REPORTS, place, Record(None, expected.raw), expected)

    def _follow_up(self, choose: Chooser) -> dict:
        event = absolute(definition(choose), self.world.clock.wall) | {"key": choose.one(("k", "l"))}
        if choose.chance(2):
            event["id"] = choose.one(("a", "b", "t"))
        return event

    # time

    def a_moment_passes(self, choose: Chooser) -> None:
        self._wake_at_each_due(moment(choose), 10)

    def minutes_pass(self, choose: Chooser) -> None:
        self._wake_at_each_due(minutes(choose), 20)

    def time_passes_until_something_is_due(self, choose: Chooser) -> None:
        self._wake_at_each_due(DAY, choose.integer(1, 6))

    def _wake_at_each_due(self, passes: int, wakes: int) -> None:
        """As a worker does that has nothing else to do."""
        clock = self.world.clock
        end = clock.wall + passes
        for _ in range(wakes):
            if clock.wall >= end:
                break
            dues = [worker.partition.store.next_due_ms() for worker in self.world.workers]
            following = min((due for due in dues if due is not None and due > clock.wall), default=end)
            passes = min(following, end) - clock.wall
            clock.advance(passes)
            self.note(f"{passes} ms pass")
            self.world.settle()

    def time_passes_unnoticed(self, choose: Chooser) -> None:
        """The process stands still: everything that comes due meanwhile is late."""
        self._pass_unnoticed(any_time(choose))

    def _pass_unnoticed(self, passes: int) -> None:
        self.world.clock.advance(passes)
        self.note(f"{passes} ms pass unnoticed")
        self.world.settle()

    def time_passes_without_a_turn(self, choose: Chooser) -> None:
        passes = moment(choose)
        self.world.clock.advance(passes)
        self.note(f"{passes} ms pass without a turn")

    def the_clock_jumps(self, choose: Chooser) -> None:
        jumps = (-DAY, -HOUR, -2 * SECOND, -SECOND, -500, 4 * SECOND, 6 * SECOND, HOUR, 4 * DAY)
        by = choose.one((*jumps, choose.integer(-10 * SECOND, 10 * SECOND)))
        passes = choose.one((0, 0, 100, 2 * SECOND, 6 * SECOND))
        self._jump(by, passes)

    def the_clock_is_put_back_while_runs_wait(self, choose: Chooser) -> None:
        self._jump(-HOUR, 6 * SECOND)
        if self.out():
            self.report_the_end(choose)

    def _jump(self, by: int, passes: int) -> None:
        world = self.world
        world.stats[f"clock jumped {'forward' if by > 0 else 'back'}"] += 1
        world.clock.wall += by
        self.note(f"the clock jumps by {by} ms")
        world.settle()
        world.clock.advance(passes)
        self.note(f"{passes} ms pass")
        world.settle()

    # life and death

    def restart(self, choose: Chooser) -> None:
        downtime = any_time(choose)
        self.note(f"restart, down for {downtime} ms")
        self.world.restart(downtime)
        self.world.settle()

    def a_crash_is_near(self, choose: Chooser) -> None:
        self._plan(choose, choose.one(COMMITS_AND_APPENDS), choose.one((1, 1, 2, 3)))

    def a_reader_acknowledges(self, choose: Chooser) -> None:
        topic = ("lightsched.deliveries", 0)
        position = choose.integer(0, len(self.world.sent.get(topic, ())))
        if choose.chance(2):
            self._plan(choose, choose.one(ACKNOWLEDGES), 1)
        self.note(f"readers acknowledge {position}")
        self.world.acknowledge(position)

    def _plan(self, choose: Chooser, point: str, nth: int) -> None:
        cut = choose.one((None, 0, 100, choose.integer(0, 100)))
        downtime = any_time(choose) if choose.chance(2) else 0
        self.world.planned = Planned(point, nth, None if cut is None else cut / 100, downtime)
        self.note(f"planned: {self.world.planned}")


Action = Callable[[Life, Chooser], None]

IN_A_BACKLOG: tuple[Action, ...] = (
    Life.schedule,
    Life.schedule_nearly_the_same_again,
    Life.command_what_lives,
    Life.pause_or_resume,
    Life.report_the_end,
    Life.report_anything,
)

ACTIONS: dict[Action, int] = {
    Life.schedule: 8,
    Life.schedule_without_an_id: 1,
    Life.schedule_the_same_again: 1,
    Life.schedule_nearly_the_same_again: 2,
    Life.command_anything: 1,
    Life.command_what_lives: 3,
    Life.pause_or_resume: 3,
    Life.nonsense: 1,
    Life.a_backlog_builds_up: 1,
    Life.a_season_passes: 1,
    Life.a_pause_passes: 2,
    Life.report_the_end: 6,
    Life.report_progress: 2,
    Life.report_anything: 2,
    Life.report_too_late: 1,
    Life.a_moment_passes: 4,
    Life.minutes_pass: 2,
    Life.time_passes_until_something_is_due: 3,
    Life.time_passes_unnoticed: 2,
    Life.time_passes_without_a_turn: 1,
    Life.the_clock_jumps: 1,
    Life.the_clock_is_put_back_while_runs_wait: 1,
    Life.restart: 1,
    Life.a_crash_is_near: 2,
    Life.a_reader_acknowledges: 1,
}
"""How often each should happen in a busy life."""

NEEDS: dict[Action, Callable[[Life], Sequence]] = {
    Life.schedule_the_same_again: Life.known,
    Life.schedule_nearly_the_same_again: Life.known,
    Life.command_what_lives: lambda life: life.known(alive=True),
    Life.pause_or_resume: lambda life: life.known(alive=True),
    Life.report_the_end: Life.out,
    Life.report_progress: Life.out,
    Life.report_anything: Life.delivered,
    Life.report_too_late: Life.superseded,
    Life.a_pause_passes: lambda life: life.known(alive=True),
    Life.the_clock_is_put_back_while_runs_wait: Life.waiting,
}
"""What there must be for it to happen at all."""
