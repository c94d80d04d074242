"""Are programs run as deliveries ask for them, and only those that are allowed?"""

import sys

import pytest

from lightsched.settings import BadSettings
from lightsched_command import program
from tests.executors.conftest import ended, running

CODE = "import os, sys; sys.stdout.write(sys.stdin.read()); sys.stderr.write('said\\n'); sys.exit(int(sys.argv[1]))"


@pytest.fixture
async def run(client, server, name):
    """Schedules a command, and waits for the end of its run."""
    programs = {
        "end": {"path": sys.executable, "arguments": ["-I", "-c", CODE], "accepts": "[0-9]+", "retry": [75, 76]},
        "env": {"path": "/usr/bin/env", "env": ["DAY"], "environment": {"FIXED": "1"}},
        "sleep": {"path": "/bin/sleep", "timeout": "100ms", "grace": "100ms"},
        "kill": {"path": sys.executable, "arguments": ["-c", "import os; os.kill(os.getpid(), 9)"]},
    }
    async with running(program, server=server, topics=[name], programs=programs, types={f"{name}.batch": "env"}):
        number = 0

        async def run(*argv, retry=("1ms",), type="command.run", **payload):
            nonlocal number
            number += 1
            event = {"id": f"{name}-{number}", "in_": "1ms", "topics": [name], "retry": {"delays": retry}}
            await client.schedule(**event, type=type, payload={"argv": argv, **payload} if argv else payload)
            return await ended(client, f"{name}-{number}")

        yield run


async def test_the_result_is_what_it_said(run):
    done = await run("end", "0", stdin={"region": "eu"})
    assert (done.status, done.attempt) == ("SUCCESS", 1)
    assert done.result == {"code": 0, "stdout": '{"region":"eu"}', "stderr": "said\n"}


@pytest.mark.parametrize(
    ("argv", "attempts", "error"),
    [
        (("end", "75"), 2, "end ended with 75: said"),
        (("end", "76"), 2, "end ended with 76: said"),
        (("end", "1"), 1, "end ended with 1: said"),
        (("kill",), 2, "kill ended with 137"),
        (("sleep", "600"), 2, "sleep was killed: it took longer than 0.1 s"),
        (
            ("/bin/sh", "-c", "id"),
            1,
            "'/bin/sh' is no program that may be run (there are: end, env, kill, sleep): allow it",
        ),
        (("end", "0; id"), 1, "end does not accept the argument '0; id'"),
        (("end", "0\0"), 1, "NUL"),
        (("env", "x" * 70_000), 1, "more than 65536 bytes"),
    ],
)
async def test_how_it_ends_says_whether_to_try_again(run, argv, attempts, error):
    done = await run(*argv)
    assert (done.status, done.attempt) == ("FATAL_FAILURE", attempts)
    assert error in done.error


async def test_a_payload_sets_what_the_program_allows(run):
    done = await run("env", env={"DAY": "mon"})
    lines = dict(line.split("=", 1) for line in done.result["stdout"].splitlines())
    assert (lines["DAY"], lines["FIXED"], lines["LIGHTSCHED_ATTEMPT"]) == ("mon", "1", "1")
    assert lines["LIGHTSCHED_DELIVERY"] == lines["LIGHTSCHED_RUN"] + "#1"
    assert lines.keys() == {
        *("PATH", "LANG", "DAY", "FIXED", "TRACEPARENT"),
        *(f"LIGHTSCHED_{name}" for name in ("DELIVERY", "RUN", "ID", "TENANT", "DUE", "ATTEMPT")),
    }
    refused = await run("env", env={"LD_PRELOAD": "x"})
    assert "env does not let a payload set LD_PRELOAD" in refused.error


async def test_a_type_has_a_program(run, name):
    done = await run(type=f"{name}.batch", n=1)
    assert done.result["code"] == 0


async def test_nothing_is_allowed_by_default(client, server, name):
    async with running(program, server=server, topics=[name]):
        await client.schedule(
            id=name, type="command.run", in_="1ms", topics=[name], track=True, payload={"argv": ["ls"]}
        )
        done = await ended(client, name)
    assert done.error == "'ls' is no program that may be run (there are: none): allow it under `programs`"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"programs": {"a": {"path": "bin/ls"}}}, "bin/ls is no absolute path"),
        ({"programs": {"a": {"path": "/no/such"}}}, "/no/such is not there"),
        ({"programs": {"a": {"path": "/etc/passwd"}}}, "may not be executed"),
        ({"programs": {"a": {"path": "/bin/ls", "accepts": "("}}}, "programs.a.accepts"),
        ({"programs": {"a": {"path": "/bin/ls", "shell": True}}}, "programs.a.shell: is not a known setting"),
        ({"programs": {"a": {"path": "/bin/ls", "env": ["A=B"]}}}, "'A=B' is no name of a variable"),
        ({"types": {"a": "b"}}, "types.a: there is no program 'b'"),
    ],
)
async def test_bad_settings_are_named(settings, problem):
    with pytest.raises(BadSettings) as raised:
        async with running(program, **settings):
            pass
    assert problem in str(raised.value)
