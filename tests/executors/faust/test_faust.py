"""Does a Faust agent act on deliveries, and report back? In its own process and environment, on a real broker."""

import asyncio
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from lightsched import Client
from lightsched_chain import program
from tests.executors.conftest import ended, running

ROOT = Path(__file__).parents[3]
WITHIN_S = 120
FAUST = ROOT / ".venv-faust" / "bin" / "faust"


@contextmanager
def worker(folder, kafka, name):
    """The app of the examples, run by Faust's own command."""
    assert FAUST.exists(), "there is no .venv-faust: `make faust` sets it up"
    said = folder / "said"
    environment = {
        **{each: value for each, value in os.environ.items() if not each.startswith("LIGHTSCHED_")},
        "PYTHONPATH": str(ROOT / "executors" / "faust" / "examples"),
        "APP": name,
        "BROKER": f"kafka://{kafka.bootstrap}",
        "PREFIX": kafka.prefix,
    }
    program = [str(FAUST), "--datadir", str(folder), "-A", "mail", "worker", "--without-web", "-l", "info"]
    with said.open("wb") as sink, subprocess.Popen(program, env=environment, stdout=sink, stderr=sink) as process:
        try:
            yield said
            process.terminate()
            assert process.wait(60) is not None
        finally:
            process.kill()


@pytest.fixture
async def client(on_kafka):
    async with Client(on_kafka[0]) as client:
        yield client


async def ready(said):
    """Wait until the agent reads: starting takes Faust a while."""
    async with asyncio.timeout(WITHIN_S):
        while "Worker]: Ready" not in said.read_text():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.1)


async def test_an_agent_acts_and_reports(client, on_kafka, name, tmp_path):
    payloads = {
        "plain": {"to": "ada@example.com"},
        "again": {"to": "bob@example.com", "busy": True},
        "never": {"to": "nobody"},
        "then": {"to": "joe@example.com", "follow": True},
        "wrong": {"of": "x"},
        "slow": {"to": "eve@example.com", "seconds": 7},
    }
    with worker(tmp_path, on_kafka[1], name) as said:
        await ready(said)
        await client.schedule(id=f"{name}-other", type="other.kind", in_="1ms", payload=1)
        for which, payload in payloads.items():
            short = which == "slow"  # it takes longer than its timeout, and lives by its heartbeats
            retry = {"attempts": 1} if which in {"wrong", "slow"} else {"attempts": 3, "delay": "1h"}
            event = {"type": "email.send", "in_": "1ms", "timeout": "5s" if short else "5m", "retry": retry}
            await client.schedule(id=f"{name}-{which}", payload=payload, **event)
        try:
            runs = {which: await ended(client, f"{name}-{which}", WITHIN_S) for which in payloads}
        except TimeoutError:
            pytest.fail(said.read_text()[-4000:])
    assert {which: (run.status, run.attempt) for which, run in runs.items()} == {
        "plain": ("SUCCESS", 1),
        "again": ("SUCCESS", 2),
        "never": ("FATAL_FAILURE", 1),
        "wrong": ("FATAL_FAILURE", 1),
        "slow": ("SUCCESS", 1),
        "then": ("SUCCESS", 1),
    }
    assert runs["plain"].result == {"sent_to": "ada@example.com", "attempt": 1}
    assert runs["plain"].attempts[0].executor == "mailer-1"
    assert (runs["never"].error, runs["wrong"].error) == ("nobody is no address", "KeyError: 'to'")
    assert (await client.get(f"{name}-then-sent")).status == "NOT_STARTED"
    lines = said.read_text()
    assert lines.count("to ada@example.com") == 1


async def test_a_chain_may_have_an_agent_as_a_stage(client, on_kafka, name, tmp_path):
    _, kafka = on_kafka
    stages = [
        {"name": "mail", "event": {"type": "email.send", "payload": {"to": "ada@example.com"}}},
        {"name": "bad", "event": {"type": "email.send", "payload": {"to": {"$result": "mail/attempt"}}}},
    ]
    place = f"kafka://{kafka.bootstrap}?prefix={kafka.prefix}"
    await client.schedule(id=name, type="chain.run", in_="1ms", track=True, payload={"stages": stages})
    with worker(tmp_path, kafka, name) as said:
        await ready(said)
        async with running(program, server=place, group=f"{name}-chain"):
            begun = await ended(client, name, WITHIN_S)
            run = await ended(client, begun.result["chain"], WITHIN_S)
    assert run.status == "FATAL_FAILURE"
    assert run.error.startswith("stage 'bad' failed: TypeError")
