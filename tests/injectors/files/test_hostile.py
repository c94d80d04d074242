"""What if somebody drops what should not be there? A clear outcome each, nothing else is touched, memory is bounded."""

import json
import os
import stat
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.client.test_files import BOMB
from tests.injectors.files.process import watching

MOST_MB = 300
NEWLINE, NOT_UTF8, DASH = "line\nend.ndjson", os.fsdecode(b"\xff\xfe.ndjson"), "-rf.ndjson"
LONG = "x" * 248 + ".ndjson"
THOUSANDS = 2_000


@pytest.fixture(scope="module")
def after(server, tmp_path_factory):
    """A directory full of traps, after the watcher has been there."""
    folder = tmp_path_factory.mktemp("hostile")
    inbox = folder / "inbox"
    inbox.mkdir()
    secret = folder / "secret"
    secret.write_text(json.dumps({"id": "secret", "in": "1h"}))
    good = json.dumps({"in": "1h", "payload": "good"}).encode() + b"\n"
    (inbox / "link.ndjson").symlink_to(secret)
    os.link(secret, inbox / "hard-link.ndjson")
    os.mkfifo(inbox / "fifo.ndjson")
    if os.geteuid() == 0:
        os.mknod(inbox / "device.ndjson", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    (inbox / "directory.ndjson").mkdir()
    for name in (NEWLINE, NOT_UTF8, DASH, LONG):
        (inbox / name).write_bytes(good)
    with (inbox / "long-line.ndjson").open("wb") as file:
        file.truncate(2 * 1024**3)
    for form in ("json", "yaml", "csv"):
        with (inbox / f"long-line.{form}").open("wb") as file:
            file.write({"json": b'[{"payload": "', "yaml": b"- payload: 'x", "csv": b'in,payload\n1h,"'}[form])
            for _ in range(40):
                file.write(b"x" * 1024 * 1024)
    (inbox / "bomb.yaml").write_text(BOMB)
    (inbox / "utf16.ndjson").write_bytes(good.decode().encode("utf-16"))
    (inbox / "latin1.csv").write_bytes(b"in,payload\n1h,caf\xe9\n")
    (inbox / "latin1.ndjson").write_bytes(b'{"in": "1h", "payload": "caf\xe9"}\n')
    (inbox / "bom.ndjson").write_bytes(b"\xef\xbb\xbf" + good)
    (inbox / "crlf.ndjson").write_bytes(good.replace(b"\n", b"\r\n") * 2)
    (inbox / "empty.ndjson").write_bytes(b"")
    (inbox / "deep.json").write_text("[" * 100_000)
    (inbox / "unknown.exe").write_bytes(b"MZ")
    for number in range(THOUSANDS):
        (inbox / f"many-{number:04d}.ndjson").write_bytes(b'{"in": "1h", "payload": %d}\n' % number)
    settings = {"watch": [{"directory": str(inbox), "settle": "300ms"}], "inject": {"rest": {"url": server}}}
    growing = Growing(inbox / "growing.ndjson", good)
    growing.start()
    with watching(folder, settings) as process:
        resident = 0

        def is_over():
            nonlocal resident
            resident = max(resident, psutil.Process(process.pid).memory_info().rss)
            return names_in(inbox) == [".lightsched", "directory.ndjson", "done", "failed", "growing.ndjson"]

        process.wait_until(is_over, within_s=280)
        grew = growing.stop()
        process.wait_until((inbox / "done" / "growing.ndjson").exists)
    return inbox, secret, resident, grew, process.said


class Growing(threading.Thread):
    """A file that somebody writes to, a line every now and then."""

    def __init__(self, path: Path, line: bytes) -> None:
        super().__init__()
        self._path = path
        self._line = line
        self._over = threading.Event()
        self.lines = 0

    def run(self) -> None:
        with self._path.open("ab", buffering=0) as file:
            while not self._over.is_set():
                file.write(self._line)
                self.lines += 1
                time.sleep(0.05)

    def stop(self) -> int:
        """How many lines there are; nobody has taken it so far."""
        assert self._path.exists()
        self._over.set()
        self.join()
        return self.lines


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("link.ndjson", "is a symbolic link"),
        ("hard-link.ndjson", "has 2 names (hard links)"),
        ("fifo.ndjson", "is a FIFO"),
        pytest.param(
            "device.ndjson",
            "is a device",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device"),
        ),
        ("long-line.ndjson", ":1: is longer than 1,000,000 bytes"),
        ("long-line.json", ":1: an event is longer than 1,000,000 bytes"),
        ("long-line.yaml", "an event is longer than 1,000,000 bytes"),
        ("long-line.csv", ":2: is longer than 1,000,000 bytes"),
        ("bomb.yaml", "with its aliases (`*`) written out"),
        ("utf16.ndjson", ":1: is UTF-16"),
        ("latin1.csv", ":2: is not UTF-8"),
        ("latin1.ndjson", ":1: is not UTF-8"),
        ("deep.json", "nested too deeply"),
        ("unknown.exe", "its form is not known"),
    ],
)
def test_it_fails_and_the_report_says_why(after, name, why):
    inbox, *_ = after
    assert why in (inbox / "failed" / f"{name}.error").read_text()
    assert os.path.lexists(inbox / "failed" / name)


@pytest.mark.parametrize("name", [NEWLINE, NOT_UTF8, DASH, "bom.ndjson", "crlf.ndjson", "empty.ndjson"], ids=ascii)
def test_it_is_odd_but_good(after, name):
    inbox, *_ = after
    assert (inbox / "done" / name).is_file()


def test_a_name_that_is_too_long_for_a_suffix_is_cut(after):
    inbox, *_ = after
    assert any(name.startswith("xxx") and name.endswith("x.ndjson") for name in names_in(inbox / "done"))


def test_thousands_at_once_and_one_that_grows_are_all_injected(after):
    inbox, _, _, grew, _ = after
    done = names_in(inbox / "done")
    assert sum(name.startswith("many-") for name in done) == THOUSANDS
    assert (inbox / "done" / "growing.ndjson").read_bytes().count(b"\n") == grew


def test_nothing_else_is_touched_and_nothing_is_left_between(after):
    inbox, secret, _, _, said = after
    assert json.loads(secret.read_text())["id"] == "secret"
    assert secret.stat().st_nlink == 2
    assert (inbox / "failed" / "link.ndjson").is_symlink()
    assert names_in(inbox / "directory.ndjson") == []
    assert names_in(inbox / ".lightsched") == ["journal.json", "lock"]
    assert "secret" not in said
    assert all("\n" not in line for line in said.splitlines())


def test_memory_is_bounded(after):
    _, _, resident, _, _ = after
    assert 0 < resident < MOST_MB * 1e6, f"{resident / 1e6:.0f} MB"
