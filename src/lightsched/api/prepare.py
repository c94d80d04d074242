"""How does what was sent become a command? Decoded, named, checked, and put into a record for its partition."""

from typing import NamedTuple

import msgspec
from starlette.requests import Request

from lightsched.api.face import Face
from lightsched.api.once import Once
from lightsched.api.problem import invalid_field
from lightsched.event.check import TENANT, check
from lightsched.event.command import WHO, decode
from lightsched.event.errors import invalid
from lightsched.event.identity import identity
from lightsched.event.model import Event, Op, encoder
from lightsched.event.record import Checked, Headers, Record
from lightsched.event.tenant import DEFAULT_TENANT, fill_in, home, key_of

REST: Headers = ((WHO, b"rest"),)
"""Who asked, on the audit."""

_YES_OR_NO = {"true": True, "1": True, "false": False, "0": False}


class Asked(NamedTuple):
    """What a request says about all its commands."""

    tenant: str = ""  # for those that name none
    atomic: bool = False  # all or none
    later: bool = False  # answer when they are durable
    once: Once | None = None  # however often it is sent


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """A command that is checked and ready to be appended."""

    index: int  # among those that came
    id: str
    tenant: str
    op: Op
    partition: int
    record: Record
    conditional: bool  # it may be refused where its event lives


def parameters_of(request: Request) -> Asked:
    """What the address says."""
    if not request.scope["query_string"]:
        return _NOTHING
    parameters = request.query_params
    for name in parameters:
        if name not in ("tenant", "atomic"):
            raise invalid_field(name[:80], "is not a known parameter: remove it or check the spelling")
    tenant = parameters.get("tenant")
    if tenant is not None and not TENANT.fullmatch(tenant):
        raise invalid_field("tenant", "must be lower-case letters, digits and `._-`, at most 63, letter or digit first")
    atomic = _YES_OR_NO.get(parameters.get("atomic", "false"))
    if atomic is None:
        raise invalid_field("atomic", "must be `true` or `false`")
    return Asked(tenant or "", atomic)


_NOTHING = Asked()


def prepare(face: Face, raw: bytes, asked: Asked, now_ms: int, index: int = 0) -> Prepared:
    """From what was sent to a record. Raises `InvalidEvent`."""
    event = decode(raw, face.limits)
    tenant, once = asked.tenant, asked.once
    as_sent = True
    if tenant and event.tenant != tenant:
        if event.tenant != "default":
            raise invalid("tenant", f"is `{event.tenant[:80]}`, but the request is for `{tenant}`: send one of them")
        event.tenant = tenant
        as_sent = False
    if not event.id and event.op is Op.SCHEDULE:
        event.id = face.ids.next(now_ms) if once is None else once.id(event.tenant, index)
        as_sent = False
    rules = face.rules.tenant(event.tenant)
    if not event.key:
        event.key = event.id if rules is DEFAULT_TENANT else key_of(rules, event)
    value = raw if as_sent else encoder.encode(event)  # without what the tenant adds: that is done on arrival
    if rules is not DEFAULT_TENANT and event.op is Op.SCHEDULE:
        fill_in(rules, event)
    check(event, face.limits, now_ms)
    return Prepared(
        index,
        event.id,
        event.tenant,
        event.op,
        home(rules, event, face.rules.partitions),
        Checked.of(event, value, _headers(event, once, index)),
        event.on_conflict == "reject" or event.if_revision is not None,
    )


def record_of(event: Event, once: Once | None = None) -> Record:
    """A command about an event, as a record."""
    return Record(event.key.encode(), encoder.encode(event), _headers(event, once))


def _headers(event: Event, once: Once | None, index: int = 0) -> Headers:
    return REST if once is None else (*REST, once.header(index, identity(event.tenant, event.key, event.id)))
