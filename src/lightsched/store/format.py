"""Which version is a store's format, and what brings an older one up to date?"""

from collections.abc import Callable

from lightsched.store.errors import StoreTooNew
from lightsched.store.rocks import Rocks

VERSION = 1

MIGRATIONS: dict[int, Callable[[Rocks, int], None]] = {}
"""Version → what turns a partition of that version into the next one."""


def migrate(rocks: Rocks, partition: int, found: int) -> None:
    """Bring a partition's store to `VERSION`, one version at a time."""
    if found > VERSION:
        raise StoreTooNew(path=rocks.path, found=f"format {found}", known=f"format {VERSION}")
    for version in range(found, VERSION):
        MIGRATIONS[version](rocks, partition)
