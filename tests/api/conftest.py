"""A real server for the tests of the API: its own process, three partitions, stopped as by Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from contextlib import contextmanager

import httpx
import pytest

STARTS_WITHIN_S = 60
STOPS_WITHIN_S = 30
BATCH = 10_000


@contextmanager
def started(folder, *arguments, partitions=3, expect_exit=0, **environment):
    """`lightsched dev` on a free port; yields the process and its address."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTSCHED_")}
    settings |= {"LIGHTSCHED_EMBEDDED__PARTITIONS": str(partitions), **environment}
    command = [sys.executable, "-m", "lightsched", "dev", "--data", str(folder / "data"), "--port", "0", *arguments]
    said = folder / "said"
    with said.open("wb") as sink, subprocess.Popen(command, env=settings, stdout=sink, stderr=sink) as process:
        try:
            yield process, address_of(process, said)
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            assert process.wait(STOPS_WITHIN_S) == expect_exit, said.read_text()
            assert "Traceback" not in said.read_text(), said.read_text()
        finally:
            process.kill()


def address_of(process, said):
    deadline = time.monotonic() + STARTS_WITHIN_S
    while process.poll() is None and time.monotonic() < deadline:
        if found := re.search(r"API +(http://\S+)/api/v1", said.read_text()):
            return found[1]
        time.sleep(0.02)
    pytest.fail(f"the server did not start (exit code {process.poll()}); it said:\n{said.read_text()}")


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server")) as (_, address):
        yield address


@pytest.fixture
def http(server):
    with httpx.Client(base_url=server, timeout=60) as client:
        yield client


@pytest.fixture
def api(server):
    with httpx.Client(base_url=f"{server}/api/v1", timeout=60) as client:
        yield client


@pytest.fixture
def name():
    """A name that no other test uses: an id, a tenant, a group."""
    return f"t{uuid.uuid4().hex}"


def eventually(look, within_s=30):
    """Look again until it is true; what it was is returned."""
    deadline = time.monotonic() + within_s
    while True:
        if found := look():
            return found
        assert time.monotonic() < deadline, f"not within {within_s} s"
        time.sleep(0.02)


def is_problem(response, status, **members):
    """Is it an RFC 9457 problem? Its body."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == status
    assert body["type"].startswith("urn:lightsched:problem:")
    assert body["title"]
    assert body["detail"]
    for name, value in members.items():
        assert body[name] == value, body
    return body


def fields_of(problem):
    return {error["field"] for error in problem["errors"]}
