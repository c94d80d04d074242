"""The program as it is typed: what it imports, how it paints, how it ends."""

import asyncio
import contextlib
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from lightsched import SyncClient
from lightsched.cli.printing import relative
from lightsched.cli.serving import _loop_factory
from tests.api.conftest import free_port, started
from tests.cli.conftest import program

OF_A_SERVER = {
    *("fastapi", "uvicorn", "rocksdict", "aiokafka", "pydantic_settings", "prometheus_client"),
    *("lightsched.node", "lightsched.api", "lightsched.store", "lightsched.engine", "lightsched.log"),
}


@pytest.mark.parametrize(
    ("arguments", "more"),
    [(["--help"], {"msgspec", "httpx", "asyncio"}), (["get", "x"], {"rich"}), (["inject", "--check", "-"], {"httpx"})],
)
def test_only_what_is_needed_is_imported(arguments, more):
    look = (
        "import sys, atexit, lightsched.cli; sys.argv[1:] = %r; "
        "atexit.register(lambda: print('modules', *sys.modules, file=sys.stderr)); lightsched.cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", look % ["--server", "http://127.0.0.1:9", *arguments]],
        capture_output=True,
        text=True,
        input="",
        check=False,
    )
    loaded = set(done.stderr.rpartition("modules ")[2].split())
    assert "lightsched.cli.main" in loaded
    assert loaded & (OF_A_SERVER | more) == set()


def test_it_knows_its_version_and_its_shells():
    assert program("--version").stdout.startswith("lightsched 0.")
    offered = program(_LIGHTSCHED_COMPLETE="complete_bash", COMP_WORDS="lightsched pre", COMP_CWORD="1")
    assert offered.stdout.split() == ["preview"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["preview", "--tz", "Europe/Par"], ["Europe/Paris"]),
        (["schedule", "--tz", "Antarctica/V"], ["Antarctica/Vostok"]),
        (["list", "--status", "NOT"], ["NOT_STARTED"]),
        (["--server", "http://127.0.0.1:1", "get", "a"], []),
    ],
)
def test_a_shell_offers_what_could_be_meant(words, offered):
    typed = {"COMP_WORDS": " ".join(["lightsched", *words]), "COMP_CWORD": str(len(words))}
    assert program(_LIGHTSCHED_COMPLETE="complete_bash", **typed).stdout.split() == offered


def test_a_shell_offers_ids_of_events(server, name):
    with SyncClient(server, tenant=name) as client:
        client.schedule_many({"id": id, "in": "1h"} for id in ("stand-up", "stay", "tea"))
    words = ["get", "--tenant", name, "st"]
    typed = {"COMP_WORDS": " ".join(["lightsched", *words]), "COMP_CWORD": str(len(words))}
    offered = program(_LIGHTSCHED_COMPLETE="complete_bash", LIGHTSCHED_SERVER=server, **typed)
    assert offered.stdout.split() == ["stand-up", "stay"]


def on_a_terminal(*arguments, **environment):
    """What a person sees."""
    ours, theirs = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "TERM"}}
    command = [sys.executable, "-m", "lightsched", *arguments]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**clean, "TERM": "xterm-256color", **environment}
    )
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65_536):
            seen += chunk
    except OSError:
        pass  # the other side is closed
    os.close(ours)
    assert process.wait(30) == 0
    return seen.decode()


@pytest.fixture
def client(server):
    with SyncClient(server) as client:
        yield client


def test_colours_are_for_terminals(client, server, name):
    client.schedule(id=name, in_="1h")
    assert "\x1b[" in on_a_terminal("--server", server, "get", name)
    assert "\x1b[3" not in on_a_terminal("--server", server, "get", name, NO_COLOR="1")


