"""A real server for the tests of the API: its own process, three partitions, stopped as by Ctrl-C."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

import lightsched
from lightsched.api.app import face_of
from lightsched.node.settings import Settings

STARTS_WITHIN_S = 60
STOPS_WITHIN_S = 30
BATCH = 10_000
PREFIX = f"api-{uuid.uuid4().hex[:8]}."
"""Of the topics on Kafka, whose broker others use too."""


@contextmanager
def started(folder, *arguments, partitions=3, expect_exit=0, command="dev", executors=False, **environment):
    """`lightsched dev` on a free port; yields the process and its address."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("LIGHTSCHED_")}
    settings |= {"LIGHTSCHED_EMBEDDED__PARTITIONS": str(partitions), **environment}
    program = [sys.executable, "-m", "lightsched", command, "--data", str(folder / "data"), "--port", "0", *arguments]
    if command == "dev" and not executors:
        program.append("--no-executors")  # they poll, as the tests do
    said = folder / "said"
    with said.open("wb") as sink, subprocess.Popen(program, env=settings, stdout=sink, stderr=sink) as process:
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


@contextmanager
def two_on_kafka(folder, bootstrap):
    """Two nodes that share three partitions; yields the address of one: what it does not own, it asks the other for."""
    settings = {
        "LIGHTSCHED_LOG": "kafka",
        "LIGHTSCHED_KAFKA__BOOTSTRAP": bootstrap,
        "LIGHTSCHED_KAFKA__PREFIX": PREFIX,
        "LIGHTSCHED_KAFKA__GROUP": PREFIX + "group",
        "LIGHTSCHED_KAFKA__PARTITIONS": "3",
    }
    with ExitStack() as stack:
        addresses = []
        for n in (1, 2):
            own = {"LIGHTSCHED_NODE__ID": f"node-{n}", "LIGHTSCHED_NODE__URL": f"http://127.0.0.1:{free_port()}"}
            port = own["LIGHTSCHED_NODE__URL"].rpartition(":")[2]
            (home := folder / str(n)).mkdir()
            addresses.append(stack.enter_context(started(home, "--port", port, command="serve", **settings, **own))[1])
        eventually(lambda: all(_owners(address) == 2 for address in addresses), 60)
        yield addresses[0]


def _owners(address):
    """How many nodes share the partitions, when all are known to it."""
    partitions = httpx.get(f"{address}/api/v1/partitions", verify=False).json().get("partitions", [])
    mine = httpx.get(f"{address}/readyz", verify=False).status_code == 200
    return len({each["owner"] for each in partitions}) if mine and len(partitions) == 3 else 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


ON_BOTH_LOGS = pytest.mark.parametrize("server", ["embedded", "kafka"], indirect=True, scope="session")
"""For what must be the same wherever it runs."""


@pytest.fixture(scope="session")
def server(request, tmp_path_factory):
    """The address of a server: one process on the embedded log, and one of two nodes on Kafka."""
    folder = tmp_path_factory.mktemp("server")
    if getattr(request, "param", "embedded") == "kafka":
        with two_on_kafka(folder, request.getfixturevalue("kafka")) as address:
            yield address
    else:
        with started(folder) as (_, address):
            yield address


@pytest.fixture
def http(server):
    with httpx.Client(base_url=server, timeout=60, verify=False) as client:  # reading the authorities takes long
        yield client


@pytest.fixture
def api(server):
    with httpx.Client(base_url=f"{server}/api/v1", timeout=60, verify=False) as client:
        yield client


@pytest.fixture
def on_kafka(request):
    """The test runs on Kafka."""
    return getattr(request.node, "callspec", None) is not None and request.node.callspec.params.get("server") == "kafka"


@pytest.fixture
def prefix(on_kafka):
    """Of lightsched's own topics."""
    return PREFIX if on_kafka else "lightsched."


@pytest.fixture
def make_topic(on_kafka, request):
    """Makes a delivery topic: on Kafka that is up to the user, on the embedded log it is made by the first delivery."""

    def make(topic):
        if on_kafka:
            asyncio.run(_create(request.getfixturevalue("kafka"), topic))
        return topic

    return make


async def _create(bootstrap, topic, partitions=3):
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, 1)])
        while (await admin.describe_topics([topic]))[0]["error_code"]:  # noqa: ASYNC110 -- the broker is to know it
            await asyncio.sleep(0.02)
    finally:
        await admin.close()


@pytest.fixture
def topic(make_topic, name):
    """A delivery topic that no other test uses."""
    return make_topic(f"{name}.deliveries")


@pytest.fixture
async def own(tmp_path):
    """A client of an embedded node in this process, with three partitions, and its log."""
    settings = Settings.load(data=tmp_path, log="embedded", embedded={"partitions": 3})
    async with lightsched.asgi(settings) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://a/api/v1") as client:
            yield client, face_of(await app.start()).node.log


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
