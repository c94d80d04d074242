"""How are keys laid out? Fixed width and big-endian, so that the order of the bytes is the order that is meant.

Every key begins with the partition. Times before 1970 sort as 1970: nothing is due there. The due of a finished run is
kept exactly (shifted by 2^63), because it is part of the run's name.
"""

from struct import Struct

from lightsched.event.identity import Identity

_MINUTE_MS = 60_000
_PARTITION = Struct(">H")
_DUE = Struct(">HBIHQ")
_DEFINITION = Struct(">HQ")
_WAITING = Struct(">BQQ")
_LEASE = Struct(">HQQB")
_RUN = Struct(">QI")
_SIGN = 1 << 63

FIRST_PRIORITY, LAST_PRIORITY = 0, 9

LEASE, EXPIRY, FORGET = 0, 1, 2
"""Kinds of deadline, the last byte of a key in `leases`."""


def partition_key(partition: int) -> bytes:
    """Where a partition begins, in every family."""
    return _PARTITION.pack(partition)


def partition_end(partition: int) -> bytes:
    """Where the next one begins."""
    return _PARTITION.pack(partition + 1)


def due_key(partition: int, priority: int, due_ms: int, seq: int) -> bytes:
    """An entry of the due index: the most urgent priority first, in it the earliest, of those the first to arrive."""
    minute, ms = divmod(due_ms, _MINUTE_MS) if due_ms > 0 else (0, 0)
    return _DUE.pack(partition, priority, minute, ms, seq)


def parse_due(key: bytes) -> tuple[int, int, int]:
    """Priority, due in ms and seq of an entry of the due index."""
    _, priority, minute, ms, seq = _DUE.unpack(key)
    return priority, minute * _MINUTE_MS + ms, seq


def definition_key(partition: int, seq: int) -> bytes:
    """The definition that arrived as number `seq`."""
    return _DEFINITION.pack(partition, seq)


def waiting_key(partition: int, tenant: bytes, priority: int, due_ms: int, seq: int) -> bytes:
    """A run that waits for a slot of its tenant."""
    return waiting_prefix(partition, tenant) + _WAITING.pack(priority, max(due_ms, 0), seq)


def waiting_prefix(partition: int, tenant: bytes) -> bytes:
    """All runs that wait for a slot of a tenant."""
    return b"%b%b\0" % (_PARTITION.pack(partition), tenant)


def parse_waiting(key: bytes) -> tuple[int, int, int]:
    """Priority, due in ms and seq of a waiting run."""
    priority, due_ms, seq = _WAITING.unpack_from(key, len(key) - _WAITING.size)
    return priority, due_ms, seq


def lease_key(partition: int, deadline_ms: int, seq: int, kind: int) -> bytes:
    """Something that happens at a deadline, unless it is dealt with before."""
    return _LEASE.pack(partition, max(deadline_ms, 0), seq, kind)


def parse_lease(key: bytes) -> int:
    """The deadline in ms."""
    deadline_ms: int = _LEASE.unpack(key)[1]
    return deadline_ms


def run_key(partition: int, identity: Identity, due_ms: int, revision: int) -> bytes:
    """A finished run."""
    return run_prefix(partition, identity) + _RUN.pack(due_ms + _SIGN, revision)


def run_prefix(partition: int, identity: Identity) -> bytes:
    """All finished runs of an event, the oldest first."""
    return b"%b%b\0" % (_PARTITION.pack(partition), identity)


def parse_run(key: bytes) -> tuple[int, int]:
    """Due in ms and revision of a finished run."""
    due, revision = _RUN.unpack_from(key, len(key) - _RUN.size)
    return due - _SIGN, revision


def id_key(partition: int, identity: Identity) -> bytes | None:
    """Finds an event by its id alone; None where the key is the id and the identity says it all."""
    tenant, key, id_ = identity.split(b"\0")
    return None if key == id_ else b"%b%b\0%b\0%b" % (_PARTITION.pack(partition), tenant, id_, key)


def id_prefix(partition: int, tenant: str, id: str) -> bytes:
    """All events of a tenant with this id."""
    return _PARTITION.pack(partition) + f"{tenant}\0{id}\0".encode()
