"""Which column families does a store have, and how is each one tuned?

One RocksDB may hold the stores of several partitions: every key begins with its partition's number (2 bytes,
big-endian), so a partition is a contiguous range of every family.

| family | key after the partition → value |
|---|---|
| definitions | arrival seq → the event as sent |
| states | identity → `State` |
| runs | identity, NUL, due, revision → `FinishedRun` |
| meta | name → format version, `Meta`, cursors |
| due | priority, minute, ms in minute, seq → identity, `State` |
| waiting | tenant, NUL, priority, due, seq → identity |
| leases | deadline, seq, kind → identity |
| ids | tenant, NUL, id, NUL, key → nothing; only where the key is not the id |
| finished | time it ended, identity, NUL, due, revision → nothing; the runs of `runs` |
| counts | tenant → events pending, runs in flight, runs waiting |

`definitions`, `states`, `runs` and `meta` are the truth. The rest is derived from them (`lightsched.store.index`), in
the same batch, and can be rebuilt. Definitions lie in the order of their arrival, not of their identity: the large
values are then written in key order and compaction moves them instead of merging them (measured: half the CPU per
event at one million events, and less the more there are).
"""

from dataclasses import dataclass

DEFINITIONS = "definitions"
STATES = "states"
RUNS = "runs"
META = "meta"
DUE = "due"
WAITING = "waiting"
LEASES = "leases"
IDS = "ids"
FINISHED = "finished"
COUNTS = "counts"


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a family is used, as far as RocksDB should know."""

    buffer_mb: int  # size of a memtable: small ones stay in the CPU's cache, large ones are written less often
    block_kb: int = 4
    bloom: bool = False  # keys are looked up that are mostly not there
    compressed: bool = False


STORE_FAMILIES: dict[str, Tuning] = {
    DEFINITIONS: Tuning(buffer_mb=16, block_kb=8, compressed=True),
    STATES: Tuning(buffer_mb=16, bloom=True),
    RUNS: Tuning(buffer_mb=8),
    META: Tuning(buffer_mb=1),
    DUE: Tuning(buffer_mb=16),
    WAITING: Tuning(buffer_mb=2),
    LEASES: Tuning(buffer_mb=8),
    IDS: Tuning(buffer_mb=4),
    FINISHED: Tuning(buffer_mb=4),
    COUNTS: Tuning(buffer_mb=1),
}

DERIVED = (DUE, WAITING, LEASES, IDS, FINISHED, COUNTS)
"""Families that are made from the others."""
