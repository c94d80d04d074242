"""How is an event changed in part? By a JSON Merge Patch (RFC 7396) on its definition.

The definition is read where the event lives, merged here, and sent as a new one for exactly the revision that was read:
whoever comes in between is noticed by the owner of the event, and the patch is merged again.
"""

from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from fastapi import APIRouter, Query, Request, Response
from msgspec import Raw

from lightsched.api.body import read_body
from lightsched.api.documents import PATCH_BODY, described, refusals
from lightsched.api.elsewhere import ask_owner
from lightsched.api.face import Face, Running
from lightsched.api.outcomes import outcome_response
from lightsched.api.parameters import BASE, EventId, IfMatch, Which, revision_of
from lightsched.api.prepare import record_of
from lightsched.api.problem import CHANGED, INVALID, Refusal, invalid_field
from lightsched.api.shapes import Result
from lightsched.api.target import Target, not_found, target_of
from lightsched.engine.conditions import REVISION
from lightsched.event.check import check
from lightsched.event.command import FIELDS, decode
from lightsched.event.identity import identity
from lightsched.event.model import Event
from lightsched.event.schema import SCHEDULES
from lightsched.event.words import INSIDE, unknown, why_not_json

router = APIRouter(prefix=BASE + "/events/{id}", tags=["events"])

_NOT_TO_CHANGE = ("op", "id", "key", "tenant", "on_conflict", "if_revision")
_MOST_TRIES = 5
_object = msgspec.json.Decoder(dict[str, Raw]).decode
_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


class Definition(msgspec.Struct):
    """What an event is, at one revision."""

    revision: int
    definition: Raw


_decode_definition = msgspec.json.Decoder(Definition).decode


@router.patch(
    "",
    operation_id="patch",
    summary="Change an event in part",
    responses={
        **described(200, "Changed, or as it was: the outcome says", Result),
        **described(202, "Durable, and carried out when its partition has an owner again", Result),
        **refusals(400, 403, 404, 409, 412, 413, 503),
    },
    openapi_extra={"requestBody": PATCH_BODY},
)
async def patch_event(
    id: EventId, face: Running, which: Annotated[Which, Query()], request: Request, if_match: IfMatch = None
) -> Response:
    """RFC 7396: fields that are given replace those that are there, objects are merged, `null` removes a field.

    One of `at`, `in`, `cron`, `every` takes the place of the one that is there. The identity stays as it is.
    """
    patch = _read(await read_body(request, face.limits.record))
    wanted = revision_of(if_match)
    target = await target_of(face, id, which.tenant, which.key)
    for _ in range(_MOST_TRIES):
        current = await definition_of(face, target)
        if wanted is not None and wanted != current.revision:
            raise Refusal(CHANGED, f"Its revision is {current.revision}, not {wanted}: look at it again.")
        event = _merged(face, target, current, patch)
        result = await face.commands.submit(face.home(event), record_of(event))
        if result.unmet != REVISION or wanted is not None:
            break
    headers = {"ETag": f'"{result.revision}"'} if result.revision else {}
    return outcome_response(target.id, target.tenant, result, status=200, headers=headers)


async def definition_of(face: Face, target: Target) -> Definition:
    """The definition of an event, here or on another node."""
    partition = face.home(Event(id=target.id, key=target.key, tenant=target.tenant))
    store = face.store_of(partition)
    if store is None:
        query = urlencode(target._asdict())
        return _decode_definition(await ask_owner(face, partition, f"{BASE}/internal/definition?{query}"))
    name = identity(*target)
    state, definition = store.state(name), store.definition(name)
    if state is None or definition is None:
        raise not_found(target)
    return Definition(state.revision, Raw(definition))


class _Patch(NamedTuple):
    changes: dict[str, Raw]
    reason: str


def _read(body: bytes) -> _Patch:
    try:
        body.decode()
        changes = _object(body)
        reason = _text(changes.pop("reason")) if "reason" in changes else ""
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        detail = (
            f"The body is no merge patch ({why_not_json(error, body)}): send a JSON object with the fields to change."
        )
        raise Refusal(INVALID, detail) from None
    for name in _NOT_TO_CHANGE:
        if name in changes:
            raise invalid_field(name, "cannot be changed: leave it out, or schedule another event")
    _check_names(changes)
    return _Patch(changes, reason)


def _check_names(changes: dict[str, Raw]) -> None:
    """Also of what is to be removed: merged it is not there any more."""
    for name, change in changes.items():
        if name not in FIELDS:
            raise unknown(name, FIELDS)
        if name in INSIDE and bytes(change).startswith(b"{"):
            for inner in _object(change):
                if inner not in INSIDE[name]:
                    raise unknown(inner, INSIDE[name], name)


def _merged(face: Face, target: Target, current: Definition, patch: _Patch) -> Event:
    """The event as it is to be, for the revision that it was made from. Refused if it makes no sense."""
    fields = _object(current.definition)
    if any(bytes(patch.changes.get(name, b"null")) != b"null" for name in SCHEDULES):
        fields = {name: value for name, value in fields.items() if name not in SCHEDULES}
    try:
        event = decode(_encode(merge(fields, patch.changes)), face.limits)
    except RecursionError:
        raise Refusal(INVALID, "The patch is nested too deeply: flatten it.") from None
    event.tenant, event.key, event.id = target
    event.reason, event.if_revision = patch.reason, current.revision
    check(event, face.limits, face.now_ms, trusted_id=True)
    return event


def merge(fields: dict[str, Raw], changes: dict[str, Raw]) -> dict[str, Any]:
    """RFC 7396, without touching a byte of what is not changed."""
    merged: dict[str, Any] = dict(fields)
    for name, change in changes.items():
        new, old = bytes(change), bytes(fields.get(name, b""))
        if new == b"null":
            merged.pop(name, None)
        elif new.startswith(b"{"):
            merged[name] = merge(_object(old) if old.startswith(b"{") else {}, _object(new))
        else:
            merged[name] = change
    return merged
