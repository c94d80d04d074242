"""`database`: a new database for one test, in a PostgreSQL that the tests of one process share.

It listens on a socket in its own folder and on no port. PostgreSQL refuses to be root, so for root it is another user.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.broker import tether
from tests.programs import INITDB

READY_WITHIN_S = 60
USER = "lightsched"
UNPRIVILEGED = ("postgres", "nobody")
SETTINGS = {"listen_addresses": "", "fsync": "off", "max_connections": "50"}


@pytest.fixture(scope="session")
def postgres() -> Iterator[Path]:
    """The folder with the socket."""
    with running(Path(INITDB.find()).parent) as folder:
        yield folder


@pytest.fixture
def database(postgres: Path) -> Iterator[dict[str, str]]:
    """libpq's variables for a database of the test's own."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(host=str(postgres), user=USER, dbname="postgres", autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
        yield {"PGHOST": str(postgres), "PGUSER": USER, "PGDATABASE": name}
        db.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def running(programs: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="lightsched-pg-"))  # short: a socket's path has at most 107 characters
    user = _user()
    if user is not None:
        os.chown(folder, *user)
    try:
        data = str(folder / "data")
        _run(*_as(user), programs / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-sync")
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        command = [*_as(user), str(programs / "postgres"), "-D", data, "-k", str(folder), *settings]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
        try:
            _wait(server, folder)
            yield folder
        finally:
            server.send_signal(signal.SIGINT)  # it does not wait for connections
            server.wait()
    finally:
        shutil.rmtree(folder)


def _user() -> tuple[int, int] | None:
    """Who runs it; whoever we are, unless that is root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = next(known[name] for name in UNPRIVILEGED if name in known)
    return entry.pw_uid, entry.pw_gid


def _as(user: tuple[int, int] | None) -> list[str]:
    """What starts a program as this user, so that it ends with us."""
    if user is None:
        return [sys.executable, "-I", tether.__file__, str(os.getpid())]
    # Another user may not be able to read our Python; and whoever changes the user forgets the parent.
    return ["setpriv", f"--reuid={user[0]}", f"--regid={user[1]}", "--clear-groups", "--pdeathsig=KILL"]


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def _wait(server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            psycopg.connect(host=str(folder), user=USER, dbname="postgres").close()
        except psycopg.OperationalError:
            said = (folder / "log").read_text()
            assert server.poll() is None, f"PostgreSQL ended:\n{said}"
            assert time.monotonic() < deadline, f"PostgreSQL is not ready after {READY_WITHIN_S} s:\n{said}"
            time.sleep(0.02)
        else:
            return
