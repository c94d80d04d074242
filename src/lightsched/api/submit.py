"""How do commands get in? `POST /events`: one, an array, or one a line; each is answered with its outcome.

    raw → decode → name it → check → record → home partition → node → outcome

What is wrong with one of many does not concern the others. Large bodies are taken in slices (`turns`), and what was
read is handed to the node while the rest is still being read.
"""

from collections.abc import Iterable, Sequence

from fastapi import APIRouter, Request, Response

from lightsched.api.atomic import all_or_none
from lightsched.api.batch import Batch
from lightsched.api.body import Item, elements, is_array, is_ndjson, lines, read_body
from lightsched.api.direct import Direct
from lightsched.api.documents import ATOMIC, EVENT_BODY, IDEMPOTENCY_KEY, PREFER, TENANT, described, refusals
from lightsched.api.face import Face, running_now
from lightsched.api.once import once_of
from lightsched.api.outcomes import address, outcome_response
from lightsched.api.parameters import BASE
from lightsched.api.prepare import Asked, parameters_of, prepare
from lightsched.api.problem import INVALID, TOO_LARGE, Refusal
from lightsched.api.shapes import AllTaken, Result, Results, Taken, answer
from lightsched.api.turns import Turns
from lightsched.event.errors import InvalidEvent
from lightsched.event.status import Outcome

router = APIRouter(prefix=BASE, route_class=Direct, tags=["events"])


@router.post(
    "/events",
    operation_id="schedule",
    summary="Schedule an event, or many",
    status_code=201,
    responses={
        **described(201, "Done, as the outcome says: one result, or one for each", Result, Results),
        **described(200, "Nothing changed, or a command on an event that was there", Result),
        **described(202, "Durable, not yet carried out (`Prefer: respond-async`)", Taken, AllTaken, Result),
        **described(207, "Some were refused, or their outcome is not known; the others are done", Results),
        **refusals(400, 403, 404, 409, 412, 413, 422, 429, 503),
    },
    openapi_extra={"requestBody": EVENT_BODY, "parameters": [TENANT, ATOMIC, PREFER, IDEMPOTENCY_KEY]},
)
async def post_events(request: Request) -> Response:
    """One event as a JSON object, many as a JSON array or as NDJSON (one JSON object a line).

    Each has one definite outcome. Of many, those that make no sense are refused and the others are carried out: the
    results are in the order in which they were sent. Where the outcome could not be heard it is null, and `error` says
    what to do. With `atomic=true` all are carried out, or none.
    """
    face = running_now(request)
    asked, key, content_type = _asked(request)
    body = await read_body(request, face.settings.limits.body)
    if key:
        asked = asked._replace(once=once_of(key, body))
    if is_array(body):
        return await _many(face, elements(body, face.limits.record), asked)
    if is_ndjson(body, content_type):
        return await _many(face, lines(body), asked)
    return await _one(face, body, asked)


def _asked(request: Request) -> tuple[Asked, bytes, bytes]:
    """What the request says about all its commands, its key, and its content type: one look at the headers."""
    asked = parameters_of(request)
    key = content_type = b""
    for name, value in request.scope["headers"]:
        if name == b"content-type":
            content_type = value
        elif name == b"idempotency-key":
            key = value
        elif name == b"prefer" and b"respond-async" in value.lower():
            asked = asked._replace(later=True)
    return asked, key, content_type


async def _one(face: Face, body: bytes, asked: Asked) -> Response:
    if not body.strip():
        raise Refusal(INVALID, "The body is empty: send an event as JSON.")
    try:
        prepared = prepare(face, body, asked, face.now_ms)
    except InvalidEvent as error:
        face.node.metrics.refuse()
        kind = TOO_LARGE if _is_too_large(face, body, error) else INVALID
        detail = f"{error}" if error.problems[0].field else f"The event {error}"
        raise Refusal(kind, detail, error.problems, outcome=Outcome.INVALID) from None
    if asked.later:
        await face.node.log.append(face.names.events, prepared.partition, [prepared.record])
        headers = {"Location": address(prepared.id, prepared.tenant), "Preference-Applied": "respond-async"}
        return answer(Taken(id=prepared.id, tenant=prepared.tenant), 202, headers)
    result = await face.commands.submit(prepared.partition, prepared.record)
    return outcome_response(prepared.id, prepared.tenant, result)


def _is_too_large(face: Face, body: bytes, error: InvalidEvent) -> bool:
    """More than a payload may have, and that is what is wrong."""
    fields = {problem.field for problem in error.problems}
    return len(body) > face.limits.payload and bool(fields & {"", "payload", "payload_base64"})


async def _many(face: Face, pieces: Iterable[Sequence[Item]], asked: Asked) -> Response:
    """Prepare the items in slices, and hand over some at a time, in their order; nothing, if there are too many."""
    async with face.long_work.turns() as turns:
        found = await _all_of(pieces, face.settings.limits.batch, turns)
        if asked.atomic:
            return await all_or_none(face, found, asked, turns)
        return await _each(face, found, asked, turns)


async def _each(face: Face, found: list[Item], asked: Asked, turns: Turns) -> Response:
    batch = Batch(face, later=asked.later)
    alone = asked.once is not None and not asked.later
    now_ms = face.now_ms
    for index, raw in enumerate(found):
        try:
            batch.add(prepare(face, bytes(raw), asked, now_ms, index))
        except InvalidEvent as error:
            batch.refuse(index, error)
        else:
            if alone:
                await batch.send_first()
                alone = False
        if turns.over():
            await turns.rest()
            now_ms = face.now_ms
    return await batch.finish(turns)


async def _all_of(pieces: Iterable[Sequence[Item]], most: int, turns: Turns) -> list[Item]:
    """The items, if there are few enough. Blank ones are left out, but not without end."""
    found: list[Item] = []
    seen = 0
    for piece in pieces:
        found += filter(None, piece)
        seen += len(piece)
        if len(found) > most or seen - len(found) > most + 1_000:
            raise Refusal(TOO_LARGE, f"There are more than {most:,} events: send them in parts.")
        if turns.over():
            await turns.rest()
    return found
