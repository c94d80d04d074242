"""Does lightsched do what its pages say? Random lives of a node, each step compared with a naive model.

`LIGHTSCHED_SIM_EXAMPLES` (`make simulate`) sets the number of lives; they are the same ones each time, unless
`LIGHTSCHED_SIM_SEED` gives a number, or `random`.
"""

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from lightsched.event.record import Record
from lightsched.log.embedded.log import FAULTS
from tests.simulation.sending import (
    BAD_COMMANDS,
    BAD_REPORTS,
    BAD_THEN,
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    STARTS,
    absolute,
    definitions,
    encoded,
    names,
)
from tests.simulation.world import EVENTS, REPORTS, Expected, Planned, Setup, World

EXAMPLES = int(os.environ.get("LIGHTSCHED_SIM_EXAMPLES", "240"))
SEED = os.environ.get("LIGHTSCHED_SIM_SEED", "")
STEPS = int(os.environ.get("LIGHTSCHED_SIM_STEPS", "40"))
SHARDS = 4
SHM = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

seen: Counter = Counter()

short = st.one_of(st.integers(0, 3 * SECOND), st.sampled_from((0, 1, 999, SECOND, 10 * SECOND, 30 * SECOND)))
moderate = st.one_of(st.integers(0, 10 * MINUTE), st.sampled_from((MINUTE, 61 * SECOND, 5 * MINUTE, HOUR)))
long = st.one_of(st.integers(0, 3 * HOUR), st.sampled_from((DAY, 2 * HOUR, 12 * HOUR, 3 * DAY)))
times = st.one_of(short, moderate, long)
mostly = st.sampled_from((True, True, True, False))
seldom = st.sampled_from((False, False, False, False, False, True))


class Named:
    """An event of the model, printed as its name."""

    def __init__(self, pair) -> None:
        self.pair = pair

    def __repr__(self) -> str:
        return repr(self.pair[0])


