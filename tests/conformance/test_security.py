"""Does all of it work on brokers that are secured? TLS with a password, and TLS with a certificate of one's own.

And whoever is not let in is told in one line what to do about it.
"""

import asyncio
import json
import re
import subprocess
import sys
import uuid
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest
import yaml

from lightsched import Client
from lightsched.client import Kafka, Unreachable
from lightsched.executor.configured import ExecutorSettings
from lightsched.log.kafka.errors import Unreachable as NotReached
from lightsched.log.kafka.topics import check_all
from lightsched.node.settings import Settings
from lightsched.security import SecuritySettings
from lightsched.settings import BadSettings
from lightsched_files.kafka import Kafka as FilesToKafka
from lightsched_files.settings import KafkaSettings as FilesSettings
from tests.api.conftest import started
from tests.broker.secured import PASSWORD, SecuredBroker
from tests.cli.conftest import type_in
from tests.conformance.make import LONG_S

__all__ = ["type_in"]

PAGE = Path(__file__).parents[2] / "docs" / "secured-kafka.md"
EXAMPLE = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CHECK = "check security.username, security.password and security.mechanism"
ENDS_WITHIN_S = 60
TWO_OF_THEM = ["a wrong password", "an authority that does not know the broker"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    made = SecuredBroker(tmp_path_factory.mktemp("secured"))
    yield made
    made.close()


@pytest.fixture
def scram(broker):
    return but(of_the_page(0, broker.sasl, broker.folder), password=PASSWORD)


@pytest.fixture
def plain(scram):
    return but(scram, mechanism="PLAIN")


@pytest.fixture
def mutual(broker):
    return but(of_the_page(1, broker.mutual, broker.folder), key_password=PASSWORD)


def of_the_page(number, bootstrap, folder):
    """The settings of Kafka in an example, with the broker and the files of the tests."""
    example = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))[number]
    kafka = yaml.safe_load(example.replace("/etc/lightsched/", f"{folder}/"))["kafka"]
    return kafka | {"bootstrap": bootstrap}


def but(kafka, bootstrap=None, **security):
    """The same with other settings; those that are None are left out."""
    changed = {name: value for name, value in (kafka["security"] | security).items() if value is not None}
    return kafka | {"bootstrap": bootstrap or kafka["bootstrap"], "security": changed}


REFUSED = {
    "a wrong password": (
        lambda request: but(request("scram"), password="wrong"),
        f"does not let 'lightsched' in by SCRAM-SHA-512: {CHECK}",
    ),
    "a wrong password by PLAIN": (
        lambda request: but(request("plain"), password="wrong"),
        f"does not let 'lightsched' in by PLAIN: {CHECK}",
    ),
    "a mechanism that the broker has not": (
        lambda request: but(request("scram"), mechanism="SCRAM-SHA-256"),
        "does not know SCRAM-SHA-256: set another security.mechanism",
    ),
    "an authority that does not know the broker": (
        lambda request: but(request("scram"), ca=str(request("broker").folder / "other-ca.pem")),
        "(unable to get local issuer certificate): set security.ca to the authority that signed it",
    ),
    "a name that the certificate has not": (
        lambda request: but(request("scram"), request("broker").sasl.replace("127.0.0.1", "localhost")),
        "is not valid for 'localhost'): write the address of the brokers as it stands in their certificate",
    ),
    "no certificate of one's own": (
        lambda request: but(request("mutual"), certificate=None, key=None, key_password=None),
        "check security.certificate and security.key",
    ),
    "no password": (
        lambda request: but(request("scram"), protocol="SSL", username=None, password=None),
        "closes the connection: check the port, and whether security.protocol is SSL",
    ),
    "no TLS": (
        lambda request: {"bootstrap": request("broker").sasl, "security": {}},
        "closes the connection: check the port, and whether security.protocol is PLAINTEXT",
    ),
    "a broker that says it is elsewhere": (
        lambda request: but(request("plain"), request("broker").lost, protocol="SASL_PLAINTEXT", ca=None),
        ": start it, or give another address",
    ),
    "TLS where there is none": (
        lambda request: but(request("scram"), request("broker").in_the_clear),
        "closes the connection: check the port, and whether security.protocol is SASL_SSL",
    ),
}


@pytest.fixture(params=REFUSED)
def refused(request):
    """Settings of somebody who is not let in, and what they should be told."""
    make, words = REFUSED[request.param]
    return make(request.getfixturevalue), words


def written(folder, kafka, **more):
    """A file of settings."""
    settings = {"log": "kafka", "data": str(folder / "data"), "kafka": {"partitions": 1, **kafka, **more}}
    file = folder / "lightsched.yml"
    file.write_text(yaml.safe_dump(settings))
    return file


