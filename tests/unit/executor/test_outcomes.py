"""Does a report say what came of it?"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
import pydantic
import pytest

from lightsched import Executor, Fatal, Retry, Seen, Then, once
from lightsched.event.limits import DEFAULT_LIMITS
from lightsched.event.report import decode_report
from lightsched.executor.outcomes import Reporting
from lightsched.timing import TimingError
from tests.unit.executor.make import taken

REPORTING = Reporting("me")
DELIVERY = taken("k", timeout_ms=1_000, ls_report="secret")


@dataclass
class Data:
    when: datetime


class Model(pydantic.BaseModel):
    a: int


def said(body):
    decode_report(body, DEFAULT_LIMITS)
    report = msgspec.json.decode(body)
    assert (report.pop("delivery"), report.pop("token"), report.pop("executor")) == (DELIVERY.name, "secret", "me")
    return report


@pytest.mark.parametrize(
    ("returned", "result"),
    [
        (None, {}),
        (0, {"result": 0}),
        (Data(datetime(2026, 1, 1, tzinfo=UTC)), {"result": {"when": "2026-01-01T00:00:00Z"}}),
        (Model(a=1), {"result": {"a": 1}}),
        ([Model(a=1)], {"result": [{"a": 1}]}),
        ("x" * 70_000, {"result": {"truncated": True, "bytes": 70_002}}),
        (Then(result=1), {"result": 1}),
        (
            Then({"type": "next", "in_": timedelta(minutes=5), "payload": b"\xff"}),
            {"then": [{"type": "next", "in": "300000ms", "payload_base64": "/w=="}]},
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_success(returned, result):
    assert said(REPORTING.success(DELIVERY, returned)) == {"status": "SUCCESS", **result}


@pytest.mark.parametrize(
    "returned",
    [
        *(object(), {1, object()}, Then({"payload": object()}), Then("no event")),
        Then(*[{"in_": "1m"}] * 101),
        Then(*[{"in_": "1m", "payload": "x" * 180_000}] * 6),
    ],
    ids=range(6),
)
def test_what_cannot_be_said_is_fatal_because_it_was_done(returned):
    report = said(REPORTING.success(DELIVERY, returned))
    assert report["status"] == "FATAL_FAILURE"
    assert "it is done" in report["error"]


@pytest.mark.parametrize(
    ("error", "report"),
    [
        (Retry(), {"status": "RETRIABLE_FAILURE", "error": "it wants to be tried again"}),
        (Retry("busy", in_="5m"), {"status": "RETRIABLE_FAILURE", "error": "busy", "retry_in": "5m"}),
        (Retry(in_=timedelta(seconds=1)), {"status": "RETRIABLE_FAILURE", "retry_in": "1000ms"}),
        (Fatal("no"), {"status": "FATAL_FAILURE", "error": "no"}),
        (KeyError("a"), {"status": "RETRIABLE_FAILURE", "error": "KeyError: 'a'"}),
        (TimeoutError(), {"status": "RETRIABLE_FAILURE", "error": "TimeoutError"}),
        (ValueError("x" * 9_000), {"status": "RETRIABLE_FAILURE", "error": "ValueError: " + "x" * 1_988}),
    ],
    ids=str,
)
def test_a_failure(error, report):
    assert said(REPORTING.failure(DELIVERY, error)).items() >= report.items()


def test_a_delay_that_makes_no_sense_is_said_where_it_stands():
    with pytest.raises(TimingError):
        Retry(in_="soon")


async def test_once_calls_a_function_once_unless_it_failed():
    calls = []
    around = once(Seen(most=2))

    class Context:
        delivery = "a"

    async def fails():
        calls.append("failed")
        raise Retry

    async def works():
        calls.append("worked")
        return 1

    with pytest.raises(Retry):
        await around(Context, fails)
    assert await around(Context, works) == 1
    assert await around(Context, works) is None
    assert calls == ["failed", "worked"]


async def test_once_by_run_calls_a_function_for_one_attempt_only():
    calls = []
    executor = Executor()
    executor.middleware(once(Seen(), by="run"))
    executor.on("*")(lambda payload, context: calls.append(context.attempt))
    for attempt in (1, 1, 2):
        await executor.call_for(taken("k", attempt=attempt))()
    await executor.call_for(taken("k", offset=1))()
    assert calls == [1, 1]


async def test_seen_forgets_the_oldest():
    seen = Seen(most=2)
    assert [await seen.before(each) for each in "aabca"] == [False, True, False, False, False]
