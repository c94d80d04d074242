"""How is an event cancelled, paused, resumed, triggered? By name; the answer is the outcome."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from lightsched.api.body import read_body
from lightsched.api.documents import WHY_BODY, described, refusals
from lightsched.api.face import Face, Running
from lightsched.api.once import once_of
from lightsched.api.outcomes import outcome_response
from lightsched.api.parameters import BASE, EventId, IdempotencyKey, IfMatch, Which, revision_of
from lightsched.api.prepare import record_of
from lightsched.api.shapes import Result, Why
from lightsched.api.target import not_found, target_of
from lightsched.event.check import check
from lightsched.event.model import Event, Op
from lightsched.event.status import Outcome
from lightsched.event.words import refused

router = APIRouter(prefix=BASE + "/events/{id}", tags=["events"])

_MOST_BYTES = 16 * 1024
_why = msgspec.json.Decoder(Why)
_RESPONSES = {
    **described(200, "Done, as the outcome says", Result),
    **described(202, "Durable, and carried out when its partition has an owner again", Result),
    **refusals(400, 403, 404, 409, 503),
}


class WhichAndWhy(Which):
    """Which event, and why."""

    reason: Annotated[str, Field(max_length=1000, description="Why, for the audit and for `explain`")] = ""


class Conditions:
    """On what a command depends: that nothing has changed since, and that it was not carried out before."""

    def __init__(self, if_match: IfMatch = None, idempotency_key: IdempotencyKey = None) -> None:
        self.revision = revision_of(if_match)
        self.key = (idempotency_key or "").encode("latin-1")


@router.delete("", operation_id="cancel", summary="Cancel an event", responses=_RESPONSES | refusals(412))
async def cancel(
    id: EventId, face: Running, which: Annotated[WhichAndWhy, Query()], if_match: IfMatch = None
) -> Response:
    """It fires no more. A one-shot that is out at an executor, or is over: 409 with the outcome `TOO_LATE`."""
    return await _command(face, Op.CANCEL, id, which, which.reason, given=Conditions(if_match))


@router.post(
    "/pause",
    operation_id="pause",
    summary="Pause an event",
    responses=_RESPONSES | refusals(412, 413, 422),
    openapi_extra={"requestBody": WHY_BODY},
)
async def pause(
    id: EventId,
    face: Running,
    which: Annotated[Which, Query()],
    request: Request,
    given: Annotated[Conditions, Depends()],
) -> Response:
    """Nothing is delivered until it is resumed; what is out goes on."""
    return await _command(face, Op.PAUSE, id, which, await _reason(request), given=given)


@router.post(
    "/resume",
    operation_id="resume",
    summary="Resume an event",
    responses=_RESPONSES | refusals(412, 413, 422),
    openapi_extra={"requestBody": WHY_BODY},
)
async def resume(
    id: EventId,
    face: Running,
    which: Annotated[Which, Query()],
    request: Request,
    given: Annotated[Conditions, Depends()],
) -> Response:
    """It goes on; `catch_up` says what becomes of the occurrences that were missed."""
    return await _command(face, Op.RESUME, id, which, await _reason(request), given=given)


@router.post(
    "/trigger",
    operation_id="trigger",
    summary="Run an event now",
    responses=_RESPONSES | refusals(412, 413, 422, 429),
    openapi_extra={"requestBody": WHY_BODY},
)
async def trigger(
    id: EventId,
    face: Running,
    which: Annotated[Which, Query()],
    request: Request,
    given: Annotated[Conditions, Depends()],
) -> Response:
    """A recurrence runs once more and its schedule stays; a one-shot runs now instead of later."""
    return await _command(face, Op.TRIGGER, id, which, await _reason(request), given=given)


async def _reason(request: Request) -> str:
    body = await read_body(request, _MOST_BYTES)
    if not body.strip():
        return ""
    try:
        body.decode()
        return _why.decode(body).reason
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refused(error, ("reason",), {}) from None


async def _command(face: Face, op: Op, id: str, which: Which, reason: str, *, given: Conditions) -> Response:
    target = await target_of(face, id, which.tenant, which.key)
    event = Event(op=op, id=target.id, key=target.key, tenant=target.tenant, reason=reason, if_revision=given.revision)
    check(event, face.limits, face.now_ms)
    once = once_of(given.key, f"{op} {reason}".encode())
    result = await face.commands.submit(face.home(event), record_of(event, once))
    if result.outcome is Outcome.NOT_FOUND:
        raise not_found(target)
    return outcome_response(target.id, target.tenant, result)