@asynccontextmanager
async def slow_line(bootstrap):
    """A port that leads to a broker; what it says by TLS comes record by record, so its goodbye after its last word."""
    links = set()

    async def records(reader, writer):
        while True:
            head = await reader.readexactly(5)
            writer.write(head + await reader.readexactly(int.from_bytes(head[3:])))
            await asyncio.sleep(0.05)

    async def requests(reader, writer):
        while some := await reader.read(65_536):
            writer.write(some)

    async def serve(reader, writer):
        links.add(asyncio.current_task())
        from_broker, to_broker = await asyncio.open_connection(*bootstrap.split(":"))
        answering = asyncio.create_task(requests(reader, to_broker))
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await records(from_broker, writer)
        answering.cancel()
        for each in (writer, to_broker):
            each.close()
        await asyncio.gather(answering, writer.wait_closed(), to_broker.wait_closed(), return_exceptions=True)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        yield listening.sockets[0].getsockname()[1]
        await asyncio.gather(*links)


def topics_of(kafka, prefix):
    return Kafka(kafka["bootstrap"], prefix, SecuritySettings(**kafka["security"]).options())


@pytest.mark.parametrize("how", ["scram", "mutual"])
async def test_an_event_goes_all_the_way_and_back(how, request, tmp_path):
    kafka = request.getfixturevalue(how)
    prefix = f"{how}-{uuid.uuid4().hex[:8]}."
    file = written(tmp_path, but(kafka, password=None, key_password=None), prefix=prefix, group=prefix + "group")
    secrets = {name: kafka["security"][name] for name in ("password", "key_password") if name in kafka["security"]}
    environment = {f"LIGHTSCHED_KAFKA__SECURITY__{name.upper()}": secret for name, secret in secrets.items()}
    executor = ExecutorSettings(
        server=f"kafka://{kafka['bootstrap']}?prefix={prefix}", security=SecuritySettings(**kafka["security"])
    ).made()
    done = asyncio.Event()

    @executor.on("greet")
    async def greet(payload):
        done.set()
        return f"Hello {payload}"

    with started(tmp_path, "--config", str(file), command="serve", **environment) as (_, address):
        async with asyncio.timeout(LONG_S), Client(address) as rest, Client(topics_of(kafka, prefix)) as topics:
            await rest.schedule(id="by REST", in_="1ms", payload="you")
            await topics.schedule(id="by Kafka", in_="1ms", payload="world", type="greet", timeout="1m")
            found = {each.id: each.payload async for each in topics.deliveries(group="readers", limit=2)}
            assert found == {"by REST": "you", "by Kafka": "world"}
            async with topics.transaction() as together:
                together.schedule(id="later", in_="1h")
            executing = asyncio.create_task(executor.run())
            await done.wait()
            executor.stop()
            await executing
            while (await rest.get("by Kafka")).status != "SUCCESS":  # noqa: ASYNC110 -- another process tells it
                await asyncio.sleep(0.02)
            (run,) = [run async for run in rest.runs("by Kafka")]
            assert run.result == "Hello world"
            assert (await rest.get("later")).status == "NOT_STARTED"


def test_topics_are_created_and_the_doctor_is_content_with_a_password_from_the_environment(
    type_in, plain, tmp_path, monkeypatch
):
    file = written(tmp_path, but(plain, password=None), prefix="by-hand.")
    monkeypatch.setenv("LIGHTSCHED_KAFKA__SECURITY__PASSWORD", PASSWORD)
    monkeypatch.setenv("LIGHTSCHED_HTTP__PORT", "0")
    created = type_in("topics", "create", "--config", file, "--json")
    assert (created.code, created.err) == (0, "")
    assert "by-hand.events" in json.loads(created.out)["created"]
    found = {each["what"]: each for each in map(json.loads, type_in("doctor", "--config", file, "--json").lines)}
    assert found["broker"]["verdict"] == "good", found


@pytest.mark.parametrize("how", ["scram", "mutual"])
def test_the_command_line_is_let_in_by_the_environment(how, request, type_in, tmp_path, monkeypatch):
    kafka = request.getfixturevalue(how)
    prefix = f"{how}-cli-{uuid.uuid4().hex[:8]}."
    assert type_in("topics", "create", "--config", written(tmp_path, kafka, prefix=prefix)).code == 0
    for name, value in kafka["security"].items():
        monkeypatch.setenv(f"LIGHTSCHED_KAFKA__SECURITY__{name.upper()}", str(value))
    server = ("--server", f"kafka://{kafka['bootstrap']}?prefix={prefix}")
    sent = type_in(*server, "schedule", "--id", "tea", "--in", "1h")
    assert (sent.code, sent.err) == (0, "")
    watched = type_in(*server, "watch", "--group", "cli", "--idle", "1s", "--json")
    assert (watched.code, watched.out, watched.err) == (0, "", "")


