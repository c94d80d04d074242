"""What does a report change, and why does it change nothing? Then: chaining."""

import msgspec
import pytest

from lightsched.engine.engine import Engine
from lightsched.engine.reports import IGNORED
from lightsched.engine.rules import Rules
from lightsched.event.delivery import DeliveryName, delivery_id, parse_delivery_id, token_of
from lightsched.event.identity import identity
from lightsched.event.record import Appended, Record
from lightsched.event.status import Outcome, Status
from tests.unit.engine.scheduler import REPORTS, Scheduler

ONCE = {"id": "e", "in": "10m", "retry": {"delays": ["10m"]}, "timeout": "5m"}


@pytest.fixture
def out(scheduler):
    """An event whose first attempt is out."""
    scheduler.post(ONCE)
    return scheduler.at("10:10")


# status before → reports, in order → what is said of the last
@pytest.mark.parametrize(
    ("reports", "said", "status"),
    [
        (["CLAIMED"], "", "CLAIMED"),
        (["PROCESSING"], "", "PROCESSING"),
        (["SUCCESS"], "", "SUCCESS"),
        (["RETRIABLE_FAILURE"], "", "RETRIABLE_FAILURE"),
        (["FATAL_FAILURE"], "", "FATAL_FAILURE"),
        (["CLAIMED", "CLAIMED"], "repeated", "CLAIMED"),
        (["CLAIMED", "PROCESSING"], "", "PROCESSING"),
        (["CLAIMED", "SUCCESS"], "", "SUCCESS"),
        (["CLAIMED", "RETRIABLE_FAILURE"], "", "RETRIABLE_FAILURE"),
        (["CLAIMED", "FATAL_FAILURE"], "", "FATAL_FAILURE"),
        (["PROCESSING", "CLAIMED"], "repeated", "PROCESSING"),
        (["PROCESSING", "PROCESSING"], "", "PROCESSING"),
        (["PROCESSING", "SUCCESS"], "", "SUCCESS"),
        (["PROCESSING", "RETRIABLE_FAILURE"], "", "RETRIABLE_FAILURE"),
        (["PROCESSING", "FATAL_FAILURE"], "", "FATAL_FAILURE"),
        (["RETRIABLE_FAILURE", "RETRIABLE_FAILURE"], "repeated", "RETRIABLE_FAILURE"),
        (["RETRIABLE_FAILURE", "SUCCESS"], "repeated", "RETRIABLE_FAILURE"),
        (["RETRIABLE_FAILURE", "CLAIMED"], "repeated", "RETRIABLE_FAILURE"),
        (["SUCCESS", "SUCCESS"], "finished", "SUCCESS"),
        (["SUCCESS", "RETRIABLE_FAILURE"], "finished", "SUCCESS"),
        (["FATAL_FAILURE", "SUCCESS"], "finished", "FATAL_FAILURE"),
    ],
)
def test_what_may_follow_what(out, reports, said, status):
    delivery = out.deliveries[0]
    answers = [out.report(report, delivery) for report in reports]
    assert [answer.ignored for answer in answers] == [""] * (len(reports) - 1) + [said]
    assert out.status("e") == status
    assert answers[-1].outcome is None


def test_a_report_after_its_lease_ran_out_is_late_while_the_retry_is_pending(out):
    assert out.advance("5m").report("SUCCESS", out.deliveries[0]).ignored == "late"
    assert out.status("e") is Status.RETRIABLE_FAILURE


def test_a_report_on_an_attempt_that_is_not_the_present_one_is_stale(out):
    first = out.deliveries[0]
    out.advance("15m")
    assert len(out.deliveries) == 2
    assert out.report("SUCCESS", first).ignored == "stale"
    assert out.status("e") is Status.NOT_STARTED
    assert not out.report("SUCCESS").ignored


def test_a_report_on_an_event_that_is_forgotten_is_unknown(out):
    delivery = out.deliveries[0]
    out.report("SUCCESS")
    assert out.advance("8d").report("SUCCESS", delivery).ignored == "unknown"


