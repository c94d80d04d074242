"""Do executors of a test get what is delivered, and does what they say count?"""

from datetime import timedelta

import pytest

from lightsched.testing import CommandRefused, Report, ReportIgnored


def test_the_return_value_is_the_result(scheduler):
    @scheduler.on("add")
    def add(delivery):
        return sum(delivery.payload)

    scheduler.schedule(id="sum", type="add", in_="1m", payload=[1, 2, 3], track=True)
    scheduler.schedule(id="other", type="subtract", in_="1m", track=True)
    scheduler.advance("1m")
    (run,) = scheduler.runs("sum")
    assert (run.status, run.result, run.finished_at) == ("SUCCESS", 6, scheduler.now)
    scheduler.assert_status("other", "NOT_STARTED")
    assert add.__name__ == "add"


def test_a_report_says_anything(scheduler):
    reports = iter(
        [
            Report(status="RETRIABLE_FAILURE", retry_in="7m", error="busy"),
            Report(
                result={"ok": True}, executor="test-1", then=[{"id": "next", "in": "1m"}, {"id": "odd", "in_": "2m"}]
            ),
        ]
    )
    scheduler.on("job")(lambda _: next(reports))
    scheduler.schedule(id="job", type="job", in_="1m", retry={"attempts": 3, "delay": "1h"})
    scheduler.advance("1h")
    assert [delivery.delivered_at.minute for delivery in scheduler.deliveries()] == [1, 8, 9, 10]
    (run,) = scheduler.runs("job")
    assert (run.attempts[0].error, run.attempts[1].executor, run.result) == ("busy", "test-1", {"ok": True})


def test_an_executor_may_use_the_scheduler(scheduler):
    @scheduler.on("step")
    def step(delivery):
        if left := delivery.payload:
            scheduler.schedule(id=f"step-{left}", type="step", at=scheduler.now, payload=left - 1)
        return scheduler.get(delivery.id).status

    scheduler.schedule(id="first", type="step", in_="1m", payload=200)  # deeper than Python would call
    scheduler.advance("1m")
    scheduler.assert_delivered(type="step", times=201)


def test_an_executor_that_takes_longer_than_its_timeout_is_late(scheduler):
    slow = iter([True, False])

    @scheduler.on("slow")
    def work(delivery):
        if next(slow):
            scheduler.advance("10m")
        return delivery.attempt

    scheduler.schedule(id="job", type="slow", in_="1m", timeout="5m", retry={"delays": ["1m"]})
    scheduler.advance("30m")
    scheduler.assert_delivered(times=2)
    (run,) = scheduler.runs("job")
    assert (run.status, run.result) == ("SUCCESS", 2)


def test_a_delivery_on_two_topics_is_executed_once(scheduler):
    seen = []
    scheduler.on("event")(seen.append)
    scheduler.schedule(in_="1m", topics=["one", "two"], track=True)
    scheduler.advance("1m")
    assert (len(seen), len(scheduler.deliveries())) == (1, 2)


def test_an_assertion_in_an_executor_fails_the_test(scheduler):
    @scheduler.on("event")
    def check(delivery):
        assert delivery.payload == "something else"

    scheduler.schedule(in_="1m", payload="this", retry={"attempts": 5, "delay": "1m"})
    with pytest.raises(AssertionError, match="something else"):
        scheduler.advance("1m")


def test_an_exception_that_no_run_waits_for_fails_the_test(scheduler):
    @scheduler.on("event")
    def fail(delivery):
        raise ConnectionError("nobody would hear of it")

    scheduler.schedule(in_="1m")  # not tracked: over when it is delivered
    with pytest.raises(ConnectionError):
        scheduler.advance("1m")


def test_a_report_that_makes_no_sense_fails_the_test(scheduler):
    scheduler.on("event")(lambda _: Report(status="FINE"))
    scheduler.schedule(in_="1m", track=True)
    with pytest.raises(CommandRefused, match="FINE"):
        scheduler.advance("1m")


def test_an_async_executor_works_in_any_test(scheduler):
    @scheduler.on("event")
    async def work(delivery):
        return "done"

    scheduler.schedule(id="job", in_="1m", track=True)
    scheduler.advance("1m")
    assert scheduler.runs("job")[0].result == "done"


def test_a_report_that_changes_nothing_is_an_error(scheduler):
    scheduler.schedule(id="job", in_="1m", track=True)
    scheduler.advance("1m")
    (delivery,) = scheduler.deliveries()
    scheduler.report(delivery, "SUCCESS", result=1)
    with pytest.raises(ReportIgnored, match="the run is over"):
        scheduler.report(delivery, "FATAL_FAILURE")
    with pytest.raises(CommandRefused, match="INVALID"):
        scheduler.report(delivery, "NO_SUCH_STATUS")


def test_an_executor_may_report_by_itself(scheduler):
    @scheduler.on("event")
    def work(delivery):
        scheduler.report(delivery, "FATAL_FAILURE", error="broken")

    scheduler.schedule(id="job", in_="1m", track=True)
    scheduler.advance("1m")
    scheduler.assert_status("job", "FATAL_FAILURE")


async def test_the_async_flavour_does_the_same(async_scheduler):
    scheduler, tried = async_scheduler, []

    @scheduler.on("flaky")
    async def flaky(delivery):
        tried.append(delivery.attempt)
        await scheduler.schedule(id=f"audit-{delivery.attempt}", in_="1s")
        if delivery.attempt == 1:
            raise TimeoutError
        return "fine"

    scheduler.on("plain")(lambda delivery: delivery.id)
    await scheduler.schedule({"id": "job", "in": "1m"}, type="flaky", retry={"delays": ["1m"]})
    await scheduler.schedule(id="plain", type="plain", in_="1m", track=True)
    await scheduler.advance("1h")
    assert tried == [1, 2]
    assert (scheduler.runs("job")[0].result, scheduler.runs("plain")[0].result) == ("fine", "plain")
    scheduler.assert_delivered(id="audit-2", at=scheduler.now - timedelta(hours=1) + timedelta(minutes=2, seconds=1))

    await scheduler.schedule(id="tick", every="1m")
    await scheduler.pause("tick")
    await scheduler.resume("tick")
    await scheduler.trigger("tick")
    await scheduler.cancel("tick")
    scheduler.assert_status("tick", "CANCELLED")
    await scheduler.schedule(id="mine", in_="1m", track=True)
    await scheduler.advance_to(scheduler.now + timedelta(minutes=1))
    await scheduler.report(scheduler.deliveries(id="mine")[0], "SUCCESS")
    scheduler.assert_status("mine", "SUCCESS")
