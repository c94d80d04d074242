"""Does everything on the way happen, in order, at its exact time?"""

from datetime import UTC, datetime, timedelta

import pytest

from lightsched.event.tenant import Tenant, TenantLimits
from lightsched.testing import Report, Scheduler
from lightsched.timing import TimingError

START = datetime(2026, 1, 5, tzinfo=UTC)


def times(scheduler, **wanted):
    return [delivery.delivered_at - START for delivery in scheduler.deliveries(**wanted)]


def minutes(*counts):
    return [timedelta(minutes=count) for count in counts]


def test_time_stands_still_until_it_is_moved(scheduler):
    assert scheduler.now == START
    scheduler.schedule(in_="1ms")
    scheduler.assert_nothing_delivered()
    scheduler.advance("1ms")
    assert scheduler.now == START + timedelta(milliseconds=1)
    scheduler.assert_delivered(times=1)


def test_different_events_fire_in_the_order_of_their_dues(scheduler):
    scheduler.schedule(id="late", in_="3h")
    scheduler.schedule(id="early", in_=timedelta(hours=1))
    scheduler.schedule(id="often", every="50m")
    scheduler.schedule(id="fixed", at=START + timedelta(hours=2))
    scheduler.advance(timedelta(hours=3))
    assert [delivery.id for delivery in scheduler.deliveries()] == [
        *("often", "early", "often", "fixed", "often", "late")
    ]
    assert [delivery.delivered_at for delivery in scheduler.deliveries()] == [
        delivery.due for delivery in scheduler.deliveries()
    ]


def test_what_is_due_exactly_at_the_end_happens(scheduler):
    scheduler.schedule(every="10m")
    scheduler.advance_to("2026-01-05T00:30:00Z")
    assert times(scheduler) == minutes(10, 20, 30)


def test_timeouts_and_retries_happen_on_the_way(scheduler):
    scheduler.schedule(id="job", in_="1m", timeout="5m", retry={"delays": ["1m", "2m"]})
    scheduler.advance("1h")
    assert times(scheduler) == minutes(1, 1 + 5 + 1, 7 + 5 + 2)
    scheduler.assert_status("job", "FATAL_FAILURE")


def test_a_run_that_waits_too_long_expires_on_time():
    with Scheduler(tenants={"default": Tenant(limits=TenantLimits(in_flight=1))}) as scheduler:
        scheduler.schedule(id="busy", in_="1m", timeout="1h")
        scheduler.schedule(id="job", in_="1m", expires_in="2m", track=True)
        scheduler.advance("2m59s999ms")
        scheduler.assert_status("job", "NOT_STARTED")
        scheduler.advance("1ms")
        scheduler.assert_status("job", "EXPIRED")


def test_paused_occurrences_are_caught_up_as_the_event_says(scheduler):
    scheduler.schedule(id="tick", every="10m", catch_up="all")
    scheduler.pause("tick", reason="holidays")
    scheduler.advance("35m")
    scheduler.assert_nothing_delivered()
    scheduler.resume("tick")
    assert [delivery.due - START for delivery in scheduler.deliveries()] == minutes(10, 20, 30)
    assert times(scheduler) == minutes(35, 35, 35)
    assert any("holidays" in line for line in scheduler.explain("tick"))


def test_trigger_runs_at_once(scheduler):
    scheduler.schedule(id="yearly", cron="@yearly")
    assert scheduler.trigger("yearly").outcome == "TRIGGERED"
    assert times(scheduler) == minutes(0)


def test_many_at_one_instant_are_all_delivered(scheduler):
    noon = "2026-01-05T12:00:00Z"

    @scheduler.on("seed")
    def sow(seed):
        return Report(then=[{"id": f"{seed.id}-{n:02}", "at": noon, "topics": ["one", "two"]} for n in range(100)])

    for number in range(25):  # 2,500 events: more than one step fires
        scheduler.schedule(id=f"seed-{number:02}", type="seed", in_="1s", track=True)
    scheduler.advance_to(noon)
    for topic in ("one", "two"):
        ids = [delivery.id for delivery in scheduler.deliveries(topic=topic, at=noon)]
        assert (len(ids), ids) == (2_500, sorted(ids))


def test_a_year_passes(scheduler):
    scheduler.schedule(id="weekly", cron="0 9 * * mon", timezone="Europe/Berlin")
    scheduler.advance("365d")
    hours = {delivery.delivered_at.hour for delivery in scheduler.deliveries()}
    assert (len(scheduler.deliveries()), hours) == (53, {7, 8})


def test_time_does_not_go_back(scheduler):
    scheduler.advance("1h")
    with pytest.raises(ValueError, match=r"does not go back to 2026-01-05T00:00:00.000Z: it is 2026-01-05T01:00"):
        scheduler.advance_to(START)
    with pytest.raises(ValueError, match="does not go back"):
        scheduler.advance(timedelta(seconds=-1))
    with pytest.raises(TimingError, match="no unit"):
        scheduler.advance("5")
    with pytest.raises(ValueError, match="no timezone"):
        scheduler.advance_to(datetime(2026, 2, 1))  # noqa: DTZ001 -- that is the point
