"""What is said about a delivery? A report as the contract has it: JSON, for the topic of reports."""

import json
from collections.abc import Mapping
from typing import Any

from lightsched_faust.delivery import Delivery

LONGEST_ERROR = 2_000
REPLY_TO = "reply-to"


class Retry(Exception):
    """This attempt failed; another may do: after the event's own delay, or `in_` (as in `5m`) if that is given."""

    def __init__(self, why: str = "", *, in_: str | None = None) -> None:
        super().__init__(why)
        self.in_ = in_


class Fatal(Exception):
    """It failed, and trying again would not help."""


class Then:
    """A success with events that follow from it, scheduled in the same moment as it counts."""

    def __init__(self, *events: Mapping[str, Any], result: Any = None) -> None:
        self.events = events
        self.result = result


def heartbeat(delivery: Delivery, executor: str) -> bytes:
    """It is being worked on."""
    return _report(delivery, executor, "PROCESSING")


def success(delivery: Delivery, executor: str, returned: Any) -> bytes:
    """What a function returned."""
    then = returned if isinstance(returned, Then) else Then(result=returned)
    events = [*then.events, *_replies(delivery, "SUCCESS", {"result": then.result})]
    more = {"result": then.result} if then.result is not None else {}
    return _report(delivery, executor, "SUCCESS", **more, **({"then": events} if events else {}))


def failure(delivery: Delivery, executor: str, error: Exception) -> bytes:
    """What a function raised."""
    known = isinstance(error, Retry | Fatal)
    why = (str(error) if known else f"{type(error).__name__}: {error}") or "it failed"
    more: dict[str, Any] = {"error": why[:LONGEST_ERROR]}
    if isinstance(error, Retry) and error.in_ is not None:
        more["retry_in"] = error.in_
    status = "FATAL_FAILURE" if isinstance(error, Fatal) else "RETRIABLE_FAILURE"
    if events := _replies(delivery, status, {"error": why}):
        more["then"] = events
    return _report(delivery, executor, status, **more)


def _report(delivery: Delivery, executor: str, status: str, **more: Any) -> bytes:
    said = {"delivery": delivery.name, "token": delivery.text("ls_report"), "status": status, "executor": executor}
    return json.dumps({**said, **more}).encode()


def _replies(delivery: Delivery, status: str, outcome: dict[str, Any]) -> list[dict[str, Any]]:
    """The event in return, if the header `reply-to` asks for one and this is the end of the run."""
    try:
        wanted = json.loads(delivery.headers.get(REPLY_TO, b"{}"))
        event, attempts = wanted["event"], int(wanted.get("attempts", 1))
    except (ValueError, KeyError, TypeError):
        return []
    if status == "RETRIABLE_FAILURE" and delivery.attempt < attempts:
        return []
    status = "SUCCESS" if status == "SUCCESS" else "FATAL_FAILURE"
    payload = {"status": status, "delivery": delivery.name, **outcome}
    return [{"in": "1ms", "on_conflict": "keep", **event, "payload": payload}]
