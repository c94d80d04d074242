"""How do commands get in? `POST /events`: one, an array, or one a line; each is answered with its outcome.

    raw → decode → name it → check → record → home partition → node → outcome

What is wrong with one of many does not concern the others. Large bodies are taken in slices (`turns`), and what was
read is handed to the node while the rest is still being read.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from msgspec import UNSET, Raw

from lightsched.api.body import elements, header, is_array, is_ndjson, lines, read_body
from lightsched.api.direct import Direct
from lightsched.api.documents import EVENT_BODY, PREFER, TENANT, described, refusals
from lightsched.api.face import Face, running_now
from lightsched.api.parameters import BASE
from lightsched.api.problem import CONFLICT, INVALID, NOT_FOUND, QUOTA, TOO_LARGE, Kind, Refusal, invalid_field
from lightsched.api.shapes import AllTaken, Result, Results, Taken, answer
from lightsched.api.shown import shown_time
from lightsched.api.turns import Turns
from lightsched.engine.step import Answer
from lightsched.event.check import TENANT as TENANT_PATTERN
from lightsched.event.check import check
from lightsched.event.command import WHO, decode
from lightsched.event.errors import InvalidEvent, invalid
from lightsched.event.model import Event, Op, encoder
from lightsched.event.record import Record
from lightsched.event.status import Outcome

router = APIRouter(prefix=BASE, route_class=Direct, tags=["events"])

AT_ONCE = 250
"""Commands handed to the node together: few enough to append within a slice."""

REST: tuple[tuple[str, bytes], ...] = ((WHO, b"rest"),)
"""Who asked, on the audit."""

SUCCESSES = {
    Outcome.SCHEDULED: 201,
    Outcome.REPLACED: 201,
    Outcome.UNCHANGED: 200,
    Outcome.CANCELLED: 200,
    Outcome.PAUSED: 200,
    Outcome.RESUMED: 200,
    Outcome.TRIGGERED: 200,
}
REFUSALS: dict[Outcome, tuple[Kind, str]] = {
    Outcome.REJECTED: (CONFLICT, "The event was not accepted"),
    Outcome.TOO_LATE: (CONFLICT, "It is too late for that"),
    Outcome.NOT_FOUND: (NOT_FOUND, "There is no such event: it was never scheduled here, or its history is gone"),
    Outcome.QUOTA: (QUOTA, "That is more than is allowed"),
    Outcome.INVALID: (INVALID, "The event does not make sense"),
}
"""The outcomes of a command, as answers to a request; what the engine says about it is added."""


class Prepared(NamedTuple):
    """A command that is checked and ready to be appended."""

    id: str
    tenant: str
    partition: int
    record: Record


def prepare(face: Face, raw: bytes, tenant: str, now_ms: int) -> Prepared:
    """From what was sent to a record. Raises `InvalidEvent`."""
    event = decode(raw, face.limits)
    as_sent = True
    if not event.id and event.op is Op.SCHEDULE:
        event.id = face.ids.next(now_ms)
        as_sent = False
    if tenant and event.tenant != tenant:
        if event.tenant != "default":
            raise invalid("tenant", f"is `{event.tenant[:80]}`, but the request is for `{tenant}`: send one of them")
        event.tenant = tenant
        as_sent = False
    event.key = event.key or event.id
    check(event, face.limits, now_ms)
    value = raw if as_sent else encoder.encode(event)
    return Prepared(event.id, event.tenant, face.home(event), Record(event.key.encode(), value, REST))


@router.post(
    "/events",
    operation_id="schedule",
    summary="Schedule an event, or many",
    status_code=201,
    responses={
        **described(201, "Done, as the outcome says: one result, or one for each", Result, Results),
        **described(200, "Nothing changed, or a command on an event that was there", Result),
        **described(202, "Durable, not yet carried out (`Prefer: respond-async`)", Taken, AllTaken),
        **described(207, "Some were refused, the others are done", Results),
        **refusals(400, 403, 404, 409, 413, 429, 503),
    },
    openapi_extra={"requestBody": EVENT_BODY, "parameters": [TENANT, PREFER]},
)
async def post_events(request: Request) -> Response:
    """One event as a JSON object, many as a JSON array or as NDJSON (one JSON object a line).

    Each has one definite outcome. Of many, those that make no sense are refused and the others are carried out: the
    results are in the order in which they were sent.
    """
    face = running_now(request)
    tenant = _tenant_of(request)
    body = await read_body(request, face.settings.limits.body)
    later = b"respond-async" in header(request, b"prefer").lower()
    if is_array(body):
        return await _many(face, elements(body), tenant, later=later)
    if is_ndjson(body, header(request, b"content-type")):
        return await _many(face, await _lines(face, body), tenant, later=later)
    return await _one(face, body, tenant, later=later)


def _tenant_of(request: Request) -> str:
    if not request.scope["query_string"]:
        return ""
    parameters = request.query_params
    for name in parameters:
        if name != "tenant":
            raise invalid_field(name[:80], "is not a known parameter: remove it or check the spelling")
    tenant = parameters.get("tenant", "")
    if not TENANT_PATTERN.fullmatch(tenant):
        raise invalid_field("tenant", "must be lower-case letters, digits and `._-`, at most 63, letter or digit first")
    return tenant


async def _one(face: Face, body: bytes, tenant: str, *, later: bool) -> Response:
    if not body.strip():
        raise Refusal(INVALID, "The body is empty: send an event as JSON.")
    try:
        prepared = prepare(face, body, tenant, face.now_ms)
    except InvalidEvent as error:
        kind = TOO_LARGE if _is_too_large(face, body, error) else INVALID
        raise Refusal(kind, f"{error}", error.problems, outcome=Outcome.INVALID) from None
    if later:
        await face.node.log.append(face.names.events, prepared.partition, [prepared.record])
        return answer(Taken(id=prepared.id, tenant=prepared.tenant), 202, {"Preference-Applied": "respond-async"})
    result = await face.commands.submit(prepared.partition, prepared.record)
    return outcome_response(prepared.id, prepared.tenant, result)


def _is_too_large(face: Face, body: bytes, error: InvalidEvent) -> bool:
    """More than a payload may have, and that is what is wrong."""
    fields = {problem.field for problem in error.problems}
    return len(body) > face.limits.payload and bool(fields & {"", "payload", "payload_base64"})


def outcome_response(id: str, tenant: str, result: Answer) -> Response:
    """The answer to one command."""
    outcome = result.outcome
    assert outcome is not None, "a command has an outcome"
    status = SUCCESSES.get(outcome)
    if status is None:
        kind, words = REFUSALS[outcome]
        detail = f"{words}: {result.error}." if result.error else f"{words}."
        raise Refusal(kind, detail, outcome=outcome)
    shown = Result(
        id=id, tenant=tenant, outcome=outcome, status=result.status, next_execution=shown_time(result.next_ms)
    )
    return answer(shown, status)


async def _lines(face: Face, body: bytes) -> list[bytes]:
    """The lines, if there are few enough. Blank ones are left out, but not without end."""
    most = face.settings.limits.batch
    turns = Turns()
    found: list[bytes] = []
    blank = 0
    for line in lines(body):
        if line:
            found.append(line)
        else:
            blank += 1
        if len(found) > most or blank > most + 1_000:
            raise _too_many(most)
        if turns.over():
            await turns.rest()
    return found


def _too_many(most: int) -> Refusal:
    return Refusal(TOO_LARGE, f"There are more than {most:,} events: send them in parts.")


async def _many(face: Face, items: Sequence[Raw | bytes], tenant: str, *, later: bool) -> Response:
    """Prepare the items in slices, and hand over some at a time, in their order."""
    if len(items) > face.settings.limits.batch:
        raise _too_many(face.settings.limits.batch)
    turns = Turns()
    batch = _Batch(face, later=later)
    now_ms = face.now_ms
    for index, raw in enumerate(items):
        try:
            batch.add(index, prepare(face, bytes(raw), tenant, now_ms))
        except InvalidEvent as error:
            batch.refuse(index, error)
        if turns.over():
            await turns.rest()
            now_ms = face.now_ms
    return await batch.finish(turns)


class _Batch:
    """Many commands, on their way to the node."""

    def __init__(self, face: Face, *, later: bool) -> None:
        self._face = face
        self._later = later
        self._collected: list[tuple[int, Prepared]] = []
        self._handed_over: list[tuple[list[tuple[int, Prepared]], asyncio.Task[Sequence[Answer]]]] = []
        self._refused: dict[int, InvalidEvent] = {}
        self._count = 0

    def add(self, index: int, prepared: Prepared) -> None:
        self._count += 1
        self._collected.append((index, prepared))
        if len(self._collected) == AT_ONCE:
            self._hand_over()

    def refuse(self, index: int, error: InvalidEvent) -> None:
        self._count += 1
        self._refused[index] = error

    def _hand_over(self) -> None:
        """Tasks start in the order in which they are made, so the order of the commands is kept."""
        collected, self._collected = self._collected, []
        placed = [(prepared.partition, prepared.record) for _, prepared in collected]
        send = self._append(placed) if self._later else self._face.node.submit(self._face.names.events, placed)
        self._handed_over.append((collected, asyncio.create_task(send)))

    async def _append(self, placed: list[tuple[int, Record]]) -> list[Answer]:
        """Only until it is durable: there are no answers yet."""
        by_partition: dict[int, list[Record]] = {}
        for partition, record in placed:
            by_partition.setdefault(partition, []).append(record)
        for partition, records in by_partition.items():
            await self._face.node.log.append(self._face.names.events, partition, records)
        return []

    async def finish(self, turns: Turns) -> Response:
        """Wait for all outcomes."""
        if self._collected:
            self._hand_over()
        answers = await asyncio.gather(*(task for _, task in self._handed_over))
        if self._later:
            return self._taken()
        results: list[Result | None] = [None] * self._count
        good = not self._refused
        for (sent, _), some in zip(self._handed_over, answers, strict=True):
            for (index, prepared), result in zip(sent, some, strict=True):
                results[index] = shown = _result(index, prepared, result)
                good = good and shown.index is UNSET
            if turns.over():
                await turns.rest()
        for index, error in self._refused.items():
            results[index] = Result(index=index, outcome=Outcome.INVALID, error=str(error), errors=error.problems)
        return answer(Results([result for result in results if result is not None]), 201 if good else 207)

    def _taken(self) -> Response:
        results: list[Taken | None] = [None] * self._count
        for sent, _ in self._handed_over:
            for index, prepared in sent:
                results[index] = Taken(id=prepared.id, tenant=prepared.tenant)
        for index, error in self._refused.items():
            results[index] = Taken(index=index, outcome=Outcome.INVALID, error=str(error), errors=error.problems)
        shown = AllTaken([result for result in results if result is not None])
        return answer(shown, 202, {"Preference-Applied": "respond-async"})


def _result(index: int, prepared: Prepared, result: Answer) -> Result:
    outcome = result.outcome
    assert outcome is not None, "a command has an outcome"
    good = outcome in SUCCESSES
    return Result(
        index=UNSET if good else index,
        id=prepared.id,
        tenant=prepared.tenant,
        outcome=outcome,
        status=result.status,
        next_execution=shown_time(result.next_ms),
        error=UNSET if good else result.error or REFUSALS[outcome][1],
    )


def record_of(event: Event) -> Record:
    """A command about an event, as a record."""
    return Record(event.key.encode(), encoder.encode(event), REST)
