"""What holds for all events of a tenant? How they spread over partitions, where they go, how many may run."""

from typing import Literal

import msgspec

from lightsched.event.model import Event
from lightsched.event.murmur2 import partition_of


class Tenant(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True):
    """The rules of one tenant."""

    rule: Literal["key", "round_robin", "tenant"] = "key"
    topics: tuple[str, ...] = ()
    in_flight: int | None = None  # runs delivered and unreported at once, in each partition


DEFAULT_TENANT = Tenant()


def home(tenant: Tenant, event: Event, partitions: int) -> int:
    """The partition an event lives in: computed from its content, never from where a record happened to land."""
    if partitions == 1:
        return 0
    match tenant.rule:
        case "key":
            return partition_of(event.key, partitions)
        case "round_robin":
            return partition_of(event.id, partitions)
        case "tenant":
            return partition_of(event.tenant, partitions)
