"""Which event is meant? Tenant, key and id; where no key is given, every partition is asked."""

from typing import NamedTuple
from urllib.parse import urlencode

from lightsched.api.elsewhere import read_everywhere, send_elsewhere
from lightsched.api.face import MOST_KEYS, Face
from lightsched.api.gate import SLASH
from lightsched.api.parameters import BASE
from lightsched.api.problem import AMBIGUOUS, NOT_FOUND, Refusal
from lightsched.engine.state import State
from lightsched.event.check import check
from lightsched.event.identity import Identity, identity
from lightsched.event.model import Event, Op
from lightsched.event.status import Outcome
from lightsched.store.store import Store


class Target(NamedTuple):
    """The event that a request is about."""

    tenant: str
    key: str
    id: str


class Found(NamedTuple):
    """An event that is there."""

    target: Target
    store: Store
    name: Identity
    state: State


async def target_of(face: Face, id: str, tenant: str, key: str | None) -> Target:
    """What the request names. Without a key: the one there is, or the id itself if there is none."""
    id = id.replace(SLASH, "/")
    check(Event(op=Op.TRIGGER, id=id, key=key or id, tenant=tenant), face.limits, 0)
    if key:
        return Target(tenant, key, id)
    query = urlencode({"tenant": tenant, "id": id})
    keys = sorted(face.keys_of(tenant, id).union(*await read_everywhere(face, f"{BASE}/internal/keys?{query}")))
    if len(keys) > 1:
        named = ", ".join(f"`{known}`" for known in keys[:10])
        count = f"{len(keys)}" if len(keys) < MOST_KEYS else f"{MOST_KEYS} or more"
        raise Refusal(
            AMBIGUOUS,
            f"{count} events have this id, under the keys {named}: say which with `key`.",
            keys=keys[:MOST_KEYS],
        )
    return Target(tenant, keys[0] if keys else id, id)


async def found(face: Face, id: str, tenant: str, key: str | None) -> Found:
    """The event that the request names; refused if there is none, `Elsewhere` if it is another node's."""
    target = await target_of(face, id, tenant, key)
    partition = face.home(Event(id=target.id, key=target.key, tenant=target.tenant))
    store, name = face.store_of(partition), identity(*target)
    if store is None:
        raise send_elsewhere(face, partition)
    state = store.state(name)
    if state is None:
        raise not_found(target)
    return Found(target, store, name, state)


def not_found(target: Target) -> Refusal:
    """There is no such event."""
    under = "" if target.key == target.id else f" under the key {target.key!r}"
    detail = (
        f"The tenant `{target.tenant}` has no event {target.id!r}{under}: "
        "it was never scheduled here, or it ended and its history is gone."
    )
    return Refusal(NOT_FOUND, detail, outcome=Outcome.NOT_FOUND)
