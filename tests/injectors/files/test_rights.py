"""What if the watcher may not? It says what it may not do, loses nothing, and goes on with all the rest.

Root may do everything, so that here it goes without its privileges: rights of files hold for it as for everybody.
"""

import json
import os

import pytest

from lightsched import SyncClient
from tests.injectors.files.process import watching

LIKE_EVERYBODY = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
NOBODY = 65534


@pytest.fixture
def watcher(tmp_path, inbox, server):
    """A watcher of two directories, not started yet."""
    (other := tmp_path / "other").mkdir()
    watch = [{"directory": str(folder), "settle": "1ms"} for folder in (inbox, other)]
    settings = {"watch": watch, "inject": {"rest": {"url": server}}, "rescan": "200ms"}
    return lambda: watching(tmp_path, settings, under=LIKE_EVERYBODY)


@pytest.fixture
def drop(inbox, name):
    """Drops a file with one event, under its own name as the label."""

    def drop(file, folder=inbox):
        (folder / file).write_text(json.dumps({"in": "1h", "labels": {"t": name, "file": file}}))

    return drop


@pytest.fixture
def scheduled(server, name):
    def scheduled():
        with SyncClient(server) as client:
            return sorted(event.labels["file"] for event in client.list(labels={"t": name}))

    return scheduled


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_file_that_may_not_be_read_fails_and_the_others_go_in(watcher, inbox, drop, scheduled):
    for file in ("a.ndjson", "secret.ndjson", "z.ndjson"):
        drop(file)
    (inbox / "secret.ndjson").chmod(0)
    with watcher() as process:
        process.wait_until((inbox / "done" / "z.ndjson").exists)
        process.wait_until((inbox / "failed" / "secret.ndjson").exists)
    assert names_in(inbox / "done") == ["a.ndjson", "z.ndjson"]
    assert "cannot be read: its permissions do not allow it" in (inbox / "failed/secret.ndjson.error").read_text()
    assert scheduled() == ["a.ndjson", "z.ndjson"]


@pytest.mark.parametrize("place", [".", "done", ".lightsched"])
def test_a_folder_that_may_not_be_written_is_waited_for(watcher, inbox, drop, scheduled, place):
    folder, other = inbox / place, inbox.parent / "other"
    folder.mkdir(exist_ok=True)
    drop("a.ndjson")
    drop("b.ndjson")
    folder.chmod(0o555)
    with watcher() as process:
        process.wait_for("Permission denied (again in")
        drop("c.ndjson", other)
        process.wait_until((other / "done" / "c.ndjson").exists)
        folder.chmod(0o755)
        process.wait_until((inbox / "done" / "a.ndjson").exists)
        process.wait_until((inbox / "done" / "b.ndjson").exists)
    said = process.said
    assert f"{inbox}: {'' if place == '.' else place + '/'}" in said
    assert scheduled() == ["a.ndjson", "b.ndjson", "c.ndjson"]
    assert names_in(inbox / ".lightsched") == ["journal.json", "lock"]


def test_a_report_that_may_not_be_written_is_waited_for(watcher, inbox, drop, scheduled):
    (inbox / "bad.ndjson").write_text("no event")
    (failed := inbox / "failed").mkdir(mode=0o555)
    with watcher() as process:
        process.wait_for(f"{inbox}: failed/bad.ndjson.error: Permission denied (again in")
        failed.chmod(0o755)
        process.wait_until((failed / "bad.ndjson").exists)
        drop("a.ndjson")
        process.wait_until((inbox / "done" / "a.ndjson").exists)
    assert names_in(failed) == ["bad.ndjson", "bad.ndjson.error"]
    assert scheduled() == ["a.ndjson"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_file_of_somebody_else_in_a_sticky_directory_is_left_and_the_others_go_in(watcher, inbox, drop, scheduled):
    """As in /tmp: everybody may drop, and only the owner may take away."""
    drop("theirs.ndjson")
    os.chown(inbox / "theirs.ndjson", NOBODY, NOBODY)
    for folder in (".lightsched", "done", "failed"):
        (inbox / folder).mkdir()
    os.chown(inbox, NOBODY, NOBODY)
    inbox.chmod(0o1777)
    with watcher() as process:
        process.wait_for("theirs.ndjson cannot be taken")
        drop("a.ndjson")
        process.wait_until((inbox / "done" / "a.ndjson").exists)
        drop("b.ndjson")
        process.wait_until((inbox / "done" / "b.ndjson").exists)
        assert scheduled() == ["a.ndjson", "b.ndjson"]
        assert process.said.count("cannot be taken") == 1
        os.chown(inbox / "theirs.ndjson", 0, 0)
        process.wait_until((inbox / "done" / "theirs.ndjson").exists)
    assert scheduled() == ["a.ndjson", "b.ndjson", "theirs.ndjson"]
