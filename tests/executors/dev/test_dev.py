"""Does `lightsched dev` execute what it can, and name what nobody does?"""

import asyncio

import pytest

from lightsched import Client, Executor
from tests.api.conftest import started
from tests.executors.conftest import WITHIN_S, ended
from tests.executors.http.receiving import receiver


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("dev")


@pytest.fixture(scope="module")
def dev(folder):
    with started(folder, executors=True, LIGHTSCHED_EXECUTOR_HTTP_ALLOW='["127.0.0.2"]') as (_, address):
        yield address


@pytest.fixture
async def client(dev):
    async with Client(dev) as client:
        yield client


async def until(look):
    """Look again until it is true."""
    async with asyncio.timeout(WITHIN_S):
        while True:
            if found := await look():
                return found
            await asyncio.sleep(0.05)


async def test_requests_are_sent(client, name):
    async with receiver("127.0.0.2") as target:
        payload = {"url": f"http://127.0.0.2:{target.port}/", "body": {"n": 1}}
        await client.schedule(id=name, type="http.request", in_="1ms", track=True, payload=payload)
        run = await ended(client, name)
    assert run.status == "SUCCESS", run.error
    assert [got.body for got in target.got] == [b'{"n":1}']


async def test_this_machine_is_not_asked_and_no_program_is_run(client, dev, name):
    await client.schedule(id=f"{name}-1", type="http.request", in_="1ms", track=True, payload={"url": f"{dev}/healthz"})
    await client.schedule(id=f"{name}-2", type="command.run", in_="1ms", track=True, payload={"argv": ["ls"]})
    runs = [await ended(client, f"{name}-{n}") for n in (1, 2)]
    assert [run.status for run in runs] == ["FATAL_FAILURE", "FATAL_FAILURE"]
    assert "127.0.0.1 is this machine" in runs[0].error
    assert "'ls' is no program that may be run (there are: none)" in runs[1].error


async def unhandled(client):
    return [type for node in await client.nodes() for type in node.unhandled]


async def test_what_nobody_handles_is_named_once(client, dev, folder, name):
    for n in range(3):
        await client.schedule(id=f"{name}-{n}", type=f"{name}.lost", in_="1ms")
    await client.schedule(id=f"{name}-other", type=f"{name}.elsewhere", in_="1ms", topics=[f"{name}.topic"])

    async def both():
        return {f"{name}.lost", f"{name}.elsewhere"} <= set(await unhandled(client))

    await until(both)
    assert "http.request" not in await unhandled(client)
    said = (folder / "said").read_text()
    assert said.count(f"nobody handles deliveries of the type '{name}.lost' on lightsched.deliveries") == 1
    assert said.count(f"'{name}.elsewhere' on {name}.topic") == 1


async def test_while_somebody_polls_a_topic_what_is_there_is_handled(client, dev, name):
    await client.schedule(id=f"{name}-1", type=f"{name}.job", in_="1ms", topics=[name])

    async def is_named():
        return f"{name}.job" in await unhandled(client)

    async def is_not():
        return not await is_named()

    await until(is_named)
    executor = Executor(dev, topics=[name], group=name)
    done = asyncio.Event()

    @executor.on(f"{name}.job")
    async def job():
        done.set()

    running = asyncio.create_task(executor.run())
    await done.wait()
    await until(is_not)
    executor.stop()
    await running


def test_executors_can_be_left_out(tmp_path):
    with started(tmp_path):
        pass
    assert "executing" not in (tmp_path / "said").read_text()


def test_bad_settings_of_an_executor_are_named(tmp_path):
    with (
        pytest.raises(pytest.fail.Exception) as raised,
        started(tmp_path, executors=True, LIGHTSCHED_EXECUTOR_HTTP_ALLOW='["10.0.0.1/8"]'),
    ):
        pass
    assert "allow.0: 10.0.0.1/8 has host bits set" in str(raised.value)