@pytest.mark.parametrize("token", ["", "0" * 32, "ä", "\x00", "x" * 10_000, "'; drop"])
def test_a_wrong_token_is_forbidden_and_changes_nothing(out, token):
    before = out.state("e")
    report = {"delivery": out.deliveries[0].id, "token": token, "status": "SUCCESS"}
    answer = out.step(Appended(REPORTS, 0, 0, out.now_ms, Record(None, msgspec.json.encode(report)))).answers[0]
    assert answer.ignored == "forbidden"
    assert out.state("e") == before


def test_the_token_of_another_attempt_is_forbidden(out):
    out.report("RETRIABLE_FAILURE")
    first, second = out.advance("10m").deliveries
    assert out.report("SUCCESS", second, token=out.token(first)).ignored == "forbidden"


def test_a_delivery_that_never_was_is_forbidden_even_with_a_token_of_another(out):
    name = parse_delivery_id(out.deliveries[0].id)
    for other in (name._replace(attempt=2), name._replace(revision=2), name._replace(due_ms=1)):
        report = {"delivery": delivery_id(other), "token": out.token(out.deliveries[0]), "status": "SUCCESS"}
        step = out.step(Appended(REPORTS, 0, 0, out.now_ms, Record(None, msgspec.json.encode(report))))
        assert step.answers[0].ignored == "forbidden"


def test_every_reason_is_explained_in_words():
    assert set(IGNORED) == {"forbidden", "unknown", "finished", "stale", "late", "repeated"}


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (None, "no value"),
        (b"", "JSON"),
        (b"[]", "must be an object"),
        (b'{"delivery":"x","token":"t","status":"SUCCESS"}', "delivery"),
        (b'{"delivery":"x","token":"t","status":"DONE"}', "status"),
        (b'{"delivery":"x","token":"t"}', "status"),
        (b'{"delivery":"x","token":"t","status":"SUCCESS","bogus":1}', "bogus"),
    ],
)
def test_a_report_that_makes_no_sense_is_a_dead_letter(out, value, field):
    step = out.step(Appended(REPORTS, 0, 7, out.now_ms, Record(b"k", value)))
    assert step.answers[0].outcome is Outcome.INVALID
    assert field in step.answers[0].error
    assert step.dead_letters[0].record == Record(b"k", value)
    assert (step.dead_letters[0].topic, step.dead_letters[0].offset) == (REPORTS, 7)
    assert step.meta.reports_offset == 8


def test_a_report_for_another_partition_is_sent_there(scheduler):
    scheduler = Scheduler(partitions=4)
    id_ = delivery_id(DeliveryName(3, identity("default", "e", "e"), 1, 5, 1))
    report = {"delivery": id_, "token": token_of(b"", id_), "status": "SUCCESS"}
    appended = Appended(REPORTS, 0, 0, scheduler.now_ms, Record(b"k", msgspec.json.encode(report)))
    step = scheduler.step(appended)
    follow = step.follows[0]
    assert (follow.topic, follow.partition, follow.record) == (REPORTS, 3, Record(None, appended.record.value))
    assert step.answers[0].outcome is Outcome.FORWARDED


@pytest.mark.parametrize("partition", [-1, 4, 10**20])
def test_a_report_for_a_partition_that_is_not_there_is_forbidden(partition):
    scheduler = Scheduler(partitions=4)
    report = {"delivery": f"{partition}:default//e/1/5#1", "token": "t", "status": "SUCCESS"}
    step = scheduler.step(Appended(REPORTS, 0, 0, scheduler.now_ms, Record(None, msgspec.json.encode(report))))
    assert step.answers[0].ignored == "forbidden"
    assert step.follows == []


def test_the_result_is_kept_and_bounded(out):
    out.report("SUCCESS", result={"rows": [1, 2]}, executor="worker-1")
    run = out.history("e")[0]
    assert run.result == b'{"rows":[1,2]}'
    assert run.attempts[-1].executor == "worker-1"


