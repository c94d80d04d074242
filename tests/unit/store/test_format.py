import subprocess
import sys

import pytest
from rocksdict import Options, Rdict

from lightsched.store.errors import StoreInUse, StoreNotMade, StoreTooNew
from lightsched.store.families import META, STORE_FAMILIES
from lightsched.store.format import VERSION
from lightsched.store.rocks import Rocks, new_batch
from lightsched.store.store import Store
from tests.unit.store.make import opened

OPEN = """
import sys
from pathlib import Path
from lightsched.store.families import STORE_FAMILIES
from lightsched.store.rocks import Rocks
Rocks(Path(sys.argv[1]), STORE_FAMILIES)
"""


def test_a_store_of_a_newer_format_is_refused(rocks):
    Store(rocks, 0)
    batch = new_batch()
    batch.put(b"\0\0format", str(VERSION + 1).encode(), rocks.handles[META])
    rocks.write(batch)
    with pytest.raises(StoreTooNew, match=f"format {VERSION + 1}, this one knows format {VERSION}"):
        Store(rocks, 0)


def test_a_database_with_families_unknown_here_is_refused(tmp_path):
    options = Options(raw_mode=True)
    options.create_missing_column_families(True)
    Rdict(str(tmp_path), options=options, column_families={"teleport": Options(raw_mode=True)}).close()
    with pytest.raises(StoreTooNew, match="teleport"):
        Rocks(tmp_path, STORE_FAMILIES)


def test_a_second_process_is_told_that_the_directory_is_in_use(rocks):
    second = subprocess.run(
        [sys.executable, "-c", OPEN, str(rocks.path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert second.returncode != 0
    assert "StoreInUse" in second.stderr
    assert str(rocks.path) in second.stderr


def test_a_directory_that_is_open_in_this_process_is_in_use_too(rocks):
    with pytest.raises(StoreInUse):
        Rocks(rocks.path, STORE_FAMILIES)


def test_a_closed_database_can_be_opened_again_at_once(tmp_path):
    for _ in range(3):
        with opened(tmp_path / "db") as rocks:
            store = Store(rocks, 0)
            assert store.due(2**40, 10) == []
            del store


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreNotMade, match="file/store cannot be made"):
        Rocks(tmp_path / "file" / "store", STORE_FAMILIES)
