"""How is RocksDB opened, tuned, written, synced and closed? Everything that knows rocksdict's ways is here.

What was measured, and is relied on: `write` and `get` hold the GIL, `flush_wal` releases it, so a sync belongs in a
thread and a write does not. A directory stays locked until every column family opened by name is closed by itself, and
every handle and iterator is gone: so handles live in one dictionary, which `close` empties.
`ReadOptions.set_iterate_lower_bound` of rocksdict 0.3.29 sets the *upper* bound: it is never used here. An iterator
points into its `ReadOptions` without owning them: they must live as long as it does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rocksdict import (
    BlockBasedOptions,
    Cache,
    ColumnFamily,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
)

from lightsched.store.errors import StoreClosed, StoreInUse, StoreNotMade, StoreTooNew
from lightsched.store.families import Tuning

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Memory:
    """What one RocksDB may use; several in one process share a cache and divide the rest."""

    cache: Cache = field(default_factory=lambda: Cache(128 * MB))  # data, index and filter blocks of all families
    memtables_mb: int = 96  # of all families
    wal_mb: int = 96  # what is replayed after a kill, at most
    open_files: int = 512

    def divided(self, parts: int) -> "Memory":
        """The share of each of so many."""
        return Memory(
            self.cache,
            max(self.memtables_mb // parts, 8),
            max(self.wal_mb // parts, 8),
            max(self.open_files // parts, 64),
        )


class Rocks:
    """One open RocksDB."""

    def __init__(self, path: Path, families: Mapping[str, Tuning], memory: Memory | None = None) -> None:
        memory = memory or Memory()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreNotMade(path=path, why=error.strerror) from error
        self.path = path
        _refuse_unknown_families(path, families)
        options = {name: _family_options(tuning, memory.cache) for name, tuning in families.items()}
        try:
            self._db = Rdict(str(path), options=_db_options(memory), column_families=options)
        except Exception as error:
            if "/LOCK" in str(error):
                raise StoreInUse(path=path) from error
            raise
        self.families: dict[str, Rdict] = _WhileOpen()  # to read from
        self.handles: dict[str, ColumnFamily] = {}  # to name in a batch; look one up, do not keep it
        for name in families:
            self.families[name] = self._db.get_column_family(name)
            self.handles[name] = self._db.get_column_family_handle(name)

    def write(self, batch: WriteBatch) -> None:
        """Apply a batch, whole or not at all. It survives the process now, and the machine after the next `sync`."""
        self._db.write(batch)

    def sync(self) -> None:
        """Make everything written so far durable. Blocks for the time of an fsync, without the GIL."""
        self._db.flush_wal(True)

    def close(self) -> None:
        """Let go of the directory: it can be opened again at once. No iterator may be alive."""
        self.handles.clear()
        for family in self.families.values():
            family.close()
        self.families.clear()
        self._db.close()


class _WhileOpen(dict[str, Rdict]):
    def __missing__(self, name: str) -> Rdict:
        raise StoreClosed


def new_batch() -> WriteBatch:
    """An empty batch; it can be written once."""
    return WriteBatch(raw_mode=True)


def below(end: bytes) -> ReadOptions:
    """Read keys below `end` only: an iterator then never crosses the deleted keys of a neighbouring range.

    Keep what is returned for as long as an iterator uses it.
    """
    options = ReadOptions()
    options.set_iterate_upper_bound(end)
    return options


def between(family: Rdict, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
    """All entries from `start` on, below `end`."""
    options = below(end)
    yield from family.items(from_key=start, read_opt=options)


def _db_options(memory: Memory) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_max_background_jobs(2)
    options.set_max_open_files(memory.open_files)
    options.set_max_total_wal_size(memory.wal_mb * MB)
    options.set_db_write_buffer_size(memory.memtables_mb * MB)
    options.set_keep_log_file_num(3)
    options.set_max_log_file_size(4 * MB)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    options.set_skip_stats_update_on_db_open(True)
    options.set_bytes_per_sync(MB)
    return options


def _family_options(tuning: Tuning, cache: Cache) -> Options:
    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    table.set_block_size(tuning.block_kb * 1024)
    table.set_format_version(5)
    if tuning.bloom:
        table.set_bloom_filter(10, False)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(tuning.buffer_mb * MB)
    options.set_max_write_buffer_number(3)
    options.set_level_compaction_dynamic_level_bytes(True)
    options.set_compression_type(DBCompressionType.lz4() if tuning.compressed else DBCompressionType.none())
    return options


def _refuse_unknown_families(path: Path, families: Mapping[str, Tuning]) -> None:
    if not (path / "CURRENT").exists():
        return
    unknown = set(Rdict.list_cf(str(path), Options(raw_mode=True))) - set(families) - {"default"}
    if unknown:
        raise StoreTooNew(path=path, found=f"it has {', '.join(sorted(unknown))}", known="no such family")
