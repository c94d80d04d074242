"""What holds for all events of a tenant? How they spread over partitions, where they go, how many may run."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from lightsched.event.model import Event, RetrySpec, WindowSpec
from lightsched.event.murmur2 import partition_of

Rule = Literal["key", "round_robin", "tenant", "recurrence"]
_Count = Annotated[int, Meta(ge=1)]
_NONE: dict[str, str] = {}


class TenantLimits(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True):
    """How much a tenant may have."""

    pending: _Count | None = None  # events that are not over
    creates_per_second: _Count | None = None
    fires_per_second: _Count | None = None
    in_flight: _Count | None = None  # runs delivered and unreported at once, in each partition
    payload: _Count | None = None  # bytes


class Defaults(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True):
    """What an event gets that does not say it itself, when it arrives."""

    timezone: str | None = None
    jitter: str | None = None
    overlap: Literal["allow", "skip", "queue"] | None = None
    retry: RetrySpec | None = None
    timeout: str | None = None
    expires_in: str | None = None
    headers: dict[str, str] = _NONE
    labels: dict[str, str] = _NONE


class Tenant(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True):
    """The rules of one tenant."""

    rule: Rule = "key"
    topics: tuple[str, ...] = ()  # of events that name none
    limits: TenantLimits = TenantLimits()
    weight: Annotated[int, Meta(ge=1, le=1000)] = 1
    window: WindowSpec | None = None  # of events that have none
    defaults: Defaults = Defaults()


DEFAULT_TENANT = Tenant()
_ALWAYS = ("timezone", "jitter", "expires_in")
_TRACKED = ("overlap", "retry", "timeout")


def home(tenant: Tenant, event: Event, partitions: int) -> int:
    """The partition an event lives in: computed from its content, never from where a record happened to land."""
    if partitions == 1:
        return 0
    match tenant.rule:
        case "key" | "recurrence":
            return partition_of(event.key, partitions)
        case "round_robin":
            return partition_of(event.id, partitions)
        case "tenant":
            return partition_of(event.tenant, partitions)


def key_of(tenant: Tenant, event: Event) -> str:
    """The key of an event that has none: its id; by the rule `recurrence`, what it repeats by."""
    recurrence = (event.cron or event.every or "") if tenant.rule == "recurrence" else ""
    return recurrence or event.id


def fill_in(tenant: Tenant, event: Event) -> None:
    """Give an event what it does not say itself."""
    defaults = tenant.defaults
    for name in _ALWAYS if event.track is False else (*_ALWAYS, *_TRACKED):
        if getattr(event, name) is None:
            setattr(event, name, getattr(defaults, name))
    if event.window is None:
        event.window = tenant.window
    if defaults.headers:
        event.headers = {**defaults.headers, **event.headers}
    if defaults.labels:
        event.labels = {**defaults.labels, **event.labels}
