"""What does a step make of its inputs: positions, forwarding, what makes no sense, bounds?"""

import msgspec
import pytest

from lightsched.engine.runs import kept
from lightsched.engine.state import Phase, Run, State
from lightsched.event.record import Record
from lightsched.event.status import Outcome, Status
from lightsched.event.tenant import Tenant
from tests.unit.engine.scheduler import EVENTS, Scheduler

LATER = {"in": "1h"}


def test_positions_move_past_everything_that_was_read(scheduler):
    scheduler.post({"id": "e", "in": "1m", "track": True})
    scheduler.advance("1m")
    scheduler.step(
        scheduler.command(b"garbage"),
        scheduler.reported(scheduler.deliveries[0], "CLAIMED"),
        scheduler.command({"op": "cancel", "id": "nobody"}),
        scheduler.reported(scheduler.deliveries[0], "CLAIMED", token="wrong"),
    )
    meta = scheduler.view.meta
    assert (meta.events_offset, meta.reports_offset) == (3, 2)


def test_steps_are_numbered(scheduler):
    before = scheduler.view.meta.step
    scheduler.post({"id": "e", **LATER})
    assert scheduler.view.meta.step == before + 1


def test_the_engine_does_not_touch_what_it_was_given(scheduler):
    meta = scheduler.view.meta
    before = msgspec.structs.replace(meta, totals=msgspec.structs.replace(meta.totals))
    scheduler.engine.step(scheduler.view, [scheduler.command({"id": "e", **LATER})], scheduler.now_ms)
    assert scheduler.view.meta == before


def test_what_makes_no_sense_is_a_dead_letter_and_nothing_else_changes(scheduler):
    scheduler.post({"id": "e", **LATER})
    before = scheduler.state("e")
    appended = scheduler.command({"id": "e", "cron": "0 0 31 2 *", "prioritty": 1})
    step = scheduler.step(appended)
    (answer,), (letter,), (line,) = step.answers, step.dead_letters, step.audit
    assert (answer.outcome, answer.offset, answer.identity) == (Outcome.INVALID, 1, None)
    assert answer.error == letter.detail == line.reason
    assert "priority" in letter.detail
    assert (letter.reason, letter.topic, letter.offset, letter.record) == ("INVALID", EVENTS, 1, appended.record)
    assert line.outcome == "INVALID"
    assert scheduler.state("e") == before


def test_good_commands_are_not_spoiled_by_bad_ones(scheduler):
    step = scheduler.step(scheduler.command(b"{"), scheduler.command({"id": "e", **LATER}), scheduler.command(None))
    assert [answer.outcome for answer in step.answers] == ["INVALID", "SCHEDULED", "INVALID"]


def test_an_empty_step_changes_nothing(scheduler):
    assert scheduler.step().empty
    scheduler.post({"id": "e", **LATER})
    assert scheduler.step().empty


# forwarding


@pytest.fixture
def elsewhere():
    """Partition 0 of 8, where `a` does not live."""
    return Scheduler(partitions=8)


def test_a_command_that_landed_elsewhere_is_sent_home(elsewhere):
    appended = elsewhere.command(
        {"id": "a", "cron": "* * * * *", "reason": "why"}, headers=(("ls_who", b"anna"), ("x", b"y"))
    )
    step = elsewhere.step(appended)
    (follow,) = step.follows
    home = Scheduler(partitions=8, partition=follow.partition)
    answer = home.post(follow.record.value, key=follow.record.key, headers=follow.record.headers)
    assert step.answers[0].outcome is Outcome.FORWARDED
    assert (follow.topic, follow.record.key) == (EVENTS, b"a")
    assert answer.outcome is Outcome.SCHEDULED
    assert (home.steps[-1].audit[0].who, home.steps[-1].audit[0].reason) == ("anna", "why")
    assert elsewhere.states() == {}
    assert elsewhere.totals == {}


def test_of_large_headers_a_command_takes_home_only_what_is_read(elsewhere):
    headers = (("ls_who", b"w" * 500_000), ("x", b"y" * 500_000))
    (follow,) = elsewhere.step(elsewhere.command({"id": "a", "in": "1h"}, headers=headers)).follows
    assert sum(len(value) for _, value in follow.record.headers) < 1_000
    home = Scheduler(partitions=8, partition=follow.partition)
    home.post(follow.record.value, headers=follow.record.headers)
    assert home.steps[-1].audit[0].who == "w" * 200


