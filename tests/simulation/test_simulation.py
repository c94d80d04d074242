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
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

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
from tests.simulation.world import EVENTS, REPORTS, Crash, Expected, Planned, Setup, World

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

    @rule(event=definitions(), name=names(), conflict=st.sampled_from(("replace", "replace", "keep", "reject")),
          where=seldom, settle=mostly)
    def schedule(self, event, name, conflict, where, settle):
        command = absolute(event, self.world.clock.wall) | name
        if conflict != "replace":
            command["on_conflict"] = conflict
        self._send(command, misplaced=where, settle=settle)

    @rule(event=definitions(), name=names(), settle=mostly)
    def schedule_more(self, event, name, settle):
        self._send(absolute(event, self.world.clock.wall) | name, misplaced=False, settle=settle)

    @rule(event=definitions(), key=st.sampled_from(("", "k", "l")), settle=mostly)
    def schedule_without_an_id(self, event, key, settle):
        command = absolute(event, self.world.clock.wall)
        expected = Expected(command, bad=False, raw=encoded(command), record_key=key)
        record = Record(key.encode() or None, expected.raw)
        place = self.world.model[0].settings.home("default", key, "") if key else 0
        self._append(EVENTS, place, [(record, expected)], settle=settle)

    @rule(data=st.data(), settle=mostly)
    def schedule_the_same_again(self, data, settle):
        known = [event for partition in self.world.model for event in partition.events.values()]
        if not known:
            return
        event = data.draw(st.sampled_from(sorted(known, key=lambda event: event.identity)))
        tenant, key, id_ = event.identity.split("\0")
        if id_.startswith("auto:"):
            return
        self._send(event.definition | {"tenant": tenant, "key": key, "id": id_}, misplaced=False, settle=settle)

    @rule(data=st.data(), op=st.sampled_from(("cancel", "pause", "resume", "trigger")), where=seldom, settle=mostly)
    def command(self, data, op, where, settle):
        self._command(data, op, misplaced=where, settle=settle)

    @rule(data=st.data(), op=st.sampled_from(("pause", "resume", "trigger")), settle=mostly)
    def command_again(self, data, op, settle):
        self._command(data, op, misplaced=False, settle=settle)

    def _command(self, data, op, *, misplaced, settle):
        known = sorted(
            {name for partition in self.world.model for name, event in partition.events.items() if not event.over}
        )
        if known and data.draw(st.integers(0, 3)):
            tenant, key, id_ = data.draw(st.sampled_from(known)).split("\0")
            name = {"tenant": tenant, "key": key, "id": id_}
        else:
            name = data.draw(names())
        self._send({"op": op} | name, misplaced=misplaced, settle=settle)

    @rule(raw=st.sampled_from(BAD_COMMANDS), settle=mostly)
    def bad_command(self, raw, settle):
        self._append(EVENTS, 0, [(Record(None, raw), Expected(None, bad=True, raw=raw))], settle=settle)

    def _send(self, command, *, misplaced, settle):
        home = self.world.model[0].settings.home
        place = home(command.get("tenant", "default"), command.get("key") or command["id"], command["id"])
        if misplaced:
            place = (place + 1) % self.world.setup.partitions
        expected = Expected(command, bad=False, raw=encoded(command))
        self._append(EVENTS, place, [(Record(None, expected.raw), expected)], settle=settle)

    def _append(self, topic, place, records, *, settle):
        self.world.append(topic, place, records)
        if settle:
            self.world.settle()

    # reports

    @rule(data=st.data(), status=st.sampled_from(("CLAIMED", "PROCESSING", "SUCCESS", "SUCCESS", "RETRIABLE_FAILURE",
          "RETRIABLE_FAILURE", "FATAL_FAILURE")), settle=mostly)
    def report_on_what_is_out(self, data, status, settle):
        out = [
            (partition.number, event.identity, run.revision, run.due, run.attempt)
            for partition in self.world.model
            for event in partition.events.values()
            for run in event.runs
            if run.phase == "out"
        ]
        if out:
            chosen = data.draw(st.sampled_from(sorted(out)))
            found = [
                delivery
                for delivery in self.world.deliveries
                if (delivery["partition"], delivery["identity"], delivery["revision"], delivery["due"],
                    delivery["attempt"]) == chosen
            ]
            if found:
                self._report(data, found[0], status, misplaced=False, settle=settle)

    @rule(data=st.data(), back=st.integers(0, 8), status=st.sampled_from(("CLAIMED", "PROCESSING", "SUCCESS",
          "RETRIABLE_FAILURE", "FATAL_FAILURE")), genuine=mostly, where=seldom, settle=mostly)
    def report_on_anything(self, data, back, status, genuine, where, settle):
        if self.world.deliveries:
            delivery = self.world.deliveries[-1 - back % len(self.world.deliveries)]
            self._report(data, delivery, status, genuine=genuine, misplaced=where, settle=settle)

    def _report(self, data, delivery, status, *, misplaced, settle, genuine=True):
        then = []
        if data.draw(seldom):
            for bad in data.draw(st.lists(seldom, min_size=1, max_size=2)):
                event = dict(data.draw(st.sampled_from(BAD_THEN))) if bad else self._follow_up(data)
                then.append({"event": event, "bad": bad})
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

    @rule(passes=times)
    def time_passes_unnoticed(self, passes):
        """The process stands still: everything that comes due meanwhile is late."""
        self.world.clock.advance(passes)
        self.world.settle()

    @rule(passes=times, most=st.integers(1, 12))
    def time_passes(self, passes, most):
        """The worker wakes at each due."""
        world = self.world
        end = world.clock.wall + passes
        for _ in range(most):
            if world.clock.wall >= end:
                break
            dues = [worker.partition.store.next_due_ms() for worker in world.workers]
            following = min((due for due in dues if due is not None and due > world.clock.wall), default=end)
            world.clock.advance(min(following, end) - world.clock.wall)
            world.settle()

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

    @rule(point=st.sampled_from(FAULTS), nth=st.sampled_from((1, 1, 2, 3)),
          cut=st.one_of(st.none(), st.floats(0, 1)))
    def a_crash_is_near(self, point, nth, cut):
        self.world.planned = Planned(point, nth, cut)

    @rule(share=st.floats(0, 1))
    def a_reader_acknowledges(self, share):
        world = self.world
        position = int(len(world.sent.get(("lightsched.deliveries", 0), ())) * share)
        try:
            world.run(world.log.acknowledge("lightsched.deliveries", "readers", {0: position}))
            world.acked = {0: position}
        except Crash:
            before = world.acked
            world._crashed({}, None, 0)
            found = world.run(world.log.positions("lightsched.deliveries", "readers"))
            assert found in (before, {0: position})
            world.acked = found
        assert world.run(world.log.positions("lightsched.deliveries", "readers")) == world.acked

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