def test_a_result_that_is_too_large_is_replaced_by_its_size(out):
    out.report("SUCCESS", result="x" * 100_000)
    assert msgspec.json.decode(out.history("e")[0].result) == {"truncated": True, "bytes": 100_002}


def test_a_long_error_is_cut(out):
    out.report("FATAL_FAILURE", error="x" * 100_000, executor="y" * 1000)
    run = out.history("e")[0]
    assert len(run.error) == 2000
    assert len(run.attempts[0].executor) == 200


# then


def follow_up(scheduler, *events, delivery=None):
    """Report SUCCESS with these follow-ups; the records they became."""
    scheduler.report("SUCCESS", delivery, then=list(events))
    return scheduler.steps[-1].follows


def test_then_events_are_appended_in_the_step_of_the_status(out):
    first, second = follow_up(out, {"id": "a", "in": "1m", "payload": [1]}, {"id": "b", "key": "k", "in": "1m"})
    assert out.status("e") is Status.SUCCESS
    assert (first.topic, first.partition, first.record.key) == ("lightsched.events", 0, b"a")
    assert second.record.key == b"k"
    assert dict(first.record.headers)["ls_who"] == b"then of e"
    assert msgspec.json.decode(first.record.value) == {
        "tenant": "default",
        "id": "a",
        "key": "a",
        "in": "1m",
        "payload": [1],
    }


def test_a_chain_goes_on(out):
    (follow,) = follow_up(out, {"in": "1m", "payload": "next"})
    answer = out.post(follow.record.value, headers=follow.record.headers)
    assert answer.outcome is Outcome.SCHEDULED
    assert out.advance("1m").deliveries[-1].record.value == b'"next"'


def test_then_events_without_an_id_get_one_that_is_derived_from_the_delivery(out):
    ids = [msgspec.json.decode(follow.record.value)["id"] for follow in follow_up(out, {"in": "1m"}, {"in": "1m"})]
    assert len(set(ids)) == 2
    assert all(id_.startswith("auto:then-") for id_ in ids)


def test_a_repeated_report_schedules_nothing_again(out):
    assert len(follow_up(out, {"in": "1m"})) == 1
    assert follow_up(out, {"in": "1m"}) == []


def test_every_accepted_status_may_have_follow_ups(out):
    for status in ("CLAIMED", "PROCESSING", "RETRIABLE_FAILURE"):
        out.report(status, then=[{"id": "a", "in": "1m"}])
        assert len(out.steps[-1].follows) == 1


def test_then_events_belong_to_the_tenant_of_their_parent(scheduler):
    scheduler.post(ONCE | {"tenant": "acme"})
    scheduler.at("10:10")
    good, also = follow_up(scheduler, {"id": "a", "in": "1m"}, {"id": "b", "in": "1m", "tenant": "acme"})
    assert {msgspec.json.decode(f.record.value)["tenant"] for f in (good, also)} == {"acme"}


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"in": "1m", "tenant": "other"}, "tenant"),
        ({"in": "-1m"}, "in"),
        ({}, "no schedule"),
        ({"in": "1m", "id": "auto:x"}, "reserved"),
        ({"op": "cancel"}, "id"),
        ({"bogus": 1}, "bogus"),
        (7, "must be an object"),
        (None, "must be an object"),
    ],
    ids=str,
)
def test_a_bad_then_is_put_aside_and_the_status_stands(out, bad, why):
    follows = follow_up(out, {"id": "a", "in": "1m"}, bad, {"id": "b", "in": "1m"})
    assert [follow.record.key for follow in follows] == [b"a", b"b"]
    assert out.status("e") is Status.SUCCESS
    (letter,) = out.dead_letters
    assert letter.startswith("INVALID_THEN: then[1] of ")
    assert why in letter


def test_a_then_may_be_another_command(out):
    (follow,) = follow_up(out, {"op": "cancel", "id": "other"})
    assert msgspec.json.decode(follow.record.value)["op"] == "cancel"


