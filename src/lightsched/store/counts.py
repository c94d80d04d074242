"""How much of what does a tenant have? Events pending, runs in flight, runs waiting for a slot: exact, and persisted.

They are changed with the states they count, in the same batch, so opening a store reads one small value per tenant
instead of all states.
"""

from collections.abc import Sequence

import msgspec
from rocksdict import ColumnFamily, Rdict, WriteBatch

from lightsched.engine.state import Phase, State
from lightsched.event.identity import Identity
from lightsched.event.status import FINAL
from lightsched.store.keys import partition_end, partition_key
from lightsched.store.rocks import between
from lightsched.store.values import encode


class Count(msgspec.Struct, array_like=True):
    """What is counted for one tenant."""

    pending: int = 0
    in_flight: int = 0
    waiting: int = 0


_decode = msgspec.msgpack.Decoder(Count).decode
_NONE = Count()


class Counts:
    """The counts of a partition's tenants; those without anything are left out."""

    def __init__(self, family: Rdict, partition: int) -> None:
        self._prefix = partition_key(partition)
        self._tenants: dict[str, Count] = {}
        self._waiting: dict[str, None] = {}
        self._changed: dict[bytes, list[int]] = {}
        for key, value in between(family, self._prefix, partition_end(partition)):
            self._put(key[2:].decode(), _decode(value))

    def of(self, tenant: str) -> Count:
        """One tenant's."""
        return self._tenants.get(tenant, _NONE)

    @property
    def pending(self) -> int:
        """Events of all tenants that will fire."""
        return sum(count.pending for count in self._tenants.values())

    @property
    def in_flight(self) -> int:
        """Runs of all tenants that are delivered and unreported."""
        return sum(count.in_flight for count in self._tenants.values())

    @property
    def waiting_tenants(self) -> Sequence[str]:
        """Tenants with runs that wait for a slot."""
        return list(self._waiting)

    def change(self, identity: Identity, before: State | None, after: State | None) -> None:
        """A state is replaced by the step being applied."""
        pending = in_flight = waiting = 0
        if before is not None:
            pending -= before.status not in FINAL
            for run in before.runs:
                in_flight -= run.phase is Phase.DELIVERED
                waiting -= run.phase is Phase.WAITING
        if after is not None:
            pending += after.status not in FINAL
            for run in after.runs:
                in_flight += run.phase is Phase.DELIVERED
                waiting += run.phase is Phase.WAITING
        if pending or in_flight or waiting:
            tenant = identity[: identity.index(0)]
            sums = self._changed.get(tenant)
            if sums is None:
                self._changed[tenant] = [pending, in_flight, waiting]
            else:
                sums[0] += pending
                sums[1] += in_flight
                sums[2] += waiting

    def settle(self, batch: WriteBatch, handle: ColumnFamily) -> None:
        """The step is applied: write what it changed."""
        for name, (pending, in_flight, waiting) in self._changed.items():
            tenant = name.decode()
            old = self.of(tenant)
            count = Count(old.pending + pending, old.in_flight + in_flight, old.waiting + waiting)
            assert min(count.pending, count.in_flight, count.waiting) >= 0, f"counts of {tenant} fell below 0: {count}"
            self._put(tenant, count)
            if count == _NONE:
                batch.delete(self._prefix + name, handle)
            else:
                batch.put(self._prefix + name, encode(count), handle)
        self._changed.clear()

    def _put(self, tenant: str, count: Count) -> None:
        if count == _NONE:
            self._tenants.pop(tenant, None)
        else:
            self._tenants[tenant] = count
        if count.waiting:
            self._waiting[tenant] = None
        else:
            self._waiting.pop(tenant, None)
