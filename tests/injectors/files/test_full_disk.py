"""What if the disk is full? A real one, small, in a mount namespace of the watcher's own: nothing is lost, or twice."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from lightsched import SyncClient
from tests.api.conftest import free_port, started
from tests.injectors.files.process import watching

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mount namespaces are Linux's")
DISK = "64k"


@pytest.fixture
def on_small_disk(tmp_path, inbox):
    """A watcher whose inbox is a disk of its own, and that inbox as it can be reached from here."""

    def start(server):
        settings = {
            "watch": [{"directory": str(inbox), "settle": "1ms"}],
            "inject": {"rest": {"url": server}},
            "rescan": "200ms",
        }
        mount = f'mount -t tmpfs -o size={DISK} tmpfs {inbox} && exec "$@"'
        alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        return watching(tmp_path, settings, under=[*alone, "sh", "-c", mount, "sh"])

    def inside(process):
        process.wait_for("watching")
        return Path(f"/proc/{process.pid}/root{inbox}")

    return start, inside


def fill(inbox):
    """Until there is no room for another byte."""
    filler = inbox / ".filler"
    with filler.open("ab", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError:
                return filler


def drop(inbox, content, name="a.ndjson"):
    (inbox / f".{name}").write_text(content)
    (inbox / f".{name}").rename(inbox / name)


def test_nothing_is_taken_until_there_is_room(on_small_disk, server, name):
    start, inside = on_small_disk
    with start(server) as process:
        inbox = inside(process)
        (inbox / ".a.ndjson").write_text(json.dumps({"in": "1h", "labels": {"t": name}}))
        filler = fill(inbox)
        (inbox / ".a.ndjson").rename(inbox / "a.ndjson")
        process.wait_for("No space left on device (again in", times=2)
        assert (inbox / "a.ndjson").exists()
        filler.unlink()
        process.wait_until((inbox / "done/a.ndjson").exists)
        with SyncClient(server) as client:
            assert len(list(client.list(labels={"t": name}))) == 1


def test_what_was_sent_when_the_disk_ran_full_is_not_sent_again(on_small_disk, tmp_path, name):
    """A trigger that is carried out twice would be seen."""
    port = free_port()
    start, inside = on_small_disk
    lines = [{"id": name, "cron": "0 0 29 2 *"}, {"op": "trigger", "id": name}]
    (folder := tmp_path / "server").mkdir()
    with start(f"http://127.0.0.1:{port}") as process:
        inbox = inside(process)
        drop(inbox, "\n".join(map(json.dumps, lines)))
        process.wait_until((inbox / ".lightsched/1").exists)
        process.wait_for("(again in")  # nobody is there to send it to
        filler = fill(inbox)
        with started(folder, "--port", str(port)) as (_, address), SyncClient(address) as client:
            process.wait_for("No space left on device (again in", times=2)
            filler.unlink()
            process.wait_until((inbox / "done/a.ndjson").exists)
            deadline = time.monotonic() + 60
            while not (runs := list(client.runs(name))):
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert len(runs) == 1
            assert sorted(entry.name for entry in (inbox / ".lightsched").iterdir()) == ["journal.json", "lock"]


def test_a_report_waits_for_room_and_is_whole(on_small_disk, server):
    start, inside = on_small_disk
    with start(server) as process:
        inbox = inside(process)
        (inbox / ".a.ndjson").write_text("no event\n" * 400)
        filler = fill(inbox)
        os.truncate(filler, filler.stat().st_size - 2 * 4096)  # enough for the journal, and not for the report
        (inbox / ".a.ndjson").rename(inbox / "a.ndjson")
        process.wait_for("No space left on device (again in", times=2)
        assert list((inbox / "failed").iterdir()) == []
        assert not (inbox / ".lightsched/report.new").exists()  # it would keep what room there is
        filler.unlink()
        process.wait_until((inbox / "failed/a.ndjson").exists)
        assert (inbox / "failed/a.ndjson.error").read_text().count("\n") == 401
