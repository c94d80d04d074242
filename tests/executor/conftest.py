"""Executors on real servers: one on the embedded log over HTTP, one node on Kafka with its topics."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from lightsched import Client, Executor
from tests.api.conftest import _create, name
from tests.client.conftest import on_kafka, server

__all__ = ["name", "on_kafka", "server"]


class Place:
    """Where a test's executors work: a way to the deliveries, a topic of its own, and a client to schedule with."""

    def __init__(self, at, topic, client):
        self.at = at
        self.topic = topic
        self.client = client

    def executor(self, **options):
        return Executor(self.at, **{"group": self.topic, "topics": [self.topic], "grace": "10s", **options})

    async def schedule(self, **fields):
        return await self.client.schedule(**{"in_": "1ms", "topics": [self.topic], "timeout": "1m", **fields})

    async def until(self, id, *statuses, **which):
        async with asyncio.timeout(150):
            while True:
                event = await self.client.get(id, **which)
                if event.status in (statuses or ("SUCCESS",)):
                    return event
                await asyncio.sleep(0.02)

    async def last_run(self, id):
        return await anext(self.client.runs(id))


@pytest.fixture(params=["http", "kafka"])
async def place(request, name):
    if request.param == "http":
        address = at = request.getfixturevalue("server")
    else:
        address, at = request.getfixturevalue("on_kafka")
        await _create(at.bootstrap, name)
    async with Client(address) as client:
        yield Place(at, name, client)


@pytest.fixture
async def rest(server, name):
    """Where it makes no difference."""
    async with Client(server) as client:
        yield Place(server, name, client)


@asynccontextmanager
async def running(*executors):
    """Executors at work, stopped at the end; what they raise is raised."""
    tasks = [asyncio.create_task(executor.run()) for executor in executors]
    try:
        yield tasks
    finally:
        for executor in executors:
            executor.stop()
        async with asyncio.timeout(60):
            await asyncio.gather(*tasks)