def test_the_command_line_is_told_who_does_not_let_it_in_and_what_does_not_go_together(type_in, scram, monkeypatch):
    for name, value in but(scram, password="wrong")["security"].items():
        monkeypatch.setenv(f"LIGHTSCHED_KAFKA__SECURITY__{name.upper()}", value)
    command = ("--server", f"kafka://{scram['bootstrap']}", "schedule", "--in", "1h")
    refused = type_in(*command)
    assert (refused.code, refused.err.endswith(f"{CHECK}.\n")) == (1, True)
    monkeypatch.setenv("LIGHTSCHED_KAFKA__SECURITY__PROTOCOL", "PLAINTEXT")
    wrong = type_in(*command)
    assert (wrong.code, "set protocol" in wrong.err) == (2, True)


def test_a_name_that_the_certificate_has_not_is_let_in_where_nobody_looks(type_in, scram, tmp_path):
    elsewhere = but(scram, scram["bootstrap"].replace("127.0.0.1", "localhost"), check_hostname=False)
    done = type_in("topics", "create", "--config", written(tmp_path, elsewhere, prefix="unchecked."))
    assert (done.code, done.err) == (0, "")


def test_who_is_not_let_in_is_told_what_to_do_by_every_command(type_in, refused, tmp_path, monkeypatch):
    kafka, words = refused
    monkeypatch.setenv("LIGHTSCHED_HTTP__PORT", "0")
    file = written(tmp_path, kafka)
    created = type_in("topics", "create", "--config", file)
    assert (created.code, created.out) == (1, "")
    assert created.err.startswith(f"lightsched: Kafka cannot be reached at {kafka['bootstrap']}: ")
    assert created.err.endswith(f"{words}.\n")
    assert created.err.count("\n") == 1
    examined = type_in("doctor", "--config", file, "--json")
    found = {each["what"]: each for each in map(json.loads, examined.lines)}["broker"]
    assert (examined.code, examined.err, found["verdict"]) == (1, "", "bad")
    assert found["words"].endswith(f"{words}.")


@pytest.mark.parametrize("refused", [*TWO_OF_THEM, "a broker that says it is elsewhere"], indirect=True)
def test_a_node_that_is_not_let_in_ends_and_says_why(refused, tmp_path):
    kafka, words = refused
    command = [sys.executable, "-m", "lightsched", "serve", "--config", str(written(tmp_path, kafka)), "--port", "0"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ENDS_WITHIN_S)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.endswith(f"{words}.\n")
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("refused", TWO_OF_THEM, indirect=True)
async def test_clients_executors_and_injectors_say_it_too(refused):
    kafka, words = refused
    security = SecuritySettings(**kafka["security"])
    executor = ExecutorSettings(server=f"kafka://{kafka['bootstrap']}", security=security).made()
    files = FilesToKafka(FilesSettings(**kafka))
    async with asyncio.timeout(LONG_S), Client(topics_of(kafka, "any.")) as client:
        for attempt in (client.schedule(in_="1h"), executor.run(), files.open("any")):
            with pytest.raises(Unreachable) as said:
                await attempt
            assert str(said.value).endswith(f"{words}.")
    await files.close()


@pytest.mark.parametrize("refused", ["a wrong password", "a mechanism that the broker has not"], indirect=True)
async def test_who_is_not_let_in_has_closed_all_sockets_when_told(refused, tmp_path):
    kafka, words = refused
    async with asyncio.timeout(LONG_S), slow_line(kafka["bootstrap"]) as port:
        settings = Settings.load(written(tmp_path, but(kafka, f"127.0.0.1:{port}"))).kafka
        with pytest.raises(NotReached, match=re.escape(words)):
            await check_all(settings.connection("any"), settings.names(), settings.partitions, settings.replication)
        assert port not in [each.raddr.port for each in psutil.Process().net_connections("tcp") if each.raddr]


@pytest.mark.parametrize("password", [None, "wrong"])
def test_a_key_that_cannot_be_decrypted_is_named_and_nobody_is_asked(mutual, password):
    security = SecuritySettings(**but(mutual, key_password=password)["security"])
    with pytest.raises(BadSettings, match=r"client\.key cannot be used: "):
        security.options()
