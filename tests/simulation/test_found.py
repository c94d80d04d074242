"""What the simulation has found, each as the shortest story that shows it. The rules are in docs/semantics.md."""

import asyncio
import json
from pathlib import Path

from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.engine.step import Step
from lightsched.event.identity import identity
from lightsched.event.record import Appended, Record
from lightsched.event.tenant import Tenant, TenantLimits
from lightsched.node.node import Node
from lightsched.node.settings import Settings
from tests.simulation.memory_view import MemoryView
from tests.simulation.world import EVENTS, Clock, Expected, Setup, World

NOW = 1_780_000_000_000
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


class Story:
    """An engine on a state in memory."""

    def __init__(self, **rules) -> None:
        self.engine = Engine(Rules(**rules))
        self.view = MemoryView()
        self.offset = 0

    def step(self, now: int, *commands: dict, reports: tuple[dict, ...] = (), firing: bool = True) -> Step:
        inputs = []
        for topic, values in (("lightsched.events", commands), ("lightsched.reports", reports)):
            for value in values:
                record = Record(None, json.dumps(value).encode())
                inputs.append(Appended(topic, 0, self.offset, now, record))
                self.offset += 1
        done = self.engine.step(self.view, inputs, now, firing=firing)
        self.view.apply(done)
        return done

    def state(self, id_: str):
        return self.view.all[identity("default", id_, id_)]


def outcomes(step: Step) -> list[str]:
    return [str(answer.outcome) for answer in step.answers]


def dues(step: Step) -> list[tuple[bytes, int]]:
    return [(delivery.identity.split(b"\0")[2], delivery.due_ms) for delivery in step.deliveries]


def success(delivery) -> dict:
    token = dict(delivery.record.headers)["ls_report"].decode()
    return {"delivery": delivery.id, "token": token, "status": "SUCCESS"}


def test_a_default_that_is_spelled_out_makes_no_other_definition():
    story = Story()
    story.step(NOW, {"id": "a", "every": "1h"})
    again = {"id": "a", "every": "1h", "type": "event", "look_back": "60m", "catch_up": "latest", "priority": 5}
    assert outcomes(story.step(NOW, again)) == ["UNCHANGED"]


def test_a_run_that_waited_for_a_slot_does_not_go_early_when_the_clock_was_put_back():
    story = Story(tenants={"default": Tenant(limits=TenantLimits(in_flight=1))})
    events = [{"id": id_, "at": NOW, "track": True} for id_ in ("a", "b")]
    first = story.step(NOW, *events)
    assert dues(first) == [(b"a", NOW)]
    assert dues(story.step(NOW - HOUR, reports=(success(first.deliveries[0]),))) == []
    assert dues(story.step(NOW)) == [(b"b", NOW)]


def test_a_trigger_goes_now_although_the_clock_was_put_back():
    story = Story()
    story.step(NOW, {"id": "a", "every": "1h", "starts_at": NOW})
    now = NOW - DAY
    triggered = story.step(now, {"op": "trigger", "id": "a"}, {"op": "trigger", "id": "a"})
    assert dues(triggered) == [(b"a", now)]
    assert dues(story.step(now + 1)) == [(b"a", now + 1)]


def test_no_two_runs_share_a_due_when_the_clock_was_put_back():
    story = Story()
    story.step(NOW, {"id": "a", "every": "1h"}, {"op": "trigger", "id": "a"})
    story.step(NOW + MINUTE, {"op": "trigger", "id": "a"})
    again = story.step(NOW, {"op": "trigger", "id": "a"})
    assert dues(again) == []
    assert dues(story.step(NOW + 1)) == [(b"a", NOW + 1)]


def test_a_trigger_under_a_pause_gets_the_next_free_slot():
    story = Story(tenants={"default": Tenant(limits=TenantLimits(in_flight=1))})
    first = story.step(NOW, {"id": "a", "at": NOW, "track": True}, {"id": "b", "every": "1h", "track": True})
    story.step(NOW, {"op": "pause", "id": "b"}, {"op": "trigger", "id": "b"})
    assert dues(story.step(NOW + 1, reports=(success(first.deliveries[0]),))) == [(b"b", NOW)]
    assert story.state("b").paused


