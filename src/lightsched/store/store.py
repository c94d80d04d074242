"""What does a partition know? Its store: where a committed step goes, and what is read of it (`reading`).

A `Store` is the state of one partition in an open RocksDB; several may share one. It is written by the thread of its
worker only. `apply` puts a step into a batch and at once counts it as done, so the batch must be written right
after it, in one go with whatever else the log adds; if that fails, the store is finished and has to be opened again.
"""

import os
from collections.abc import Mapping, Sequence

from rocksdict import WriteBatch

from lightsched.engine.state import FinishedRun, State
from lightsched.engine.step import Meta, Step
from lightsched.event.identity import Identity
from lightsched.store import values
from lightsched.store.counts import Counts
from lightsched.store.families import (
    COUNTS,
    DEFINITIONS,
    DERIVED,
    DUE,
    IDS,
    LEASES,
    META,
    RUNS,
    STATES,
    STORE_FAMILIES,
)
from lightsched.store.forecast import Forecast
from lightsched.store.format import VERSION, migrate
from lightsched.store.heads import Heads
from lightsched.store.index import Entries, entries
from lightsched.store.keys import (
    definition_key,
    id_key,
    partition_end,
    run_key,
)
from lightsched.store.reading import Reading
from lightsched.store.rocks import Rocks, between, new_batch

_FORMAT, _META, _CURSORS, _REBUILDING, _LOG = b"format", b"meta", b"cursors", b"rebuilding", b"log:"
_NO_ENTRIES: Entries = []
_REBUILT_AT_ONCE = 1_000

Change = tuple[str, bytes, bytes | None]
"""Family, key and value of an entry of the truth; None: it is deleted."""


