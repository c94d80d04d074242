"""Are the executors that ship good programs? Help, clear errors, settings from a file, an orderly end."""

import asyncio
import signal
import subprocess
import sys

import pytest

from tests.executors.conftest import ended
from tests.executors.http.receiving import receiver

PROGRAMS = ["http", "command", "chain", "forward"]


def call(program, *arguments, **environment):
    command = [sys.executable, "-m", f"lightsched_{program}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_says_what_it_is_and_how_it_is_set_up(program):
    said = call(program, "--help")
    assert said.returncode == 0
    assert f"LIGHTSCHED_EXECUTOR_{program.upper()}_" in said.stdout
    assert call(program, "--version").stdout.startswith(f"lightsched-{program} ")


@pytest.mark.parametrize(
    ("arguments", "environment", "problem"),
    [
        (["--config", "/no/such.yml"], {}, "there is no file /no/such.yml"),
        ([], {"LIGHTSCHED_EXECUTOR_HTTP_ALOW": "[]"}, "LIGHTSCHED_EXECUTOR_HTTP_ALOW: not a known setting"),
        ([], {"LIGHTSCHED_EXECUTOR_HTTP_SECRETS": '["x"]'}, "secrets.0: a secret is `whsec_`"),
        (["--server", "ftp://x"], {}, "'ftp://x' is no address of a server"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments, environment, problem):
    said = call("http", *arguments, **environment)
    assert said.returncode == 1
    assert problem in said.stderr
    assert "Traceback" not in said.stderr


def test_wrong_usage_is_told_apart():
    assert call("http", "--wheel").returncode == 2


async def test_a_program_is_set_up_by_its_file_and_finishes_what_it_has_begun(client, server, name, tmp_path):
    (tmp_path / "http.yml").write_text(f"topics: [{name}]\ngroup: {name}\nallow: [127.0.0.2]\n")
    async with receiver("127.0.0.2") as target:
        program = [sys.executable, "-m", "lightsched_http", "--server", server]
        process = await asyncio.create_subprocess_exec(*program, cwd=tmp_path, stderr=asyncio.subprocess.PIPE)
        payload = {"url": f"http://127.0.0.2:{target.port}/gate"}
        await client.schedule(id=name, type="http.request", in_="1ms", topics=[name], track=True, payload=payload)
        await asyncio.wait_for(target.asked.wait(), 60)
        process.send_signal(signal.SIGTERM)
        target.gate.set()
        _, said = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0, said.decode()
        assert (await ended(client, name)).status == "SUCCESS"
