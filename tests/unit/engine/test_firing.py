"""When does what fire? On time, late, after a pause, in a window, and for how long."""

import pytest

from lightsched.engine import firing
from lightsched.event.status import Status
from lightsched.event.tenant import Tenant
from tests.unit.engine.scheduler import Scheduler


@pytest.mark.parametrize(
    ("schedule", "times"),
    [
        ({"at": "2026-03-02T10:30:00.250Z"}, ["10:30:00.250"]),
        ({"at": "2026-03-02T10:30:00", "timezone": "Europe/Paris"}, ["10:00"]),  # 09:30 UTC: at once
        ({"at": 1772447400000}, ["10:30"]),
        ({"in": "PT30M"}, ["10:30"]),
        ({"every": "25m"}, ["10:25", "10:50", "11:15"]),
        ({"every": "25m", "starts_at": "2026-03-02T10:10:00Z"}, ["10:10", "10:35", "11:00"]),
        ({"every": "25m", "starts_at": "2026-03-02T09:40:00Z", "catch_up": "none"}, ["10:05", "10:30", "10:55"]),
        ({"cron": "*/20 * * * *"}, ["10:20", "10:40", "11:00"]),
        ({"cron": "0 */20 * * * *", "max_runs": 2}, ["10:20", "10:40"]),
        ({"cron": "*/20 * * * *", "starts_at": "2026-03-02T10:40:00Z"}, ["10:40", "11:00"]),
        ({"cron": "*/20 * * * *", "ends_at": "2026-03-02T10:40:00Z"}, ["10:20", "10:40"]),
        ({"cron": "*/20 * * * *", "ends_at": "2026-03-02T10:39:59Z"}, ["10:20"]),
        ({"cron": "30 11 * * *", "timezone": "Europe/Paris"}, ["10:30"]),
        ({"every": "20m", "window": {"from": "10:30", "to": "11:00"}}, ["10:30", "10:40"]),
        ({"at": "2026-03-02T10:05:00Z", "window": {"from": "10:30", "to": "11:00"}}, ["10:30"]),
        ({"at": "2026-03-02T10:45:00Z", "window": {"from": "10:30", "to": "11:00"}}, ["10:45"]),
    ],
    ids=str,
)
def test_it_fires_at_its_times(scheduler, schedule, times):
    scheduler.post({"id": "e", **schedule})
    assert scheduler.at("11:15").times("e") == times


def test_jitter_is_the_events_own_and_constant(scheduler):
    scheduler.post({"id": "a", "every": "10m", "jitter": "5m"}, {"id": "b", "every": "10m", "jitter": "5m"})
    scheduler.at("11:00")
    for id_ in ("a", "b"):
        late = {
            int(d.due_ms - 1772445600000) % 600_000 for d in scheduler.deliveries if d.identity.endswith(id_.encode())
        }
        assert len(late) == 1
        assert late.pop() < 300_000
    assert scheduler.times("a") != scheduler.times("b")


@pytest.mark.parametrize("late", ["1ms", "1m", "2m", "3h", "6d"])
def test_a_one_shot_fires_however_late(scheduler, late):
    scheduler.post({"id": "e", "in": "1h"})
    scheduler.jump("11:00").sleep(late)
    assert scheduler.dues("e") == ["11:00"]
    assert scheduler.status("e") is Status.SUCCESS


def test_what_is_due_on_arrival_fires_in_the_step_that_reads_it(scheduler):
    scheduler.post({"id": "e", "at": "2026-03-02T09:00:00Z"})
    assert scheduler.times("e") == ["10:00"]


def test_nothing_fires_while_firing_is_off(scheduler):
    scheduler.firing = False
    scheduler.post({"id": "e", "at": "2026-03-02T09:00:00Z"}, {"id": "r", "every": "1h"})
    scheduler.trigger("r")
    scheduler.sleep("1h")
    assert scheduler.deliveries == []
    scheduler.firing = True
    assert sorted(scheduler.sleep("1ms").order) == ["e", "r", "r"]


# late, and after a pause


def nobody_there(scheduler):
    scheduler.jump("12:00:30").settle()


def paused(scheduler):
    scheduler.pause("e")
    scheduler.at("12:00:30").resume("e")
    scheduler.settle()


