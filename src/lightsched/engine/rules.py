"""What does a partition go by? Settings of the engine; the same on every node."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lightsched.event.delivery import Delivery
from lightsched.event.limits import DEFAULT_LIMITS, Limits
from lightsched.event.tenant import DEFAULT_TENANT, Tenant

LATE_MS = 60_000
"""Less than this late is only late; more is missed, and `catch_up` decides."""


def accept(_delivery: Delivery) -> str:
    """Every delivery can be made."""
    return ""


@dataclass(frozen=True, slots=True)
class Rules:
    """The engine's settings, and the bounds of a step."""

    partition: int = 0
    partitions: int = 1
    limits: Limits = DEFAULT_LIMITS
    tenants: Mapping[str, Tenant] = field(default_factory=dict)
    in_flight: int | None = None  # cap for tenants that have none of their own, in each partition
    refuse: Callable[[Delivery], str] = accept  # why a delivery cannot be made, empty if it can
    active_runs: int = 1_000  # unfinished runs of one event
    step_fires: int = 2_000
    step_leases: int = 2_000
    step_bytes: int = 8 * 1024 * 1024  # of deliveries

    @property
    def default_topics(self) -> tuple[str, ...]:
        """Where deliveries go for which neither event nor tenant names a topic."""
        return self.limits.names.default

    def tenant(self, name: str) -> Tenant:
        """The rules of a tenant."""
        return self.tenants.get(name, DEFAULT_TENANT)

    def slots(self, tenant: str) -> int | None:
        """How many runs of a tenant may be in flight; None: any number."""
        own = self.tenants.get(tenant, DEFAULT_TENANT).limits.in_flight
        return self.in_flight if own is None else own