class Store(Reading):
    """The state of one partition."""

    def __init__(self, rocks: Rocks, partition: int) -> None:
        """Open the store of a partition, or make it.

        1. Bring its format up to date.
        2. Read its meta record; there is none: it is new, make one with a secret of its own.
        3. A rebuild that was interrupted starts again.
        4. Read the counts and the cursors: the rest is read when it is needed.
        """
        super().__init__(rocks, partition)
        self._handle = rocks.handles
        version = self._family[META].get(self._prefix + _FORMAT)
        if version is not None:
            migrate(rocks, partition, int(version))
        meta = self._family[META].get(self._prefix + _META)
        self._meta = self._make() if meta is None else values.decode_meta(meta)
        if self._family[META].get(self._prefix + _REBUILDING) is not None:
            self.rebuild()
        else:
            self._load()

    # what is written

    def changes(self, step: Step) -> list[Change]:
        """What a step changes of the truth: states, definitions, finished runs, meta. The rest follows from it."""
        prefix, partition, encode = self._prefix, self.partition, values.encode
        earlier, states = step.before, step.states
        found: list[Change] = []
        for name, after in states.items():
            if after is not None:
                found.append((STATES, prefix + name, encode(after)))
            elif earlier.get(name) is not None:
                found.append((STATES, prefix + name, None))
        for name, definition in step.definitions.items():  # it lies under its state's seq: where that changes, it moves
            before = earlier.get(name)
            current = states.get(name, before)
            if before is not None and (current is None or current.seq != before.seq):
                found.append((DEFINITIONS, definition_key(partition, before.seq), None))
            if current is not None:
                assert definition is not None, f"{name!r} keeps its state and loses its definition"
                found.append((DEFINITIONS, definition_key(partition, current.seq), definition))
        for (name, due_ms, revision), run in step.runs.items():
            key = run_key(partition, name, due_ms, revision)
            found.append((RUNS, key, None if run is None else encode(run)))
        found.append((META, prefix + _META, encode(step.meta)))
        return found

    def apply(self, batch: WriteBatch, step: Step, changes: Sequence[Change] | None = None) -> None:
        """Put a step into a batch, to be written at once. `changes`: its own, if they are already made."""
        if changes is None:
            changes = self.changes(step)
        self._put(batch, changes)
        if step.runs:
            self.finished.index(batch, {run_key(self.partition, *key): run for key, run in step.runs.items()})
        self._index(batch, step.before, step.states, changes)
        self._settle(batch, step.meta)

    def restore(self, batch: WriteBatch, changes: Sequence[Change]) -> None:
        """Put changes that another process has made, in their order, into a batch to be written at once."""
        cut, meta = len(self._prefix), self._meta
        after: dict[Identity, State | None] = {}
        runs: dict[bytes, FinishedRun | None] = {}
        for family, key, value in changes:
            if family == RUNS:
                runs[key] = None if value is None else values.decode_run(value)
            elif family == STATES:
                after[Identity(key[cut:])] = None if value is None else values.decode_state(value)
            elif family == META and value is not None:
                meta = values.decode_meta(value)
        names = list(after)
        before = dict(zip(names, self._read_states(names), strict=True))
        self._put(batch, changes)
        self.finished.index(batch, runs)
        self._index(batch, before, after, changes)
        self._settle(batch, meta)

    def _put(self, batch: WriteBatch, changes: Sequence[Change]) -> None:
        handles, put = self._handle, batch.put
        for family, key, value in changes:
            if value is None:
                batch.delete(key, handles[family])
            else:
                put(key, value, handles[family])

    def _index(
        self,
        batch: WriteBatch,
        earlier: Mapping[Identity, State | None],
        states: Mapping[Identity, State | None],
        changes: Sequence[Change],
    ) -> None:
        """What follows from states that change: the entries that they add or leave out, and the counts."""
        partition, ids, count = self.partition, self._handle[IDS], self._counts.change
        cut = len(self._prefix)
        encoded = {key[cut:]: value for family, key, value in changes if family == STATES and value is not None}
        for name, after in states.items():
            before = earlier.get(name)
            if before is None and after is None:
                continue
            old = _NO_ENTRIES if before is None else entries(partition, name, before)
            new = _NO_ENTRIES if after is None else entries(partition, name, after)
            if before is None or after is None:
                found = id_key(partition, name)
                if found is not None and before is None:
                    batch.put(found, b"", ids)
                elif found is not None:
                    batch.delete(found, ids)
            if old or new:
                self._move(batch, name, old, new, after, encoded.get(name, b""))
            count(name, before, after)

    def _settle(self, batch: WriteBatch, meta: Meta) -> None:
        """The states are in the batch: the counts, the heads of the indexes and what is known in memory follow."""
        self._counts.settle(batch, self._handle[COUNTS])
        self._meta = meta
        self._settle_cursors(batch)
        self._seqs.clear()
        self._fresh.clear()

    def remember(self, batch: WriteBatch, name: bytes, value: bytes) -> None:
        """Keep something for the log, beside the store and not part of it."""
        batch.put(self._prefix + _LOG + name, value, self._handle[META])

    def recall(self, name: bytes) -> bytes | None:
        """What was kept for the log."""
        return self._family[META].get(self._prefix + _LOG + name)

    def _move(  # noqa: PLR0917 -- an event, what it was and what it is
        self, batch: WriteBatch, name: Identity, old: Entries, new: Entries, state: State | None, encoded: bytes
    ) -> None:
        """Take an event from its old entries to its new ones; those that stay in `due` hold its new state."""
        stay = set(old).intersection(new) if len(old) > 1 else old if old == new else ()
        for entry in old:
            if entry not in stay:
                family, key = entry
                batch.delete(key, self._handle[family])
                if family is DUE:
                    self._heads.due[key[2]].delete(key)
                    if self._forecast.active:
                        self._forecast.changed(key, name, -1)
                elif family is LEASES:
                    self._heads.leases.delete(key)
        for entry in new:
            family, key = entry
            if family is DUE:
                assert state is not None
                batch.put(key, values.due_value(name, state, encoded), self._handle[family])
                if entry not in stay:
                    self._heads.due[key[2]].put(key)
                    if self._forecast.active:
                        self._forecast.changed(key, name, +1)
            elif entry not in stay:
                batch.put(key, name, self._handle[family])
                if family is LEASES:
                    self._heads.leases.put(key)

    def _settle_cursors(self, batch: WriteBatch) -> None:
        lows = self._heads.settle()
        if lows is not None:
            batch.put(self._prefix + _CURSORS, lows, self._handle[META])

    # made, loaded, rebuilt

    def _make(self) -> Meta:
        batch = new_batch()
        meta = Meta(secret=os.urandom(32))
        batch.put(self._prefix + _FORMAT, str(VERSION).encode(), self._handle[META])
        batch.put(self._prefix + _META, values.encode(meta), self._handle[META])
        self._rocks.write(batch)
        return meta

    def _load(self) -> None:
        self._counts = Counts(self._family[COUNTS], self.partition)
        self._forecast = Forecast(self._family[DUE], self.partition)
        stored = self._family[META].get(self._prefix + _CURSORS)
        self._heads = Heads(self._family[DUE], self._family[LEASES], self.partition, stored)

    def rebuild(self) -> None:
        """Make the derived families again, from the states.

        1. Note that a rebuild is under way, wipe the derived families.
        2. Write the entries of all states, some at a time.
        3. Write the counts, note that it is done.
        """
        batch = new_batch()
        batch.put(self._prefix + _REBUILDING, b"", self._handle[META])
        batch.delete(self._prefix + _CURSORS, self._handle[META])
        for family in DERIVED:
            batch.delete_range(self._prefix, partition_end(self.partition), self._handle[family])
        self._rocks.write(batch)
        self._load()
        after: Identity | None = None
        while some := self.scan(None, after, _REBUILT_AT_ONCE):
            batch = new_batch()
            for name, state in some:
                if (found := id_key(self.partition, name)) is not None:
                    batch.put(found, b"", self._handle[IDS])
                self._move(batch, name, _NO_ENTRIES, entries(self.partition, name, state), state, values.encode(state))
                self._counts.change(name, None, state)
            self._settle_cursors(batch)
            self._rocks.write(batch)
            after = some[-1][0]
        self.finished.rebuild()
        batch = new_batch()
        self._counts.settle(batch, self._handle[COUNTS])
        batch.delete(self._prefix + _REBUILDING, self._handle[META])
        self._rocks.write(batch)

    def dump(self) -> dict[str, dict[bytes, bytes]]:
        """Everything, by family, but the cursors, which are hints, and what the log keeps. For tests."""
        dumped: dict[str, dict[bytes, bytes]] = {}
        for name in STORE_FAMILIES:
            items = between(self._family[name], self._prefix, partition_end(self.partition))
            dumped[name] = {key[2:]: value for key, value in items}
        dumped[META] = {
            name: value for name, value in dumped[META].items() if name != _CURSORS and not name.startswith(_LOG)
        }
        return dumped