def test_then_events_go_to_their_home_partition():
    scheduler = Scheduler(partitions=8, partition=6)
    scheduler.post(ONCE | {"key": "j"})
    scheduler.at("10:10")
    assert scheduler.deliveries, "`j` lives in partition 6 of 8"
    partitions = {
        f.record.key: f.partition for f in follow_up(scheduler, *({"id": f"{n}", "in": "1m"} for n in range(50)))
    }
    assert len(set(partitions.values())) == 8


def test_of_too_many_follow_ups_the_status_and_the_first_hundred_count(out):
    out.report("SUCCESS", then=[{"in": "1m", "payload": n} for n in range(150)])
    assert out.status("e") is Status.SUCCESS
    (step,) = [step for step in out.steps if step.follows]
    assert len(step.follows) == 100
    (letter,) = step.dead_letters
    assert letter.reason == "INVALID_THEN"
    assert "one of 150 events: at most 100 are allowed" in letter.detail
    assert [event["payload"] for event in msgspec.json.decode(letter.record.value)] == list(range(100, 150))


def test_a_misplaced_report_goes_home_without_what_else_it_came_with():
    elsewhere = Scheduler(partitions=8, partition=6)
    elsewhere.post(ONCE | {"key": "j"})
    elsewhere.at("10:10")
    report = {"delivery": elsewhere.deliveries[-1].id, "token": "", "status": "SUCCESS"}
    value = msgspec.json.encode(report)
    record = Record(b"k" * 100_000, value, (("x", b"y" * 100_000),))
    appended = Appended(REPORTS, 3, 0, elsewhere.now_ms, record)
    step = Engine(Rules(partition=3, partitions=8)).step(elsewhere.view, [appended], elsewhere.now_ms, firing=False)
    assert [(each.partition, each.record) for each in step.follows] == [(6, Record(None, value))]


def test_what_follows_from_two_reports_on_one_delivery_is_two_events(scheduler):
    scheduler.post({"id": "e", "in": "1s", "track": True})
    scheduler.advance("1s")
    followed = []
    for status, text in (("PROCESSING", "a"), ("PROCESSING", "a"), ("SUCCESS", "b")):
        scheduler.report(status, then=[{"in": "1h", "payload": text}])
        (follow,) = scheduler.steps[-1].follows
        followed.append(follow.record.key)
    assert followed[0] == followed[1] != followed[2]


@pytest.mark.parametrize("status", ["PROCESSING", "SUCCESS"])
def test_a_report_that_came_in_time_wins_over_the_timeout_also_if_it_is_read_later(scheduler, status):
    scheduler.post({"id": "other", "in": "1m", "track": True}, {"id": "e", "in": "1m", "retry": {"attempts": 2}})
    other, mine = scheduler.at("10:01").deliveries
    scheduler.jump("10:05")
    early, report = scheduler.reported(other, "SUCCESS"), scheduler.reported(mine, status)
    scheduler.jump("10:07")
    for some in ([early], []):  # also where nothing has arrived just now, and there is more
        step = scheduler.engine.step(scheduler.view, some, scheduler.now_ms, heard_ms=early.timestamp_ms)
        scheduler.view.apply(step)
    assert scheduler.step(report).answers[0].ignored == ""
    assert scheduler.phases("e") == (["DELIVERED"] if status == "PROCESSING" else [])


def test_a_delivery_without_a_report_times_out_although_there_are_always_more_reports(scheduler):
    scheduler.post({"id": "other", "in": "1m", "track": True}, {"id": "e", "in": "1m", "retry": {"attempts": 2}})
    other, _ = scheduler.at("10:01").deliveries
    scheduler.jump("10:06")
    report = scheduler.reported(other, "SUCCESS")
    step = scheduler.engine.step(scheduler.view, [report], scheduler.now_ms, heard_ms=report.timestamp_ms)
    assert [line.id for line in step.audit if line.what == "fail"] == ["e"]
