"""What came of it? What a function returns or raises, as a report."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from lightsched.client.fields import Duration, EventFields, as_json, plain
from lightsched.event.limits import DEFAULT_LIMITS
from lightsched.event.report import Report, ReportStatus
from lightsched.executor.replies import REPLY_TO, replies
from lightsched.executor.taken import Taken
from lightsched.timing import parse_delay

_SUCCESS = ReportStatus.SUCCESS
_MOST_RESULT = DEFAULT_LIMITS.result
_MOST_ERROR = DEFAULT_LIMITS.error
_MOST_THEN = DEFAULT_LIMITS.then
_MOST_BYTES = 900_000  # of a report: a record that every broker takes, if it was set up as most are


class Retry(Exception):
    """This attempt failed; another may do: after the event's own delay, or `in_` if that is given."""

    def __init__(self, why: str = "", *, in_: Duration | None = None) -> None:
        super().__init__(why)
        self.in_ = None if in_ is None else str(plain(in_))
        if self.in_ is not None:
            parse_delay(self.in_)  # what makes no sense is said where it stands


class Fatal(Exception):
    """It failed, and trying again would not help."""


class Then:
    """A success with follow-up events, scheduled in the same moment as it counts: `return Then(event, …, result=…)`.

    The events are given by their fields, as in `Client.schedule`: `{"type": "mail.sent", "in_": "5m"}`.
    """

    __slots__ = ("events", "result")

    def __init__(self, *events: EventFields | Mapping[str, Any], result: Any = None) -> None:
        self.events = events
        self.result = result


class Reporting:
    """Makes the reports of one executor."""

    def __init__(self, executor: str) -> None:
        self._executor = executor
        self._encode = msgspec.json.Encoder(enc_hook=_as_plain).encode

    def success(self, taken: Taken, returned: Any) -> bytes:
        """What a function returned."""
        try:
            if returned is None:
                return self._said(taken, _SUCCESS)
            if isinstance(returned, Then):
                then = tuple(Raw(self._encode(as_json(event))) for event in returned.events)
                return self._said(taken, _SUCCESS, result=self._result(returned.result), then=then)
            return self._said(taken, _SUCCESS, result=self._result(returned))
        except (TypeError, ValueError, AttributeError, msgspec.MsgspecError, RecursionError) as error:
            why = f"it is done, but what it returned cannot be reported as JSON: {error}"
            return self._said(taken, ReportStatus.FATAL_FAILURE, error=why)

    def failure(self, taken: Taken, error: BaseException) -> bytes:
        """What a function raised."""
        if isinstance(error, Fatal):
            return self._said(taken, ReportStatus.FATAL_FAILURE, error=_said_by(error) or "it gave up")
        if isinstance(error, Retry):
            status, why = ReportStatus.RETRIABLE_FAILURE, _said_by(error) or "it wants to be tried again"
            return self._said(taken, status, error=why, retry_in=error.in_)
        return self._said(taken, ReportStatus.RETRIABLE_FAILURE, error=text_of(error))

    def heartbeat(self, taken: Taken) -> bytes:
        """It runs, or waits for its turn."""
        return self._said(taken, ReportStatus.PROCESSING if taken.running else ReportStatus.CLAIMED)

    def stopped(self, taken: Taken) -> bytes:
        """It was under way for long, and the executor could wait no longer."""
        return self._said(taken, ReportStatus.RETRIABLE_FAILURE, error="the executor was stopped before it was done")

    def _result(self, result: Any) -> Raw | msgspec.UnsetType:
        if result is None:
            return msgspec.UNSET
        encoded = self._encode(result)
        if len(encoded) > _MOST_RESULT:
            encoded = self._encode({"truncated": True, "bytes": len(encoded)})
        return Raw(encoded)

    def _said(self, taken: Taken, status: ReportStatus, error: str = "", **more: Any) -> bytes:
        if REPLY_TO in taken.headers:
            more["then"] = (*more.get("then", ()), *replies(taken, status, more.get("result", msgspec.UNSET), error))
        if len(more.get("then", ())) > _MOST_THEN:
            raise ValueError(f"it has {len(more['then'])} follow-ups, and at most {_MOST_THEN} are taken")
        report = self._encode(
            Report(
                delivery=taken.name,
                token=taken.token,
                status=status,
                executor=self._executor,
                error=error[:_MOST_ERROR],
                **more,
            )
        )
        if len(report) > _MOST_BYTES and more.get("then"):
            raise ValueError(f"its report has {len(report)} bytes, and at most {_MOST_BYTES} are taken")
        return report


def text_of(error: BaseException) -> str:
    """An unexpected exception, in one line."""
    said = _said_by(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _said_by(error: BaseException) -> str:
    """The text of an exception, whatever that does: nothing that a function raises may go unreported."""
    try:
        return str(error).encode(errors="backslashreplace").decode()  # names of files may be no proper text
    except Exception as failure:  # noqa: BLE001 - of its own making
        return f"(its text cannot be had: {type(failure).__name__})"


def duration_s(duration: Duration) -> float:
    """In seconds. `0s` is none."""
    return parse_delay(str(plain(duration))) / 1000


def _as_plain(value: Any) -> Any:
    """What msgspec does not know: a pydantic model."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} is nothing that JSON can say")
