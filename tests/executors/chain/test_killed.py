"""Does a join happen once, and does every chain end, however often the executor of chains is killed in the middle?

Many chains whose two branches end in the same moment, and kills at random times around it: between the letters of a
join, between the last letter and the state, between the state and its report.
"""

import asyncio
import random
import subprocess
import sys
from collections import Counter

import pytest
import yaml

from lightsched import Client, Context, Executor
from tests.api.conftest import _create
from tests.executors.conftest import ended

CHAINS = 25
WITHIN_S = 150


class Killed:
    """`lightsched-chain`, killed and started again."""

    def __init__(self, folder, **settings):
        self._config = folder / "chain.yml"
        self._config.write_text(yaml.safe_dump(settings))
        self._said = folder / "said"
        self._process = None

    def start(self):
        command = [sys.executable, "-m", "lightsched_chain", "--config", str(self._config)]
        with self._said.open("ab") as said:
            self._process = subprocess.Popen(command, stderr=said)

    def kill(self):
        self._process.kill()
        self._process.wait()

    @property
    def said(self):
        return self._said.read_text()


class Branches:
    """The executor of the stages: branches end together, when the gate opens."""

    def __init__(self, place, name, topic):
        self.calls = Counter()
        self.gate = asyncio.Event()
        self.all_there = asyncio.Event()
        self.executor = Executor(place, topics=[topic], group=f"{name}-work", concurrency=4 * CHAINS)
        self.executor.on("work.do")(self.work)

    async def work(self, payload: str, context: Context):
        self.calls[context.id] += 1
        if payload == "branch":
            if len(self.calls) == 2 * CHAINS:
                self.all_there.set()
            await self.gate.wait()
        return payload


@pytest.fixture(params=["http", "kafka"])
async def place(request, name):
    """Where to schedule, where to execute, and a topic."""
    if request.param == "http":
        server = request.getfixturevalue("server")
        return server, server, name
    address, kafka = request.getfixturevalue("on_kafka")
    await _create(kafka.bootstrap, topic := f"{kafka.prefix}{name}")
    return address, f"kafka://{kafka.bootstrap}?prefix={kafka.prefix}", topic


def chain(topic):
    branch, join = ({"type": "work.do", "topics": [topic], "payload": text} for text in ("branch", "join"))
    return [
        {"name": "left", "event": branch, "after": []},
        {"name": "right", "event": branch, "after": []},
        {"name": "join", "event": join, "after": ["left", "right"]},
    ]


@pytest.mark.timeout(WITHIN_S + 120)
@pytest.mark.parametrize("seed", [2, 4, *(pytest.param(n, marks=pytest.mark.slow) for n in range(5, 21))])
async def test_a_join_happens_once_however_often_the_executor_of_chains_is_killed(place, name, tmp_path, seed):
    address, at, topic = place
    chance = random.Random(seed)
    branches = Branches(at, name, topic)
    chains = Killed(tmp_path, server=at, topics=[topic], group=f"{name}-chain", session_timeout="6s")
    working = asyncio.create_task(branches.executor.run())
    chains.start()
    try:
        async with Client(address) as client, asyncio.timeout(WITHIN_S):
            common = {"type": "chain.run", "in": "1ms", "track": True, "topics": [topic]}
            payload = {"stages": chain(topic), "timeout": "1h"}
            ids = [f"{name}-{n}" for n in range(CHAINS)]
            await client.schedule_many({**common, "id": id, "payload": payload} for id in ids)
            names = [(await ended(client, id, WITHIN_S)).result["chain"] for id in ids]
            await branches.all_there.wait()
            branches.gate.set()
            for _ in range(chance.randint(1, 3)):
                await asyncio.sleep(chance.uniform(0, 1.5))
                chains.kill()
                chains.start()
            runs = {name: await ended(client, name, WITHIN_S) for name in names}
    finally:
        chains.kill()
        branches.executor.stop()
        await working
    assert {run.status for run in runs.values()} == {"SUCCESS"}, chains.said
    wanted = {f"{name}/{stage}": 1 for name in names for stage in ("left", "right", "join")}
    assert dict(branches.calls) == wanted