TENS = ["10:10", "10:20", "10:30", "10:40", "10:50", "11:00", "11:10", "11:20", "11:30", "11:40", "11:50", "12:00"]


# every 10 minutes from 10:10 on; the next after 12:00:30 is 12:10. Late means more than a minute late.
@pytest.mark.parametrize(
    ("missing", "policy", "dues"),
    [
        (nobody_there, {}, ["11:50", "12:00"]),
        (nobody_there, {"catch_up": "latest", "look_back": "5m"}, ["12:00"]),
        (nobody_there, {"catch_up": "all", "look_back": "25m"}, ["11:40", "11:50", "12:00"]),
        (nobody_there, {"catch_up": "all", "look_back": "1d"}, TENS),
        (nobody_there, {"catch_up": "none"}, ["12:00"]),
        (paused, {}, ["12:00"]),
        (paused, {"look_back": "30s"}, ["12:00"]),
        (paused, {"look_back": "29s"}, []),
        (paused, {"catch_up": "all", "look_back": "25m"}, ["11:40", "11:50", "12:00"]),
        (paused, {"catch_up": "none"}, []),
    ],
)
def test_catch_up_decides_about_what_was_missed(scheduler, missing, policy, dues):
    scheduler.post({"id": "e", "every": "10m", **policy})
    missing(scheduler)
    assert scheduler.dues("e") == dues
    assert sum(scheduler.missed.values()) == len(TENS) - len(dues)
    assert scheduler.due("e") == "12:10"


def test_less_than_a_minute_late_is_only_late(scheduler):
    scheduler.post({"id": "e", "every": "20s", "catch_up": "none"})
    scheduler.sleep("80s")
    assert scheduler.dues("e") == ["10:00:20", "10:00:40", "10:01", "10:01:20"]
    assert scheduler.missed == {}


def test_missed_occurrences_that_are_caught_up_with_go_one_a_step(scheduler):
    scheduler.post({"id": "e", "every": "10m", "catch_up": "all", "look_back": "1d"})
    scheduler.jump("11:00")
    assert [len(scheduler.step().deliveries) for _ in range(8)] == [1, 1, 1, 1, 1, 1, 0, 0]


def test_a_recurrence_that_missed_its_end_ends_as_its_last_run_did(scheduler):
    event = {"every": "1h", "ends_at": "2026-03-02T13:30:00Z", "catch_up": "none"}
    scheduler.post({"id": "good", **event}, {"id": "bad", "track": True, **event}, {"id": "none", **event})
    scheduler.pause("none")
    scheduler.at("11:00").report("FATAL_FAILURE", next(d for d in scheduler.deliveries if b"bad" in d.identity))
    scheduler.jump("20:00").resume("none")
    scheduler.settle()
    assert [scheduler.status(id_) for id_ in ("good", "bad", "none")] == ["SUCCESS", "FATAL_FAILURE", "EXPIRED"]
    assert scheduler.totals == {"accepted": 3, "fired": 2, "expired": 1}


# windows

OFFICE = {"window": {"from": "09:00", "to": "17:00"}}


def test_a_late_occurrence_waits_for_the_window_to_open_again(scheduler):
    scheduler.post({"id": "e", "cron": "45 16 * * *", **OFFICE}, {"id": "once", "at": "2026-03-02T16:45:00Z", **OFFICE})
    scheduler.jump("17:15").settle()
    assert scheduler.deliveries == []
    assert scheduler.due("e") == scheduler.due("once") == "2026-03-03T09:00"
    scheduler.at("2026-03-03T20:00Z")
    assert scheduler.times("e") == ["2026-03-03T09:00", "2026-03-03T16:45"]
    assert scheduler.times("once") == ["2026-03-03T09:00"]


def test_a_little_late_it_fires_although_the_window_has_just_closed(scheduler):
    scheduler.post({"id": "e", "at": "2026-03-02T16:59:30Z", **OFFICE})
    scheduler.jump("17:00:30").settle()
    assert scheduler.times("e") == ["17:00:30"]


