"""How does a store get to where its changelog is? It applies what it has not yet applied; if it cannot know what that
is, it starts anew.

It is called after the fence, with the end of the changelog noted after it: nobody can add to it any more. The position,
not the last record, says whether the end is reached: markers and aborted records leave gaps.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from lightsched.log.kafka.changelog import POSITION, Position, decode_position, encode_position, is_meta, to_changes
from lightsched.log.kafka.clients import check_fetching
from lightsched.log.kafka.errors import ChangelogCut
from lightsched.log.kafka.topics import TOMBSTONES_MS
from lightsched.store.families import STORE_FAMILIES
from lightsched.store.rocks import Memory, Rocks, new_batch
from lightsched.store.store import Change, Store
from lightsched.store.values import decode_meta

log = logging.getLogger(__name__)

_AT_ONCE = 500
_SAY_EVERY_S = 5.0
_STANDS_S = 10.0
"""Without a record for so long, it is asked whether they are still there."""
_CLOCKS_DIFFER_MS = 3_600_000

Progress = Callable[[int, int], None]
"""Told how many records were just applied, and how many offsets are still to go."""


def _unheard(_applied: int, _left: int) -> None:
    """Nobody asked."""


_NAME = "partition-"


def store_path(path: Path, number: int) -> Path:
    """Where the store of a partition is."""
    return path / f"{_NAME}{number:04d}"


def stored_in(path: Path) -> dict[int, int]:
    """The partitions that there are stores of, and when each was last written (ms since epoch)."""
    found = {}
    for store in path.glob(f"{_NAME}*"):
        number = store.name.removeprefix(_NAME)
        if number.isdigit():  # people put broken ones aside, under another name
            found[int(number)] = _written_ms(store)
    return found


def _written_ms(store: Path) -> int:
    try:
        return max((file.stat().st_mtime_ns // 1_000_000 for file in store.iterdir()), default=0)
    except OSError:  # RocksDB has deleted a file meanwhile, or it cannot be read
        return 0


class LocalStore:
    """The store of one partition in a directory of its own, which belongs to this process while it is open."""

    def __init__(self, path: Path, number: int, memory: Memory) -> None:
        self._path = path
        self._number = number
        self._memory = memory
        self._closed = False
        self.rocks, self.store = self._open()

    def _open(self) -> tuple[Rocks, Store]:
        rocks = Rocks(self._path, STORE_FAMILIES, self._memory)
        return rocks, Store(rocks, self._number)

    @property
    def position(self) -> Position | None:
        """How far the changelog is applied; None: not at all."""
        kept = self.store.recall(POSITION)
        return None if kept is None else decode_position(kept)

    def wipe(self) -> None:
        """Begin with an empty store."""
        self.close()
        shutil.rmtree(self._path)
        self._closed = False
        self.rocks, self.store = self._open()

    def restore(self, changes: list[Change], position: Position) -> None:
        """Apply changes, and remember that they are applied, in one go."""
        batch = new_batch()
        self.store.restore(batch, changes)
        self.store.remember(batch, POSITION, encode_position(position))
        self.rocks.write(batch)

    def close(self) -> None:
        """Let go of the directory."""
        if not self._closed:
            self._closed = True
            self.rocks.close()


async def restore(
    local: LocalStore,
    consumer: AIOKafkaConsumer,
    changelog: TopicPartition,
    bounds: tuple[int, int],
    clock_ms: Callable[[], int],
    *,
    progress: Progress = _unheard,
) -> int:
    """Apply the changelog up to its end; how many records that were. `bounds`: its first offset and its end.

    It begins with the last meta record that the store has applied: there it shows whether this is its changelog.
    """
    first, end = bounds
    consumer.assign([changelog])
    position = local.position
    if (why := _distrust(local, position, first, end, clock_ms())) is not None:
        log.warning("partition %d: the store is rebuilt: %s", changelog.partition, why)
        local.wipe()
        position = None
    start = first if position is None else max(first, position.offset if position.meta_at < 0 else position.meta_at)
    step = local.store.meta.step
    applied = await _apply(local, consumer, changelog, (start, end), clock_ms, progress=progress)
    if applied is not None and local.store.meta.step >= step:
        return applied
    log.warning("partition %d: the store is rebuilt: it is not of this changelog", changelog.partition)
    local.wipe()
    applied = await _apply(local, consumer, changelog, (first, end), clock_ms, progress=progress)
    assert applied is not None, "an empty store takes any changelog"
    return applied


def _distrust(local: LocalStore, position: Position | None, first: int, end: int, now_ms: int) -> str | None:
    """Why the store cannot go on from where it is."""
    if position is None:
        return None if local.store.meta.step == 0 else "it does not say how far it has come"
    if not first <= position.offset <= end:
        return f"it has come to {position.offset}, and the changelog is from {first} to {end}"
    age_ms = now_ms - position.at_ms
    known = -_CLOCKS_DIFFER_MS <= age_ms <= TOMBSTONES_MS // 2  # a clock that was put back says nothing about its age
    if end - position.offset > 1 and not known:  # 1: the marker of its last step
        return "it is so old that deletions may have been forgotten"
    return None


async def _apply(
    local: LocalStore,
    consumer: AIOKafkaConsumer,
    changelog: TopicPartition,
    between: tuple[int, int],
    clock_ms: Callable[[], int],
    *,
    progress: Progress,
) -> int | None:
    """Apply the records between two offsets; how many. None: they are those of another store."""
    start, end = between
    consumer.seek(changelog, start)
    number = changelog.partition
    before = local.position
    meta_at = -1
    began = said = perf_counter()
    applied = 0
    position, moved = start, began
    while position < end:
        check_fetching(consumer)
        try:
            found = await consumer.getmany(changelog, timeout_ms=200, max_records=_AT_ONCE)
        except OffsetOutOfRangeError:
            return None
        records = found.get(changelog, [])
        was, position = position, await consumer.position(changelog)
        if position > was:
            moved = perf_counter()
        elif perf_counter() - moved > _STANDS_S:
            moved = perf_counter()
            if (now_end := (await consumer.end_offsets([changelog]))[changelog]) < end:
                raise ChangelogCut(partition=number, end=now_end, noted=end)
        if records:
            metas = [record for record in records if is_meta(record.key)]
            if before is not None and _foreign(local.store, metas, before.meta_at):
                return None
            meta_at = metas[-1].offset if metas else meta_at
            changes = list(to_changes([(record.key, record.value) for record in records]))
            local.restore(changes, Position(position, clock_ms(), meta_at))
            applied += len(records)
            progress(len(records), max(end - position, 0))
        await asyncio.sleep(0)  # partitions that are running go on firing
        if perf_counter() - said > _SAY_EVERY_S:
            said = perf_counter()
            done = (position - start) / (end - start)
            log.info("partition %d: restoring, %d %% after %.0f s", number, done * 100, said - began)
    progress(0, 0)
    if before is not None and meta_at < 0 <= before.meta_at:
        return None
    if applied:
        log.info("partition %d: restored %d records in %.2f s", number, applied, perf_counter() - began)
    return applied


def _foreign(store: Store, metas: list[ConsumerRecord], meta_at: int) -> bool:
    """Every store has a secret of its own, which its changelog carries on; and what it has applied is still there."""
    for record in metas:
        meta = decode_meta(record.value)
        if meta.secret != store.meta.secret or (record.offset == meta_at and meta != store.meta):
            return True
    return False
