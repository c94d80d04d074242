"""What may the engine read? A partition's store, through this small face; a test or a simulation may give another."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from lightsched.engine.state import State
from lightsched.engine.step import Meta, RunKey
from lightsched.event.identity import Identity


class Entry(NamedTuple):
    """An entry of the due or waiting index; entries sort in the order in which they fire."""

    priority: int
    due_ms: int
    seq: int
    identity: Identity


class View(Protocol):
    """A partition's state before the step."""

    @property
    def meta(self) -> Meta:
        """The partition's own record; the engine copies it, never changes it."""

    def states(self, identities: Sequence[Identity]) -> list[State | None]:
        """The states of many events, in the order asked."""

    def definitions(self, identities: Sequence[Identity]) -> list[bytes | None]:
        """The definitions of many events, in the order asked."""

    def due(self, until_ms: int, limit: int) -> list[Entry]:
        """Entries with due ≤ until, in firing order: priority, due, arrival."""

    def leases(self, until_ms: int, limit: int) -> list[Identity]:
        """Events with a lease, an expiry or a time to forget ≤ until, earliest first (one event may occur twice)."""

    def in_flight(self, tenant: str) -> int:
        """Runs of a tenant that are delivered and unreported."""

    def waiting_tenants(self) -> Sequence[str]:
        """Tenants with runs that wait for a slot."""

    def waiting(self, tenant: str, limit: int) -> list[Entry]:
        """Runs of a tenant that wait for a slot, in firing order."""

    def runs_before(self, identity: Identity, due_ms: int, limit: int) -> list[RunKey]:
        """Finished runs of an event that were due before, oldest first."""

    def ran(self, identity: Identity, due_ms: int, revision: int) -> bool:
        """Does history hold this run of an event?"""