def test_a_trigger_under_a_pause_goes_when_the_run_before_it_is_over():
    story = Story()
    first = story.step(NOW, {"id": "a", "every": "1h", "starts_at": NOW, "overlap": "queue"})
    story.step(NOW + 1, {"op": "pause", "id": "a"}, {"op": "trigger", "id": "a"})
    assert dues(story.step(NOW + 2, reports=(success(first.deliveries[0]),))) == [(b"a", NOW + 1)]


def test_a_pause_holds_what_was_triggered_before_it():
    story = Story()
    story.step(NOW, {"id": "a", "every": "1h"})
    story.step(NOW, {"op": "trigger", "id": "a"}, {"op": "pause", "id": "a"}, firing=False)
    assert dues(story.step(NOW + 1)) == []
    assert dues(story.step(NOW + 2, {"op": "resume", "id": "a"})) == [(b"a", NOW)]


def test_a_one_shot_that_is_triggered_goes_at_once_although_the_window_has_closed_while_it_was_held():
    story = Story(tenants={"default": Tenant(limits=TenantLimits(in_flight=1))})
    window = {"from": "20:00", "to": "20:30"}  # NOW is at 20:26:40
    first = story.step(
        NOW, {"id": "a", "at": NOW, "track": True}, {"id": "b", "at": NOW, "track": True, "window": window}
    )
    story.step(NOW, {"op": "pause", "id": "b"})
    story.step(NOW + HOUR, reports=(success(first.deliveries[0]),))
    assert dues(story.step(NOW + HOUR, {"op": "trigger", "id": "b"})) == [(b"b", NOW)]


def test_what_is_only_now_due_takes_no_slot_from_what_waits_for_it():
    story = Story(tenants={"default": Tenant(limits=TenantLimits(in_flight=1))})
    events = [{"id": id_, "at": NOW, "track": True} for id_ in ("a", "b", "c")]
    first = story.step(NOW, *events, {"id": "d", "at": NOW + 1, "track": True})
    freed = story.step(NOW + 1, {"op": "cancel", "id": "b"}, reports=(success(first.deliveries[0]),))
    assert dues(freed) == [(b"c", NOW)]


async def test_what_is_sent_after_the_clock_was_set_does_not_go_early(tmp_path: Path):
    """A laptop wakes up: its clock has gone on, the monotonic one has not. The idle node has come to believe it."""
    clock = Clock(NOW)
    node = await Node.open(Settings(data=tmp_path), clock)
    running = asyncio.create_task(node.run())
    await node.wait_ready()
    worker = node.workers[0]

    async def turns() -> None:
        """So many that every worker has seen the clock."""
        for worker in node.workers.values():
            worker.partition.wake()
        for _ in range(100):
            await asyncio.sleep(0)

    clock.wall += 3 * HOUR
    await turns()
    clock.advance(6 * SECOND)
    await turns()
    assert worker.guard.trusted
    record = Record(None, json.dumps({"id": "a", "in": "30m", "key": "a"}).encode())
    (answer,) = await node.commands.submit(node.log.topics.events, [(0, record)])
    if answer.outcome == "FORWARDED":
        await turns()
    states = [store.state(identity("default", "a", "a")) for store in node.stores]
    (state,) = [state for state in states if state is not None]
    assert state.due_ms == clock.wall + 30 * MINUTE
    assert state.fired == 0
    node.stop()
    await running


def test_a_steady_stream_of_inputs_does_not_keep_a_partition_that_was_just_taken_from_firing(tmp_path: Path):
    loop = asyncio.new_event_loop()
    world = World(tmp_path, Setup(step_inputs=3), loop)
    try:
        event = {"id": "a", "at": world.clock.wall + SECOND, "key": "a", "payload": 1}
        expected = Expected(event, bad=False, raw=json.dumps(event).encode())
        world.append(EVENTS, 0, [(Record(None, expected.raw), expected)])
        world.settle()
        world.restart(2 * SECOND)
        for _ in range(5):
            nonsense = [(Record(None, b""), Expected(None, bad=True, raw=b"")) for _ in range(3)]
            world.append(EVENTS, 0, nonsense)
            world.turn(0)
        assert [delivery["due"] for delivery in world.deliveries] == [event["at"]]
    finally:
        world.close()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