class Life(RuleBasedStateMachine):
    """A node's life: commands, reports, time, crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.stack = ExitStack()
        self.stack.callback(self.loop.close)
        self.stack.callback(lambda: self.loop.run_until_complete(self.loop.shutdown_default_executor()))
        self.root = Path(tempfile.mkdtemp(prefix="lightsched-sim-", dir=SHM))
        self.stack.callback(shutil.rmtree, self.root, ignore_errors=True)
        self.world: World | None = None
        self.numbered = 0

    @initialize(
        partitions=st.integers(1, 3),
        start=st.sampled_from(STARTS),
        keep=st.sampled_from((7 * DAY, 7 * DAY, 6 * HOUR, 10 * MINUTE)),
        active_runs=st.sampled_from((1_000, 3)),
        step_fires=st.sampled_from((2_000, 2_000, 2)),
        step_inputs=st.sampled_from((1_000, 1_000, 3)),
        capped=st.sampled_from((1, 2)),
    )
    def begin(self, **setup) -> None:
        self.world = World(self.root, Setup(**setup), self.loop)
        self.stack.callback(self.world.close)

    # commands

    @rule(
        event=definitions(),
        name=names(),
        conflict=st.sampled_from(("replace", "replace", "keep", "reject")),
        misplaced=seldom,
        settle=mostly,
    )
    def schedule(self, event, name, conflict, misplaced, settle):
        command = absolute(event, self.world.clock.wall) | name
        if conflict != "replace":
            command["on_conflict"] = conflict
        self._send(command, misplaced=misplaced, settle=settle)

    @rule(event=definitions(), name=names(), settle=mostly)
    def schedule_more(self, event, name, settle):
        self._send(absolute(event, self.world.clock.wall) | name, settle=settle)

    @rule(events=st.lists(st.tuples(definitions(), names()), min_size=2, max_size=4), settle=mostly)
    def schedule_many(self, events, settle):
        for event, name in events:
            self._send(absolute(event, self.world.clock.wall) | name, settle=False)
        if settle:
            self.world.settle()

    @rule(event=definitions(), key=st.sampled_from(("", "k", "l")), settle=mostly)
    def schedule_without_an_id(self, event, key, settle):
        command = absolute(event, self.world.clock.wall)
        expected = Expected(command, bad=False, raw=encoded(command), record_key=key)
        record = Record(key.encode() or None, expected.raw)
        place = self.world.model[0].settings.home("default", key, "") if key else 0
        self._append(EVENTS, place, [(record, expected)], settle=settle)

    @precondition(lambda self: self.known())
    @rule(data=st.data(), conflict=st.sampled_from((None, "keep", "reject")), settle=mostly)
    def schedule_the_same_again(self, data, conflict, settle):
        identity, event = data.draw(st.sampled_from(self.known()).map(Named)).pair
        tenant, key, id_ = identity.split("\0")
        command = event.definition | {"tenant": tenant, "key": key, "id": id_}
        if conflict:
            command["on_conflict"] = conflict
        self._send(command, settle=settle, bad=id_.startswith("auto:"))

    @rule(name=names(), op=st.sampled_from(("cancel", "pause", "resume", "trigger")), misplaced=seldom, settle=mostly)
    def command(self, name, op, misplaced, settle):
        self._send({"op": op} | name, misplaced=misplaced, settle=settle)

    @precondition(lambda self: self.known(alive=True))
    @rule(data=st.data(), op=st.sampled_from(("pause", "resume", "trigger", "trigger", "cancel")), settle=mostly)
    def command_what_lives(self, data, op, settle):
        self._command(data.draw(st.sampled_from(self.known(alive=True)).map(Named)), op, settle=settle)

    @precondition(lambda self: self.known(alive=True))
    @rule(data=st.data(), settle=mostly)
    def pause_or_resume(self, data, settle):
        named = data.draw(st.sampled_from(self.known(alive=True)).map(Named))
        self._command(named, "resume" if named.pair[1].paused else "pause", settle=settle)

    def known(self, *, alive=False):
        return [
            (name, event)
            for partition in (self.world.model if self.world else ())
            for name, event in sorted(partition.events.items())
            if not (alive and event.over)
        ]

    def _command(self, named, op, *, settle):
        tenant, key, id_ = named.pair[0].split("\0")
        self._send({"op": op, "tenant": tenant, "key": key, "id": id_}, settle=settle)

    @rule(raw=st.sampled_from(BAD_COMMANDS), settle=mostly)
    def bad_command(self, raw, settle):
        self._append(EVENTS, 0, [(Record(None, raw), Expected(None, bad=True, raw=raw))], settle=settle)

    def _send(self, command, *, settle, misplaced=False, bad=False):
        home = self.world.model[0].settings.home
        place = home(command.get("tenant", "default"), command.get("key") or command["id"], command["id"])
        if misplaced:
            place = (place + 1) % self.world.setup.partitions
        expected = Expected(command, bad=bad, raw=encoded(command))
        self._append(EVENTS, place, [(Record(None, expected.raw), expected)], settle=settle)

    def _append(self, topic, place, records, *, settle):
        self.world.append(topic, place, records)
        if settle:
            self.world.settle()

    # reports

    def out(self):
        return [
            (partition.number, event.identity, run.revision, run.due, run.attempt)
            for partition in (self.world.model if self.world else ())
            for event in partition.events.values()
            for run in event.runs
            if run.phase == "out"
        ]

    @precondition(lambda self: self.out())
    @rule(data=st.data(), status=st.sampled_from(("SUCCESS", "RETRIABLE_FAILURE", "FATAL_FAILURE")), settle=mostly)
    def report_the_end_of_what_is_out(self, data, status, settle):
        self._report_out(data, status, settle=settle)

    @precondition(lambda self: self.out())
    @rule(data=st.data(), status=st.sampled_from(("SUCCESS", "RETRIABLE_FAILURE")), settle=mostly)
    def report_again_the_end_of_what_is_out(self, data, status, settle):
        self._report_out(data, status, settle=settle)

    @precondition(lambda self: self.out())
    @rule(data=st.data(), status=st.sampled_from(("CLAIMED", "PROCESSING")), settle=mostly)
    def report_on_what_is_out(self, data, status, settle):
        self._report_out(data, status, settle=settle)

    def _report_out(self, data, status, *, settle):
        chosen = data.draw(st.sampled_from(sorted(self.out())))
        fields = ("partition", "identity", "revision", "due", "attempt")
        delivery = next(one for one in self.world.deliveries if tuple(one[name] for name in fields) == chosen)
        self._report(data, delivery, status, settle=settle)

    @precondition(lambda self: self.world and self.world.deliveries)
    @rule(
        data=st.data(),
        back=st.integers(0, 8),
        status=st.sampled_from(("CLAIMED", "PROCESSING", "SUCCESS", "RETRIABLE_FAILURE", "FATAL_FAILURE")),
        genuine=mostly,
        misplaced=seldom,
        settle=mostly,
    )
    def report_on_anything(self, data, back, status, genuine, misplaced, settle):
        delivery = self.world.deliveries[-1 - back % len(self.world.deliveries)]
        self._report(data, delivery, status, genuine=genuine, misplaced=misplaced, settle=settle)

    def _report(self, data, delivery, status, *, settle, misplaced=False, genuine=True):
        then = []
        if data.draw(seldom):
            for bad in data.draw(st.lists(seldom, min_size=1, max_size=2)):
                event = dict(data.draw(st.sampled_from(BAD_THEN))) if bad else self._follow_up(data)
                then.append({"event": event, "bad": bad, "raw": encoded(event)})
        retry_in = data.draw(st.sampled_from((None, None, None, "3s", "20m")))
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
        value = {name: delivery[name] for name in ("partition", "identity", "revision", "due", "attempt")}
        value |= {"genuine": genuine, "status": status, "retry_in": retry_in, "then": then, "result": self.numbered}
        place = delivery["partition"]
        if misplaced:
            place = (place + 1) % self.world.setup.partitions
        expected = Expected(value, bad=False, raw=encoded(sent))
        self._append(REPORTS, place, [(Record(None, expected.raw), expected)], settle=settle)

    def _follow_up(self, data):
        event = absolute(data.draw(definitions()), self.world.clock.wall)
        event["key"] = data.draw(st.sampled_from(("k", "l")))
        if data.draw(st.booleans()):
            event["id"] = data.draw(st.sampled_from(("a", "b", "t")))
        return event

    @rule(raw=st.sampled_from(BAD_REPORTS), settle=mostly)
    def bad_report(self, raw, settle):
        self._append(REPORTS, 0, [(Record(None, raw), Expected(None, bad=True, raw=raw))], settle=settle)

    # time

    @rule(passes=short)
    def a_moment_passes(self, passes):
        self._wake_at_each_due(passes, 10)

    @rule(passes=moderate)
    def minutes_pass(self, passes):
        self._wake_at_each_due(passes, 20)

    @rule(wakes=st.integers(1, 6))
    def time_passes_until_something_is_due(self, wakes):
        self._wake_at_each_due(DAY, wakes)

    def _wake_at_each_due(self, passes, wakes):
        """As a worker does that has nothing else to do."""
        world = self.world
        end = world.clock.wall + passes
        for _ in range(wakes):
            if world.clock.wall >= end:
                break
            dues = [worker.partition.store.next_due_ms() for worker in world.workers]
            following = min((due for due in dues if due is not None and due > world.clock.wall), default=end)
            world.clock.advance(min(following, end) - world.clock.wall)
            world.settle()

    @rule(passes=times)
    def time_passes_unnoticed(self, passes):
        """The process stands still: everything that comes due meanwhile is late."""
        self.world.clock.advance(passes)
        self.world.settle()

    @rule(passes=short)
    def time_passes_without_a_turn(self, passes):
        self.world.clock.advance(passes)

    @rule(
        by=st.one_of(
            st.sampled_from((-DAY, -HOUR, -2 * SECOND, -SECOND, -500, 4 * SECOND, 6 * SECOND, HOUR, 40 * DAY)),
            st.integers(-10 * SECOND, 10 * SECOND),
        ),
        passes=st.sampled_from((0, 0, 100, 2 * SECOND, 6 * SECOND)),
    )
    def the_clock_jumps(self, by, passes):
        world = self.world
        world.jumped = True
        world.stats[f"clock jumped {'forward' if by > 0 else 'back'}"] += 1
        world.clock.wall += by
        world.settle()
        world.clock.advance(passes)
        world.settle()

    # life and death

    @rule(downtime=times)
    def restart(self, downtime):
        self.world.restart(downtime)
        self.world.settle()

    @rule(
        point=st.sampled_from([point for point in FAULTS if not point.startswith("acknowledge")]),
        nth=st.sampled_from((1, 1, 2, 3)),
        cut=st.one_of(st.none(), st.sampled_from((0.0, 1.0)), st.floats(0, 1)),
        downtime=st.one_of(st.just(0), times),
    )
    def a_crash_is_near(self, point, nth, cut, downtime):
        self.world.planned = Planned(point, nth, cut, downtime)

    @rule(
        share=st.floats(0, 1),
        point=st.sampled_from((None, None, *[point for point in FAULTS if point.startswith("acknowledge")])),
        cut=st.one_of(st.none(), st.floats(0, 1)),
    )
    def a_reader_acknowledges(self, share, point, cut):
        world = self.world
        position = int(len(world.sent.get(("lightsched.deliveries", 0), ())) * share)
        if point is not None:
            world.planned = Planned(point, 1, cut, 0)
        world.acknowledge(position)

    def teardown(self) -> None:
        with self.stack:
            if self.world is not None and not self.world.failed:
                self.world.planned = None
                self.world.settle()
                self.world.check_rebuilt()
                seen.update(self.world.stats)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_life_of_a_node_goes_as_the_model_says(shard):
    seen.clear()
    name = f"Life{shard}"
    life = type(name, (Life,), {"__qualname__": name})
    if SEED == "random":
        chosen = None
    else:
        chosen = seed(int(SEED or 0) * SHARDS + shard)
    if chosen is not None:
        life = chosen(life)
    run_state_machine_as_test(
        life,
        settings=settings(
            max_examples=max(EXAMPLES // SHARDS, 1),
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink) if os.environ.get('SHRINK') else (Phase.generate,),
        ),
    )
    for what, times_ in sorted(seen.items()):
        print(f"{times_:8} {what}")