def test_ctrl_c_ends_watching_in_peace(client, server, name):
    client.schedule(id=name, every="200ms", topics=[name])
    command = [sys.executable, "-m", "lightsched", "--server", server, "watch", name, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert json.loads(watching.stdout.readline())["id"] == name
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate(timeout=60)
        assert watching.returncode == 0, said
        assert "Traceback" not in said
    client.cancel(name)


def test_ctrl_c_is_quiet_from_the_first_moment_on():
    """What is imported is told as it is imported: the signal comes in the middle of that."""
    command = [sys.executable, "-X", "importtime", "-m", "lightsched", "--server", "http://127.0.0.1:9", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as starting:
        assert any("typer._click" in line for line in starting.stderr)
        starting.send_signal(signal.SIGINT)
        out, said = starting.communicate(timeout=60)
    assert [line for line in said.splitlines() if not line.startswith("import time:")] == []
    assert (out, starting.returncode in {-signal.SIGINT, 130}) == ("", True)


def test_watching_goes_on_when_the_server_was_away(tmp_path, name):
    port = str(free_port())
    command = [sys.executable, "-m", "lightsched", "--server", f"http://127.0.0.1:{port}", "watch", name]
    pipe = subprocess.PIPE
    with ExitStack() as stack:
        with started(tmp_path, "--port", port) as (_, address), SyncClient(address) as client:
            client.schedule(id=name, every="200ms", topics=[name])
            watching = stack.enter_context(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True))
            stack.callback(watching.kill)
            assert "Watching" in watching.stderr.readline()
            assert name in watching.stdout.readline()
        assert "It is waited for" in watching.stderr.readline()
        with started(tmp_path, "--port", port) as (_, address), SyncClient(address) as client:
            assert watching.stderr.readline() == "lightsched: The server is back.\n"
            client.schedule(id=f"{name}-after", in_="1ms", topics=[name])
            assert any(f"{name}-after" in line for line in watching.stdout)
            watching.send_signal(signal.SIGINT)
            _, said = watching.communicate(timeout=60)
        assert (watching.returncode, said) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "unbuffered", "done"),
    [
        (["list"], "", ""),
        (["list", "--json"], "1", ""),
        (["schedule", "--in", "1h", "--json"], "", " The command itself was carried out."),
        (["bulk", "pause", "--prefix", "nobody"], "1", " The command itself was carried out."),
    ],
)
def test_an_output_that_cannot_be_written_is_said_in_one_line(client, server, arguments, unbuffered, done):
    client.schedule(id="there-is-one", in_="1h")
    command = shlex.join([sys.executable, "-m", "lightsched", "--server", server, *arguments])
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    for to, why in ((">/dev/full", "No space left on device"), (">&-", "it is closed")):
        left = subprocess.run(
            f"{command} {to}", shell=True, stderr=subprocess.PIPE, text=True, check=False, env=environment
        )
        assert left.stderr == f"lightsched: Standard output cannot be written: {why}.{done}\n"
        assert left.returncode == 1


def test_a_reader_that_has_seen_enough_is_no_error(client, server):
    client.schedule_many({"in": "1h"} for _ in range(2_000))
    command = shlex.join([sys.executable, "-m", "lightsched", "--server", server, "list", "--limit", "0", "--json"])
    left = subprocess.run(f"{command} | head -1", shell=True, capture_output=True, text=True, check=False)
    assert (len(left.stdout.splitlines()), left.stderr) == (1, "")


def test_the_environment_names_the_server(server):
    assert program("nodes", LIGHTSCHED_SERVER=server).returncode == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "now"),
        (5, "in 5 s"),
        (-5, "5 s ago"),
        (179, "in 3 min"),
        (7_200, "in 2 h"),
        (-200_000, "2 d ago"),
    ],
)
def test_times_by_how_far_away_they_are(seconds, words):
    now = datetime(2026, 11, 16, tzinfo=UTC)
    assert relative(now + timedelta(seconds=seconds), now) == words
    assert relative(None) == "—"


def test_a_connection_that_was_given_up_is_nothing_to_complain_of(caplog):
    """With TLS, uvloop tells of the write that it tries then."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_complain_of_a_closed_connection())
        assert caplog.records == []
        runner.get_loop().call_exception_handler({"message": "else", "exception": RuntimeError("any other")})
    assert [record.message for record in caplog.records] == ["else"]


async def _complain_of_a_closed_connection():
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        with pytest.raises(RuntimeError) as closed:
            writer.transport.write(b"late")
    context = {"message": "Fatal error on SSL protocol", "exception": closed.value, "transport": writer.transport}
    asyncio.get_running_loop().call_exception_handler(context)