def test_a_command_that_nodes_send_around_is_put_aside_after_some_hops(elsewhere):
    value, headers = {"id": "a", "in": "1h"}, ()
    for _ in range(8):
        (follow,) = elsewhere.step(elsewhere.command(value, headers=headers)).follows
        value, headers = follow.record.value, follow.record.headers
    step = elsewhere.step(elsewhere.command(value, headers=headers))
    assert not step.follows
    assert "same tenants" in step.dead_letters[0].detail
    assert not elsewhere.step(elsewhere.command({"id": "a", "in": "1h"}, headers=(("ls_hops", b"x"),))).follows


def test_durations_of_a_forwarded_command_count_from_its_first_append(elsewhere):
    elsewhere.post({"id": "a", "in": "10m"})
    (follow,) = elsewhere.follows
    home = Scheduler("10:05", partitions=8, partition=follow.partition)
    home.post(follow.record.value, headers=follow.record.headers)
    assert home.advance("1h").times("a") == ["10:10"]


def test_a_forwarded_command_keeps_the_id_it_was_given(elsewhere):
    for _ in range(30):
        elsewhere.post(LATER)
    assert elsewhere.follows, "some of them live elsewhere"
    for follow in elsewhere.follows:
        home = Scheduler(partitions=8, partition=follow.partition)
        answer = home.post(follow.record.value, headers=follow.record.headers)
        assert answer.outcome is Outcome.SCHEDULED
        assert answer.identity.endswith(follow.record.key)
        assert follow.record.key.startswith(b"auto:0-")


def test_an_event_from_headers_is_forwarded_with_its_payload(elsewhere):
    headers = (("ls_in", b"10m"), ("ls_id", b"a"), ("x", b"y"))
    elsewhere.post(b"\x00raw\xff", headers=headers)
    (follow,) = elsewhere.follows
    home = Scheduler(partitions=8, partition=follow.partition)
    home.post(follow.record.value, headers=follow.record.headers)
    delivery = home.advance("1h").deliveries[0].record
    assert delivery.value == b"\x00raw\xff"
    assert dict(delivery.headers)["x"] == b"y"


@pytest.mark.parametrize(
    ("rule", "same"), [("key", {"key": "k"}), ("round_robin", {"id": "i"}), ("tenant", {}), ("key", {"id": "i"})]
)
def test_the_tenants_rule_decides_where_an_event_lives(rule, same):
    scheduler = Scheduler(partitions=8, tenants={"acme": Tenant(rule=rule)})
    homes = set()
    for n in range(20):
        event = {"id": f"i{n}", "key": f"k{n}", "tenant": "acme", **LATER} | same
        if rule == "key" and "key" not in same:
            event.pop("key")
        step = scheduler.step(scheduler.command(event))
        homes.add(step.follows[0].partition if step.follows else 0)
    assert len(homes) == 1


# bounds


def test_a_step_fires_so_many_and_leaves_the_rest_to_the_next():
    scheduler = Scheduler(step_fires=10)
    scheduler.post(*({"id": f"{n}", "in": "1m"} for n in range(25)))
    scheduler.jump("10:01")
    steps = [scheduler.step() for _ in range(4)]
    assert [(len(step.deliveries), step.more) for step in steps] == [(10, True), (10, True), (5, False), (0, False)]
    assert scheduler.order == [f"{n}" for n in range(25)]


def test_what_a_step_makes_due_does_not_push_it_beyond_its_bound():
    scheduler = Scheduler(step_fires=10)
    step = scheduler.step(*(scheduler.command({"id": f"{n}", "at": 1772445600000 - n}) for n in range(25)))
    assert (len(step.deliveries), step.more) == (10, True)
    scheduler.settle()
    assert scheduler.order[:10] == [f"{n}" for n in range(24, 14, -1)]
    assert len(scheduler.order) == 25


