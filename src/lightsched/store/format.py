"""Which version is a store's format, and what brings an older one up to date?"""

from collections.abc import Callable

from lightsched.store.errors import StoreTooNew
from lightsched.store.families import META
from lightsched.store.keys import partition_key
from lightsched.store.rocks import Rocks, new_batch

VERSION = 3


def _to_2(rocks: Rocks, partition: int) -> None:
    """Finished runs are indexed by time (`lightsched.store.finished`): like all that is derived, it is made again."""
    batch = new_batch()
    for name, value in ((b"rebuilding", b""), (b"format", b"2")):
        batch.put(partition_key(partition) + name, value, rocks.handles[META])
    rocks.write(batch)


def _to_3(rocks: Rocks, partition: int) -> None:
    """Entries of `due` hold the state: those that are there and do not are read as before."""
    batch = new_batch()
    batch.put(partition_key(partition) + b"format", b"3", rocks.handles[META])
    rocks.write(batch)


MIGRATIONS: dict[int, Callable[[Rocks, int], None]] = {1: _to_2, 2: _to_3}
"""Version → what turns a partition of that version into the next one."""


def migrate(rocks: Rocks, partition: int, found: int) -> None:
    """Bring a partition's store to `VERSION`, one version at a time."""
    if found > VERSION:
        raise StoreTooNew(path=rocks.path, found=f"format {found}", known=f"format {VERSION}")
    for version in range(found, VERSION):
        MIGRATIONS[version](rocks, partition)
