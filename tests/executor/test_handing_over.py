"""What becomes of deliveries when partitions of Kafka change hands while they are worked on?"""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from lightsched import Client, Context
from lightsched.executor import work
from tests.api.conftest import _create
from tests.executor.conftest import Place, running

HAND_OVER_S = 6.0
STREAM = 24
EVERY_S = 0.4


FOREIGN = [
    [],
    [("ls_timeout", b"soon")],
    [("ls_tenant", None)],
    [("ls_timeout", b"1000"), ("ls_partition", b"x")],
    [("x", None), ("ce_type", b"foreign")],
]


@pytest.fixture
async def narrow(on_kafka, name):
    """A topic with one partition: whoever has it has all."""
    address, at = on_kafka
    await _create(at.bootstrap, name, partitions=1)
    async with Client(address) as client:
        yield Place(at, name, client)


async def test_what_was_let_go_of_comes_again_also_where_the_partition_returns_to(narrow, name, monkeypatch):
    """While one hands over it may have read on; what it read must not hide what it let go of."""
    monkeypatch.setattr(work, "HAND_OVER_S", HAND_OVER_S)
    first, second = (narrow.executor(name=each, concurrency=2, session_timeout="6s") for each in ("a", "b"))
    gate, began, calls = asyncio.Event(), asyncio.Event(), []
    for executor in (first, second):

        @executor.on("*")
        async def wait(n: int, context: Context):
            calls.append(n)
            began.set()
            await gate.wait()

    async def schedule(n):
        await narrow.schedule(id=f"{name}-{n}", key=name, payload=n, timeout="10m")

    for n in range(3):  # of one key: one runs, two wait
        await schedule(n)
    async with running(first):
        await asyncio.wait_for(began.wait(), 60)
        async with running(second):
            for n in range(3, STREAM):
                await schedule(n)
                await asyncio.sleep(EVERY_S)  # the group notices that there is another one, and hands over
            gate.set()
            async with asyncio.timeout(60):
                for n in range(STREAM):
                    await narrow.until(f"{name}-{n}")
    assert sorted(calls) == list(range(STREAM))


async def test_what_is_no_delivery_stops_nobody(narrow, name):
    """Others may write to a topic as well, by mistake."""
    async with AIOKafkaProducer(bootstrap_servers=narrow.at.bootstrap) as producer:
        for headers in FOREIGN:
            await producer.send_and_wait(name, b"not ours", headers=headers)
    executor = narrow.executor()
    headers = []

    @executor.on("*")
    async def work(payload: Any, context: Context):
        headers.append(context.headers)

    await narrow.schedule(id=name, payload=1)
    async with running(executor):
        await narrow.until(name)
    assert [found.get("x") for found in headers] == ["", None], "the one with a type, and ours"
