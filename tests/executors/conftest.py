"""A server without executors of its own, a node on Kafka, and executors that run in the test's process."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from lightsched import Client
from lightsched.client import NotFound
from tests.api.conftest import name, started
from tests.client.conftest import on_kafka

__all__ = ["name", "on_kafka"]

WITHIN_S = 60
OVER = {"SUCCESS", "FATAL_FAILURE", "CANCELLED", "EXPIRED"}


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server"), command="serve") as (_, address):
        yield address


@pytest.fixture
async def client(server):
    async with Client(server) as client:
        yield client


@asynccontextmanager
async def running(program, **settings):
    """An executor that ships, until the block ends."""
    async with program.executor(program.settings.load(**settings)) as executor:
        task = asyncio.create_task(executor.run())
        try:
            yield executor
        finally:
            executor.stop()
            await task


async def ended(client, id, within_s=WITHIN_S):
    """The run of an event, when it is over."""
    async with asyncio.timeout(within_s):
        while True:
            try:
                runs = [run async for run in client.runs(id)]
            except NotFound:  # it follows from something that is not over yet
                runs = []
            if runs and runs[0].status in OVER:
                return runs[0]
            await asyncio.sleep(0.05)
