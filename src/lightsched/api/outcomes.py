"""How is an outcome answered? The outcomes of a command, as answers to a request."""

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from msgspec import UNSET
from starlette.responses import Response

from lightsched.api.elsewhere import root_path
from lightsched.api.lengthy import lengthy_answer
from lightsched.api.parameters import BASE
from lightsched.api.problem import CHANGED, CONFLICT, INVALID, KEY_REUSED, NOT_FOUND, QUOTA, Kind, Refusal
from lightsched.api.shapes import Result, Taken, answer
from lightsched.api.shown import shown_time
from lightsched.api.turns import Turns
from lightsched.engine.conditions import NAME, REVISION
from lightsched.engine.step import Answer
from lightsched.event.status import Outcome

SUCCESSES = {
    Outcome.SCHEDULED: 201,
    Outcome.REPLACED: 201,
    Outcome.UNCHANGED: 200,
    Outcome.CANCELLED: 200,
    Outcome.PAUSED: 200,
    Outcome.RESUMED: 200,
    Outcome.TRIGGERED: 200,
    Outcome.FORWARDED: 202,  # durable; its partition is on its way to another node, which will carry it out
}
REFUSALS: dict[Outcome, tuple[Kind, str]] = {
    Outcome.REJECTED: (CONFLICT, "The event was not accepted"),
    Outcome.TOO_LATE: (CONFLICT, "It is too late for that"),
    Outcome.NOT_FOUND: (NOT_FOUND, "There is no such event: it was never scheduled here, or its history is gone"),
    Outcome.QUOTA: (QUOTA, "That is more than is allowed"),
    Outcome.INVALID: (INVALID, "The event does not make sense"),
}
"""What the engine says about it is added."""
UNMET: dict[str, tuple[Kind, str]] = {
    REVISION: (CHANGED, "It has changed meanwhile"),
    NAME: (KEY_REUSED, "This Idempotency-Key stands for another request"),
}
"""Conditions that were not met, as answers to a request."""


def refuse_outcome(result: Answer) -> Outcome:
    """The outcome; what was not done is refused."""
    outcome = result.outcome
    assert outcome is not None, "a command has an outcome"
    if outcome not in SUCCESSES:
        kind, words = UNMET.get(result.unmet) or REFUSALS[outcome]
        detail = f"{words}: {result.error}." if result.error else f"{words}."
        raise Refusal(kind, detail, outcome=outcome)
    return outcome


def outcome_response(
    id: str, tenant: str, result: Answer, *, status: int | None = None, headers: dict[str, str] | None = None
) -> Response:
    """The answer to one command; `status` and `headers` if it is done."""
    outcome = refuse_outcome(result)
    usual = SUCCESSES[outcome]
    shown = Result(
        id=id, tenant=tenant, outcome=outcome, status=result.status, next_execution=shown_time(result.next_ms)
    )
    if usual == 202:
        return answer(shown, 202, {"Location": address(id, tenant)})
    return answer(shown, status or usual, headers)


def address(id: str, tenant: str) -> str:
    """Where to look at an event."""
    query = "" if tenant == "default" else f"?{urlencode({'tenant': tenant})}"
    return f"{root_path()}{BASE}/events/{quote(id, safe='')}{query}"


def result_of(index: int, id: str, tenant: str, result: Answer) -> Result:
    """The answer to one of many commands."""
    outcome = result.outcome
    assert outcome is not None, "a command has an outcome"
    shown = Result(
        id=id, tenant=tenant, outcome=outcome, status=result.status, next_execution=shown_time(result.next_ms)
    )
    if outcome not in SUCCESSES:
        shown.index, shown.error = index, result.error or REFUSALS[outcome][1]
    return shown


async def results_response(results: Sequence[Result | Taken], turns: Turns) -> Response:
    """The answer to many commands."""
    good = all(result.index is UNSET for result in results)
    forwarded = sum(result.outcome is Outcome.FORWARDED for result in results)
    status = 207 if not good or 0 < forwarded < len(results) else 202 if forwarded else 201
    return await lengthy_answer(turns, "results", results, status)