def test_a_step_delivers_so_many_bytes():
    scheduler = Scheduler(step_bytes=10_000)
    scheduler.post(*({"id": f"{n}", "in": "1m", "payload": "x" * 4000} for n in range(7)))
    scheduler.jump("10:01")
    steps = [scheduler.step() for _ in range(4)]
    assert [(len(step.deliveries), step.more) for step in steps] == [(3, True), (3, True), (1, False), (0, False)]


def test_every_topic_counts_towards_the_bytes():
    scheduler = Scheduler(step_bytes=10_000)
    scheduler.post(*({"id": f"{n}", "in": "1m", "payload": "x" * 4000, "topics": ["a", "b", "c"]} for n in range(2)))
    scheduler.jump("10:01")
    assert [len(scheduler.step().deliveries) for _ in range(2)] == [1, 1]


def test_triggers_and_released_slots_are_bounded_by_bytes_too():
    scheduler = Scheduler(step_bytes=10_000, in_flight=5)
    scheduler.post(*({"id": f"{n}", "in": "1h", "payload": "x" * 4000, "track": True} for n in range(10)))
    step = scheduler.step(*(scheduler.command({"op": "trigger", "id": f"{n}"}) for n in range(10)))
    assert (len(step.deliveries), step.more) == (3, True)
    scheduler.settle()
    assert len(scheduler.deliveries) == 5
    step = scheduler.step(*(scheduler.reported(delivery, "SUCCESS") for delivery in scheduler.deliveries))
    assert (len(step.deliveries), step.more) == (3, True)
    scheduler.settle()
    assert len(scheduler.deliveries) == 10


def test_a_step_ends_so_many_leases():
    scheduler = Scheduler(step_leases=10)
    scheduler.post(*({"id": f"{n}", "in": "1m", "track": True} for n in range(25)))
    scheduler.advance("1m").jump("10:30")
    steps = [scheduler.step() for _ in range(4)]
    assert [(len(step.ended), step.more) for step in steps] == [(10, True), (10, True), (5, False), (0, False)]


def test_the_trail_is_bounded(scheduler):
    scheduler.post({"id": "e", "every": "1h"})
    for _ in range(30):
        scheduler.pause("e")
        scheduler.resume("e")
    assert len(scheduler.state("e").trail) == 20


def test_the_clock_may_go_back_and_nothing_fires_twice(scheduler):
    scheduler.post({"id": "e", "every": "10m"}, {"id": "o", "in": "15m"})
    scheduler.at("10:20").jump("10:05").settle()
    scheduler.trigger("e")
    scheduler.at("10:10").trigger("e")
    assert scheduler.at("10:30").dues("e") == ["10:10", "10:20", "10:05", "10:10:00.001", "10:30"]
    assert scheduler.times("o") == ["10:15"]
    assert scheduler.status("o") is Status.SUCCESS


def test_a_record_without_headers_or_key_is_fine(scheduler):
    step = scheduler.step(scheduler._appended(EVENTS, Record(None, b'{"in":"1m"}')))
    assert step.answers[0].outcome is Outcome.SCHEDULED


def test_what_waits_for_inputs_to_be_forgotten_holds_up_no_lease_behind_it():
    scheduler = Scheduler(step_leases=10, keep="10m")
    for n in range(30):
        scheduler.post({"id": f"{n}", "in": "1ms"})
    scheduler.advance("1s")  # they are over, and to be forgotten in ten minutes
    scheduler.post({"id": "job", "in": "1ms", "timeout": "10m", "retry": {"attempts": 3, "delay": "1s"}})
    scheduler.advance("1s")
    behind_ms = scheduler.now_ms
    scheduler.now_ms += 660_000
    step = scheduler.engine.step(scheduler.view, [], scheduler.now_ms, read_ms=behind_ms)
    assert [each.what for each in step.audit] == ["fail"]
    assert [name for name, state in step.states.items() if state is None] == []


def test_a_state_goes_into_one_record_whatever_executors_say():
    runs = tuple(Run(n, 1, n, Phase.DELIVERED, n) for n in range(1_000))
    state = State(1, Status.PROCESSING, 0, 0, b"", 1, 5, runs=runs)
    assert len(kept(state, "\U0001f600" * 500).encode()) == 80
    assert kept(msgspec.structs.replace(state, runs=()), "x" * 500) == "x" * 200