def test_what_is_moved_to_the_opening_becomes_one_with_what_is_due_there(scheduler):
    scheduler.post({"id": "e", "cron": "0,45 9,16 * * *", **OFFICE})
    scheduler.at("16:00").jump("18:00").settle()
    scheduler.at("2026-03-03T10:00Z")
    assert scheduler.times("e") == ["16:00", "2026-03-03T09:00", "2026-03-03T09:45"]


def test_what_would_open_after_the_end_is_missed(scheduler):
    scheduler.post({"id": "e", "cron": "45 16 * * *", "ends_at": "2026-03-02T20:00:00Z", **OFFICE})
    scheduler.jump("17:15").settle()
    assert scheduler.status("e") is Status.EXPIRED
    assert scheduler.missed == {"window": 1}


def test_what_is_only_a_little_late_still_goes_when_the_rest_is_missed_for_the_window(scheduler):
    event = {"id": "e", "every": "20s", "starts_at": "2026-03-02T16:58:00Z", "catch_up": "all", "look_back": "1d"}
    scheduler.post(event | {"ends_at": "2026-03-02T20:00:00Z", **OFFICE})
    scheduler.jump("17:00:30").settle()
    assert scheduler.dues("e") == ["16:59:40"]
    assert scheduler.missed == {"window": 5}
    assert scheduler.status("e") is Status.SUCCESS


# expiry

EXPIRING = {"in": "10m", "expires_in": "5m"}


@pytest.mark.parametrize(("late", "status"), [("4m59s", "SUCCESS"), ("5m", "EXPIRED"), ("1h", "EXPIRED")])
def test_what_expired_is_not_delivered(scheduler, late, status):
    scheduler.post({"id": "e", **EXPIRING})
    scheduler.jump("10:10").sleep(late)
    assert scheduler.status("e") == status
    assert scheduler.ended("e") == [status]
    assert len(scheduler.deliveries) == (status == "SUCCESS")


def test_an_expired_occurrence_counts_towards_max_runs(scheduler):
    scheduler.post({"id": "e", "every": "10m", "max_runs": 2, "catch_up": "all", "expires_in": "2m"})
    scheduler.sleep("15m")
    assert scheduler.at("11:00").times("e") == ["10:20"]
    assert scheduler.ended("e") == ["EXPIRED", "SUCCESS"]
    assert scheduler.status("e") is Status.SUCCESS


def test_a_skipped_a_missed_and_a_triggered_one_do_not_count_towards_max_runs(scheduler):
    scheduler.post({"id": "e", "every": "10m", "max_runs": 2, "overlap": "skip", "timeout": "1h", "catch_up": "none"})
    scheduler.at("10:25").report("SUCCESS")
    scheduler.trigger("e")
    scheduler.report("SUCCESS")
    scheduler.sleep("20m")
    assert scheduler.at("12:00").dues("e") == ["10:10", "10:25", "10:50"]


def test_a_recurrence_ends_with_its_last_run(scheduler):
    scheduler.post({"id": "e", "every": "10m", "max_runs": 2, "timeout": "1h"})
    first, second = scheduler.at("10:20").deliveries
    assert scheduler.due("e") is None
    scheduler.report("SUCCESS", second)
    assert scheduler.status("e") is Status.NOT_STARTED
    scheduler.report("FATAL_FAILURE", first)
    assert scheduler.status("e") is Status.FATAL_FAILURE


def test_a_recurrence_that_ends_under_a_pause_is_over(scheduler):
    scheduler.post({"id": "e", "every": "10m", "max_runs": 1, "timeout": "1h"})
    scheduler.at("10:10").pause("e")
    scheduler.report("SUCCESS")
    assert scheduler.status("e") is Status.SUCCESS


# until


def test_until_success_stops_a_recurrence_at_its_first_success(scheduler):
    scheduler.post({"id": "e", "every": "10m", "until": "success"})
    for time, status in (("10:10", "FATAL_FAILURE"), ("10:20", "FATAL_FAILURE"), ("10:30", "SUCCESS")):
        scheduler.at(time).report(status)
    assert scheduler.advance("1d").times("e") == ["10:10", "10:20", "10:30"]
    assert scheduler.status("e") is Status.SUCCESS


def test_until_success_drops_what_waits(scheduler):
    scheduler.post({"id": "e", "every": "10m", "until": "success", "overlap": "queue", "timeout": "1h"})
    scheduler.at("10:40").report("SUCCESS")
    assert scheduler.ended("e") == ["SUCCESS", "CANCELLED", "CANCELLED", "CANCELLED"]


