"""What if something is not as it was left? Nothing is overwritten, nothing comes twice, and what is strange is said."""

import json
import os
from pathlib import Path

import pytest

from lightsched import SyncClient
from lightsched_files.folder import Folder
from lightsched_files.journal import BadJournal, Entry, Journal, Position
from lightsched_files.main import watchers_of
from lightsched_files.settings import Settings
from tests.api.conftest import free_port
from tests.injectors.files.process import watching
from tests.injectors.files.test_watcher import inject, names_in, scheduled


def line(name, **more):
    return json.dumps({"in": "1h", "labels": {"t": name}, **more}) + "\n"


def left(inbox, content, *, was, **position):
    """What a crash has left: a file that was taken when it held something else, maybe."""
    with Folder(inbox) as folder:
        taken = inbox / ".lightsched" / "1"
        taken.write_text(content)
        entry = Entry(1, b"a.ndjson", 1_000_000, size=len(was), modified_ns=taken.stat().st_mtime_ns)
        Journal(next=2, taken=[entry], **position).save(folder)


async def test_a_file_that_changed_after_it_was_begun_fails_and_nothing_more_of_it_is_sent(server, inbox, name):
    was = line(name) * 3
    left(inbox, was + line(name), was=was, sent=Position(1, 2))
    await inject(server, inbox)
    assert names_in(inbox / "failed") == ["a.ndjson", "a.ndjson.error"]
    assert "was changed while it was injected" in (inbox / "failed/a.ndjson.error").read_text()
    assert await scheduled(server, name) == []


async def test_a_file_that_changed_when_a_request_was_under_way_fails_too(server, inbox, name):
    was = line(name) * 3
    left(inbox, was + line(name), was=was, sending=Position(1, 3))
    await inject(server, inbox)
    assert names_in(inbox / "failed") == ["a.ndjson", "a.ndjson.error"]
    assert await scheduled(server, name) == []


async def test_a_file_that_changed_before_it_was_begun_is_injected_as_it_is_now(server, inbox, name):
    left(inbox, line(name) * 4, was=line(name))
    await inject(server, inbox)
    assert names_in(inbox / "done") == ["a.ndjson"]
    assert len(await scheduled(server, name)) == 4


async def test_a_file_that_is_as_it_was_is_finished(server, inbox, name):
    left(inbox, line(name) * 4, was=line(name) * 4, sent=Position(1, 3))
    await inject(server, inbox)
    assert names_in(inbox / "done") == ["a.ndjson"]
    assert len(await scheduled(server, name)) == 1


@pytest.mark.parametrize("first", ["a.ndjson", "a.ndjson.error"])
async def test_a_report_never_takes_the_place_of_a_file(server, inbox, first):
    for age, name in enumerate(sorted(("a.ndjson", "a.ndjson.error"), key=lambda name: name != first)):
        (inbox / name).write_text(f"I am {name}")
        os.utime(inbox / name, (1_000_000 + age, 1_000_000 + age))
    await inject(server, inbox)
    texts = [path.read_text() for path in (inbox / "failed").iterdir()]
    assert len(texts) == 4
    assert {"I am a.ndjson", "I am a.ndjson.error"} < set(texts)


async def test_what_was_half_written_when_it_was_killed_is_removed(server, inbox):
    with Folder(inbox) as folder:
        Journal().save(folder)
    for name in ("journal.new", "report.new"):
        (inbox / ".lightsched" / name).write_text('{"half')
    await inject(server, inbox)
    assert sorted(names_in(inbox / ".lightsched")) == ["journal.json", "lock"]


async def test_what_the_journal_does_not_know_is_said_and_not_overwritten(server, inbox, name, caplog):
    with Folder(inbox):
        (inbox / ".lightsched" / "7").write_text("nobody knows me")
    for file in "abcdefgh":
        (inbox / f"{file}.ndjson").write_text(line(name, payload=file))
    await inject(server, inbox)
    assert (inbox / ".lightsched" / "7").read_text() == "nobody knows me"
    assert len(await scheduled(server, name)) == 8
    assert "holds 7, which no journal knows" in caplog.text


@pytest.mark.parametrize("content", ["no json", "[]", '{"version": 1, "taken": 5}'])
async def test_a_journal_that_cannot_be_read_is_an_error_that_says_what_to_do(server, inbox, content):
    with Folder(inbox):
        (inbox / ".lightsched" / "journal.json").write_text(content)
    with pytest.raises(BadJournal, match=r"journal\.json cannot be read .*: move it away"):
        await inject(server, inbox)


def test_a_directory_by_two_names_is_one(tmp_path, inbox):
    (tmp_path / "link").symlink_to(inbox)
    watch = [{"directory": str(inbox), "pattern": "*.csv"}, {"directory": str(tmp_path / "link"), "pattern": "*.json"}]
    (watcher,) = watchers_of(Settings(watch=watch))
    assert watcher.path == inbox


def test_a_broker_that_is_away_costs_no_descriptors(tmp_path, inbox, name):
    for number in range(20):
        (inbox / f"{number}.ndjson").write_text(line(name))
    settings = {
        "watch": [{"directory": str(inbox), "settle": "1ms"}],
        "inject": {"kafka": {"bootstrap": f"127.0.0.1:{free_port()}"}},
    }
    with watching(tmp_path, settings) as process:
        process.wait_for("(again in")
        before = len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
        process.wait_for("(again in", times=3)
        assert len(list(Path(f"/proc/{process.pid}/fd").iterdir())) < before + 10
    assert len(names_in(inbox / ".lightsched")) == 22


@pytest.mark.parametrize("name_bytes", [b"caf\xe9.crontab", "café\n.crontab".encode()])
async def test_a_crontab_with_an_odd_name_is_converted(server, inbox, name_bytes):
    (inbox / os.fsdecode(name_bytes)).write_text("@yearly /usr/bin/never\n")
    counts = await inject(server, inbox, converter="crontab")
    assert (counts["done"], counts["events"]) == (1, 1)
    with SyncClient(server) as client:
        assert any(event.labels.get("source", "").startswith("caf") for event in client.list())
