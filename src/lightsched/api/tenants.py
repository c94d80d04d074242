"""What holds for a tenant? Its rules: looked at, and given. All nodes follow the same ones.

A tenant needs none: without them the defaults hold. What its events get is filled in when they arrive, so it becomes
part of them; the topics are looked up when they fire.
"""

from typing import Annotated, get_args

import msgspec
from fastapi import APIRouter, Path, Request, Response
from msgspec import structs

from lightsched.api.body import MOST_SMALL_BYTES, read_body
from lightsched.api.documents import TENANT_BODY, described, refusals
from lightsched.api.events import events_page
from lightsched.api.face import Face, Running
from lightsched.api.listing import Listed
from lightsched.api.parameters import BASE
from lightsched.api.problem import CONFLICT, Refusal, invalid_field
from lightsched.api.shapes import NewTenant, Tenants, TenantShown, answer
from lightsched.event.check import TENANT, check
from lightsched.event.model import Event
from lightsched.event.tenant import Rule, Tenant, fill_in
from lightsched.event.words import refused
from lightsched.settings import parse_size

router = APIRouter(prefix=BASE + "/tenants", tags=["operations"])

TenantName = Annotated[str, Path(description="The tenant", examples=["acme"], pattern=f"^{TENANT.pattern}$")]
_decode = msgspec.json.Decoder(NewTenant).decode
_PLACED_ALIKE = ("key", "recurrence")
"""Rules by which the key says where an event lives."""


@router.get(
    "",
    operation_id="list_tenants",
    summary="Which tenants have rules of their own?",
    responses={**described(200, "By name", Tenants), **refusals(403, 503)},
)
async def list_tenants(face: Running) -> Response:
    """Tenants without rules of their own are not listed; the defaults hold for them."""
    return answer(Tenants([_shown(name, tenant) for name, tenant in sorted(face.node.tenants.items())]))


@router.get(
    "/{name}",
    operation_id="get_tenant",
    summary="What holds for a tenant?",
    responses={**described(200, "Its rules, or the defaults", TenantShown), **refusals(400, 403, 503)},
)
async def get_tenant(name: TenantName, face: Running) -> Response:
    """Every name is a tenant's: without rules of its own the defaults hold."""
    return answer(_shown(name, face.rules.tenant(name)))


@router.put(
    "/{name}",
    operation_id="put_tenant",
    summary="Give a tenant rules of its own",
    responses={
        **described(200, "They hold from now on; on other nodes in a moment", TenantShown),
        **refusals(400, 403, 409, 413, 503),
    },
    openapi_extra={"requestBody": TENANT_BODY},
)
async def put_tenant(name: TenantName, face: Running, request: Request) -> Response:
    """All of them: what is left out is as by default.

    `rule` says what places an event, so it can be changed only while the tenant has no events, not even finished ones.
    Of `limits` and `weight` only `in_flight` is enforced so far, in each partition: the others are kept and shown.
    """
    tenant = _read(face, await read_body(request, MOST_SMALL_BYTES))
    old = face.rules.tenant(name)
    moves = old.rule != tenant.rule and not (old.rule in _PLACED_ALIKE and tenant.rule in _PLACED_ALIKE)
    if moves and (await events_page(face, Listed(tenant=name, limit=1))).items:
        detail = f"The tenant has events, and they live where the rule `{old.rule}` has put them"
        raise Refusal(CONFLICT, f"{detail}: keep it, or wait until they are over and their history is gone.")
    await face.node.put_tenant(name, tenant)
    return answer(_shown(name, tenant))


def _read(face: Face, body: bytes) -> Tenant:
    """Rules that make sense: an event that gets all of what is filled in does."""
    try:
        body.decode()
        tenant = _in_bytes(_decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise refused(error, Tenant.__struct_fields__, {"rule": get_args(Rule)}, body) from None
    event = Event(id="x", key="x", every="1h", topics=tenant.topics)
    fill_in(tenant, event)
    check(event, face.limits, face.now_ms)
    payload = tenant.limits.payload
    if payload is not None and payload > face.limits.payload:
        raise invalid_field("limits.payload", f"is more than this server takes: at most {face.limits.payload}")
    return tenant


def _in_bytes(given: NewTenant) -> Tenant:
    payload = given.limits.payload
    if isinstance(payload, str):
        try:
            payload = parse_size(payload)
        except ValueError as error:
            raise invalid_field("limits.payload", str(error)) from None
    limits = structs.replace(given.limits, payload=payload)
    return msgspec.convert(msgspec.to_builtins(structs.replace(given, limits=limits)), Tenant)


def _shown(name: str, tenant: Tenant) -> TenantShown:
    return TenantShown(
        name=name,
        rule=tenant.rule,
        topics=tenant.topics,
        limits=tenant.limits,
        weight=tenant.weight,
        window=tenant.window,
        defaults=tenant.defaults,
    )