def test_the_success_of_an_old_revision_does_not_stop_the_new_one(scheduler):
    scheduler.post({"id": "e", "every": "10m", "until": "success"})
    scheduler.at("10:10").post({"id": "e", "every": "20m", "until": "success"})
    scheduler.report("SUCCESS")
    assert scheduler.at("10:30").times("e") == ["10:10", "10:30"]


# order


def test_among_due_events_priority_comes_first_then_the_due_then_the_arrival(scheduler):
    at = "2026-03-02T10:{}:00Z"
    scheduler.post(
        {"id": "late", "at": at.format(40), "priority": 5},
        {"id": "b", "at": at.format(30)},
        {"id": "a", "at": at.format(30)},
        {"id": "last", "at": at.format(20), "priority": 9},
        {"id": "first", "at": at.format(50), "priority": 0},
    )
    scheduler.jump("11:00").settle()
    assert scheduler.order == ["first", "b", "a", "late", "last"]


def test_what_a_step_makes_due_is_in_order_with_what_was_due(scheduler):
    scheduler.post({"id": "waits", "at": "2026-03-02T10:30:00Z"})
    scheduler.jump("10:30").post({"id": "sooner", "at": "2026-03-02T10:29:00Z"}, {"id": "later", "in": "1ms"})
    assert scheduler.order == ["sooner", "waits"]


def test_order_holds_for_a_key(scheduler):
    scheduler.post(*({"id": f"{n}", "key": "k", "at": "2026-03-02T11:00:00Z"} for n in range(20)))
    assert scheduler.at("11:00").order == [f"{n}" for n in range(20)]


# deliveries


def test_a_delivery_says_what_it_is_and_carries_the_payload_untouched(scheduler):
    fields = b'"id":"a/b #1","key":"k","tenant":"acme","type":"t","at":1772449200000,"headers":{"x":"y"}'
    scheduler.post(b'{%s,"payload": { "b" :1 }}' % fields)
    delivery = scheduler.at("11:00").deliveries[0]
    headers = {name: value.decode() for name, value in delivery.record.headers}
    assert delivery.record.key == b"k"
    assert delivery.record.value == b'{ "b" :1 }'
    assert delivery.topics == ("lightsched.deliveries",)
    assert headers["ce_id"] == delivery.id
    assert delivery.id.endswith("#1")
    wanted = {
        "ce_specversion": "1.0",
        "ce_source": "/lightsched",
        "ce_type": "t",
        "ce_subject": "a/b #1",
        "ce_time": "2026-03-02T11:00:00.000Z",
        "content-type": "application/json",
        "ls_tenant": "acme",
        "ls_id": "a/b #1",
        "ls_due": "1772449200000",
        "ls_attempt": "1",
        "ls_partition": "0",
        "x": "y",
    }
    assert wanted.items() <= headers.items()
    assert headers.keys() - wanted.keys() == {"ce_id", "ls_report", "traceparent"}


def test_bytes_are_delivered_as_bytes(scheduler):
    scheduler.post({"id": "b", "in": "1s", "payload_base64": "AAH/"}, {"id": "n", "in": "2s"})
    bytes_, nothing = scheduler.advance("1m").deliveries
    assert bytes_.record.value == b"\x00\x01\xff"
    assert dict(bytes_.record.headers)["content-type"] == b"application/octet-stream"
    assert nothing.record.value == b""
    assert "content-type" not in dict(nothing.record.headers)


def test_the_events_own_trace_and_content_type_win(scheduler):
    scheduler.post({"id": "e", "in": "1s", "payload": 1, "headers": {"traceparent": "mine", "content-type": "text/x"}})
    headers = scheduler.advance("1m").deliveries[0].record.headers
    values = sorted(value for name, value in headers if name in {"traceparent", "content-type"})
    assert values == [b"mine", b"text/x"]


def test_all_attempts_of_a_run_are_one_trace(scheduler):
    scheduler.post({"id": "e", "in": "1s", "retry": {"delays": ["1m"]}})
    scheduler.advance("1m").report("RETRIABLE_FAILURE")
    traces = [dict(d.record.headers)["traceparent"].split(b"-") for d in scheduler.advance("1h").deliveries]
    assert traces[0][1] == traces[1][1]
    assert traces[0][2] != traces[1][2]


