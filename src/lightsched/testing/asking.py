"""What does a test ask for, and what is it told? Commands and reports as records, and answers to them.

A test wants to hear of a refusal at once, so it is an exception: a test that expects one says so with `pytest.raises`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict

import msgspec

from lightsched.engine.reports import IGNORED
from lightsched.engine.step import Answer
from lightsched.errors import LightschedError
from lightsched.event.identity import Identity, parts
from lightsched.event.model import Op
from lightsched.event.record import Record
from lightsched.event.report import ReportStatus
from lightsched.event.status import Outcome, Status
from lightsched.executor.outcomes import Fatal, Retry, Then
from lightsched.testing.seen import Delivery
from lightsched.testing.times import Duration, Instant, maybe_time_of

_REFUSALS = {Outcome.REJECTED, Outcome.TOO_LATE, Outcome.NOT_FOUND, Outcome.INVALID, Outcome.QUOTA}


class CommandRefused(LightschedError):
    """{outcome}{why}."""


class ReportIgnored(LightschedError):
    """The report on {delivery} changed nothing: {why}."""


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a command."""

    id: str
    outcome: Outcome
    status: Status | None
    next_execution: datetime | None
    key: str
    tenant: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an executor says, where its return value or exception would not say enough."""

    status: ReportStatus | str = ReportStatus.SUCCESS
    result: Any = None
    error: str = ""
    retry_in: Duration | None = None
    then: Sequence[Mapping[str, Any]] = ()
    executor: str = ""


class EventFields(TypedDict, total=False):
    """The fields of an event, as keywords: `lightsched.event.model.Event` says more about them."""

    id: str
    tenant: str
    key: str
    type: str
    at: Instant
    in_: Duration
    cron: str
    every: Duration
    timezone: str
    starts_at: Instant
    ends_at: Instant
    max_runs: int
    jitter: Duration
    window: Mapping[str, Any]
    catch_up: Literal["latest", "all", "none"]
    look_back: Duration
    overlap: Literal["allow", "skip", "queue"]
    retry: Mapping[str, Any]
    timeout: Duration
    until: Literal["success"]
    expires_in: Duration
    topics: Sequence[str]
    priority: int
    headers: Mapping[str, str]
    labels: Mapping[str, str]
    payload: Any
    payload_base64: str
    on_conflict: Literal["replace", "keep", "reject"]
    track: bool
    reason: str
    if_revision: int


class ReportFields(TypedDict, total=False):
    """What a report may say besides its status."""

    result: Any
    error: str
    retry_in: Duration
    then: Sequence[Mapping[str, Any]]
    executor: str


def scheduling(event: Mapping[str, Any]) -> Record:
    """An event, with `in` or with `in_`, which is how Python can spell it."""
    sent = dict(event)
    if "in_" in sent:
        sent["in"] = sent.pop("in_")
    return Record(None, msgspec.json.encode(sent))


def commanding(op: Op, name: Identity, reason: str) -> Record:
    """A command about an event."""
    tenant, key, id_ = parts(name)
    return Record(None, msgspec.json.encode({"op": op, "tenant": tenant, "key": key, "id": id_, "reason": reason}))


def reporting(delivery: Delivery, report: Report) -> Record:
    """A report on a delivery."""
    said = {
        "delivery": delivery.delivery,
        "token": delivery.token,
        "status": report.status,
        "executor": report.executor,
        "error": report.error,
        "retry_in": report.retry_in,
        "then": [msgspec.Raw(scheduling(each).value or b"") for each in report.then],
    }
    if report.result is not None:
        said["result"] = report.result
    return Record(delivery.key.encode(), msgspec.json.encode(said))


def done(answer: Answer) -> Done:
    """What a command came to. Raises `CommandRefused`."""
    assert answer.outcome is not None, "a command has an outcome"
    if answer.outcome in _REFUSALS or answer.identity is None:
        raise CommandRefused(outcome=answer.outcome.value, why=_why(answer))
    tenant, key, id_ = parts(answer.identity)
    return Done(id_, answer.outcome, answer.status, maybe_time_of(answer.next_ms), key, tenant)


def heard(answer: Answer, delivery: Delivery) -> None:
    """Raises if a test's report came to nothing."""
    heard_of(answer, None)
    if answer.ignored:
        raise ReportIgnored(delivery=delivery.delivery, why=IGNORED.get(answer.ignored, answer.ignored))


def heard_of(answer: Answer, raised: Exception | None) -> None:
    """Raises if an executor said what makes no sense, or raised what came to nothing: somebody must hear of it."""
    if answer.outcome is Outcome.INVALID:
        raise CommandRefused(outcome=answer.outcome.value, why=_why(answer))
    if answer.ignored and raised is not None:
        raise raised


def _why(answer: Answer) -> str:
    about = "" if answer.identity is None else f" {parts(answer.identity)[2]!r}"
    return about + (f": {answer.error}" if answer.error else "")


def as_report(returned: object) -> Report:
    """What an executor's return value says: a success with this result, unless it is a report itself."""
    if isinstance(returned, Then):
        return Report(result=returned.result, then=returned.events)
    return returned if isinstance(returned, Report) else Report(result=returned)


def as_failure(error: Exception) -> Report:
    """What an executor's exception says: it failed, and may be tried again, unless it is `Fatal`."""
    if isinstance(error, Fatal):
        return Report(status=ReportStatus.FATAL_FAILURE, error=str(error))
    if isinstance(error, Retry):
        return Report(status=ReportStatus.RETRIABLE_FAILURE, error=str(error), retry_in=error.in_)
    return Report(status=ReportStatus.RETRIABLE_FAILURE, error=f"{type(error).__name__}: {error}")