def test_topics_are_the_events_own_or_its_tenants():
    scheduler = Scheduler(tenants={"acme": Tenant(topics=("acme.work",))})
    scheduler.post(
        {"id": "own", "in": "1s", "tenant": "acme", "topics": ["a", "b"]},
        {"id": "tenants", "in": "2s", "tenant": "acme"},
        {"id": "default", "in": "3s"},
    )
    topics = [delivery.topics for delivery in scheduler.advance("1m").deliveries]
    assert topics == [("a", "b"), ("acme.work",), ("lightsched.deliveries",)]


def test_definitions_are_read_some_at_a_time_if_they_are_large(scheduler, monkeypatch):
    monkeypatch.setattr(firing, "READ_BYTES", 5_000)
    scheduler.post(*({"id": f"large-{n}", "in": "1m", "payload": "x" * 2_000} for n in range(7)))
    scheduler.post(*({"id": f"small-{n}", "in": "2m", "payload": n} for n in range(7)))
    read = []
    definitions = scheduler.view.definitions
    monkeypatch.setattr(scheduler.view, "definitions", lambda names: read.append(len(names)) or definitions(names))
    assert len(scheduler.at("10:01").deliveries) == 7
    assert read[:3] == [3, 3, 1]
    assert len(scheduler.at("10:02").deliveries) == 14
    assert read[-1] == 7


def test_an_event_that_comes_again_when_it_was_forgotten_repeats_no_run():
    scheduler = Scheduler(keep="10m")
    once = {"starts_at": "2026-03-02T10:00:00Z", "ends_at": "2026-03-02T10:00:00Z"}
    scheduler.post({"id": "e", "every": "1m", **once})
    scheduler.at("10:11")
    scheduler.post({"id": "e", "every": "1m", "starts_at": "2026-03-02T10:00:00Z", "catch_up": "all"})
    assert scheduler.at("10:11").dues("e") == ["10:00", *(f"10:{minute:02}" for minute in range(2, 12))]


def test_a_one_shot_that_comes_again_at_the_moment_it_is_forgotten_does_not_fire_again():
    scheduler = Scheduler(keep="10m")
    scheduler.post({"id": "e", "at": "2026-03-02T10:00:00Z"})
    scheduler.at("10:10")
    scheduler.post({"id": "e", "at": "2026-03-02T10:00:00Z"})
    assert scheduler.at("10:20").times("e") == ["10:00"]


def test_what_is_moved_to_an_opening_is_no_other_run_that_is_due_there():
    scheduler = Scheduler("19:00")
    event = {"cron": "30 19 * * *", "window": {"from": "21:00", "to": "20:00"}, "look_back": "3h"}
    scheduler.post({"id": "e", **event})
    scheduler.jump("20:59:59.999")
    scheduler.post({"op": "trigger", "id": "e"}, {"op": "trigger", "id": "e"})
    assert scheduler.at("21:01").dues("e") == ["20:59:59.999", "21:00", "21:00:00.001"]


@pytest.mark.parametrize("expires_in", ["1h", "14h"])
def test_a_window_revives_nothing_that_has_expired_or_will_have_until_it_opens(expires_in):
    scheduler = Scheduler("08:00")
    window = {"from": "09:00", "to": "17:00"}
    scheduler.post({"id": "e", "at": "2026-03-02T09:00:00Z", "expires_in": expires_in, "window": window})
    scheduler.jump("18:00").settle()
    assert scheduler.at("2026-03-03T10:00:00Z").times("e") == []
    assert scheduler.status("e") is Status.EXPIRED


def test_what_has_not_expired_when_the_window_opens_fires_then():
    scheduler = Scheduler("08:00")
    window = {"from": "09:00", "to": "17:00"}
    scheduler.post({"id": "e", "at": "2026-03-02T09:00:00Z", "expires_in": "2d", "window": window})
    scheduler.jump("18:00").settle()
    assert scheduler.at("2026-03-03T10:00:00Z").times("e") == ["2026-03-03T09:00"]
