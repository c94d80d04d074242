"""Do chains go on, by events alone? On real servers, over HTTP and on Kafka."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from lightsched import Client, Context, Executor, Fatal, Retry
from lightsched.client import NotFound
from lightsched_chain import program
from tests.api.conftest import _create
from tests.executors.conftest import WITHIN_S, ended, running


class Work:
    """An executor of stages: it notes what came, and returns what it is told."""

    def __init__(self, place, name, topic):
        self.name = name
        self.got = []
        self.executor = Executor(place, topics=[topic], group=f"{name}-work", name="work")
        self.executor.on("work.*")(self.work)
        self.gate = asyncio.Event()
        self.gate.set()
        self.more = asyncio.Event()

    async def until(self, count):
        """Wait until so many have come."""
        async with asyncio.timeout(WITHIN_S):
            while len(self.got) < count:
                self.more.clear()
                await self.more.wait()

    async def work(self, payload: dict, context: Context):
        if not context.id.startswith(self.name):
            return None  # of another test, on the same topic
        self.got.append(context.id.rpartition("/")[2])
        self.more.set()
        await self.gate.wait()
        if payload.get("fail") == "fatal":
            raise Fatal("it cannot be")
        if payload.get("fail") == "always" or (payload.get("fail") == "once" and context.attempt == 1):
            raise Retry("not yet", in_="1ms")
        return {"said": payload.get("say"), "got": payload.get("get")}


@asynccontextmanager
async def working(place, name, topic):
    """An executor of stages."""
    work = Work(place, name, topic)
    task = asyncio.create_task(work.executor.run())
    try:
        yield work
    finally:
        work.gate.set()
        work.executor.stop()
        await task


@pytest.fixture(params=["http", "kafka"])
async def there(request, name):
    """A client, an executor of chains and one of their stages, on either log."""
    if request.param == "http":
        address = place = request.getfixturevalue("server")
        topic = name
    else:
        address, kafka = request.getfixturevalue("on_kafka")
        place = f"kafka://{kafka.bootstrap}?prefix={kafka.prefix}"
        await _create(kafka.bootstrap, topic := f"{kafka.prefix}{name}")
    settings = {"server": place, "topics": [topic], "group": f"{name}-chain"}
    async with Client(address) as client, working(place, name, topic) as work, running(program, **settings):
        client.topic = topic
        yield client, work


async def test_the_usual_topic_will_do(server, client, name):
    client.topic = "deliveries"
    async with working(server, name, "deliveries") as work, running(program, server=server, group=name):
        chain = await start(client, name, stage("a"), stage("b"))
        assert (await ended(client, chain)).status == "SUCCESS"
    assert work.got == ["a", "b"]


def stage(name, say=None, *, type="work.do", after=None, **payload):
    made = {"name": name, "event": {"type": type, "payload": {"say": say, **payload}}}
    return made if after is None else {**made, "after": after}


def topics(client):
    return {} if client.topic == "deliveries" else {"topics": [client.topic]}


async def start(client, id, *stages, **more):
    """Schedule a chain; the event that holds its state."""
    placed = [{**each, "event": {**each["event"], **topics(client)}} if "event" in each else each for each in stages]
    payload = {"stages": placed, **more}
    await client.schedule(id=id, type="chain.run", in_="1ms", track=True, payload=payload, **topics(client))
    run = await ended(client, id)
    assert run.status == "SUCCESS", run.error
    return run.result["chain"]


async def begun(client, chain):
    """The stages that have begun, as anybody can see."""
    try:
        return (await client.get(f"{chain}/state")).payload.get("begun", {})
    except NotFound:  # it follows from the report, in a moment
        return {}


async def test_a_sequence_passes_results_on(there, name):
    client, work = there
    chain = await start(client, name, stage("a", "hello"), stage("b", get={"$result": "a/said"}), stage("c", "end"))
    run = await ended(client, chain)
    assert run.status == "SUCCESS", run.error
    assert work.got == ["a", "b", "c"]
    assert run.result == {
        "a": {"said": "hello", "got": None},
        "b": {"said": None, "got": "hello"},
        "c": {"said": "end", "got": None},
    }


async def test_branches_run_side_by_side_and_join_once(there, name):
    client, work = there
    names = [f"b{n}" for n in range(5)]
    joined = stage("join", get=[{"$result": f"{each}/said"} for each in names], after=names)
    chain = await start(client, name, stage("a"), *(stage(each, each, after=["a"]) for each in names), joined)
    run = await ended(client, chain)
    assert run.status == "SUCCESS", run.error
    assert (work.got[0], sorted(work.got[1:6]), work.got[6:]) == ("a", names, ["join"])
    assert run.result["join"]["got"] == names


async def test_a_stage_that_fails_fails_the_chain_and_what_is_left_is_not_begun(there, name):
    client, work = there
    chain = await start(client, name, stage("a"), stage("b", fail="fatal"), stage("c"))
    run = await ended(client, chain)
    assert (run.status, run.error) == ("FATAL_FAILURE", "stage 'b' failed: it cannot be")
    assert work.got == ["a", "b"]


async def test_a_stage_is_tried_as_often_as_its_event_says(there, name):
    client, work = there
    again = stage("a", fail="once")
    again["event"]["retry"] = {"delays": ["1ms"]}
    never = stage("b", fail="always")
    never["event"]["retry"] = {"attempts": 3, "delay": "1ms"}
    chain = await start(client, name, again, never)
    run = await ended(client, chain)
    assert run.error == "stage 'b' failed: not yet"
    assert work.got == ["a", "a", "b", "b", "b"]


async def test_a_chain_waits_until_it_is_resumed(there, name):
    client, work = there
    asks = stage("c", get={"$result": "approval/by"})
    chain = await start(client, name, stage("a"), {"name": "approval"}, asks)
    async with asyncio.timeout(WITHIN_S):
        while "approval" not in await begun(client, chain):  # noqa: ASYNC110 -- at the server
            await asyncio.sleep(0.05)
    said = {"stage": "approval", "result": {"by": "Ada"}}
    resume = {"id": f"{name}-ok", "key": chain, "type": "chain.resume", "in_": "1ms", "track": True, "payload": said}
    await client.schedule(**resume, **topics(client))
    run = await ended(client, chain)
    assert run.status == "SUCCESS", run.error
    assert run.result["c"]["got"] == "Ada"
    assert work.got == ["a", "c"]


async def test_waiting_ends_with_its_timeout(client, server, name):
    client.topic = name
    async with working(server, name, name) as work, running(program, server=server, topics=[name]):
        after = stage("b", get={"$result": "approval"})
        wait = {"name": "approval", "timeout": "200ms", "on_timeout": "continue"}
        chain = await start(client, f"{name}-1", wait, after)
        assert (await ended(client, chain)).result["b"]["got"] == {"timed_out": True}
        failed = await start(client, f"{name}-2", {"name": "approval", "timeout": "200ms"}, after)
        assert (await ended(client, failed)).error == "stage 'approval' was not done within 200ms"
        assert work.got == ["b"]


async def test_a_chain_survives_its_executor(client, server, name):
    """Stages end while nobody executes chains; each executor of chains goes on where the last one stopped."""
    client.topic = name
    names = ["b0", "b1", "b2"]
    joined = stage("join", get=[{"$result": f"{each}/said"} for each in names], after=names)
    settings = {"server": server, "topics": [name], "group": f"{name}-chain"}
    async with working(server, name, name) as work:
        work.gate.clear()
        async with running(program, **settings):
            chain = await start(client, name, stage("a"), *(stage(each, each, after=["a"]) for each in names), joined)
            await work.until(1)
        for last, so_far in (("a", 4), ("b2", 5)):
            work.gate.set()
            assert (await ended(client, f"{chain}/{last}")).status == "SUCCESS"
            work.gate.clear()
            async with running(program, **settings):
                await work.until(so_far)
        work.gate.set()
        async with running(program, **settings):
            run = await ended(client, chain)
    assert (work.got[0], sorted(work.got[1:4]), work.got[4:]) == ("a", names, ["join"])
    assert run.result["join"]["got"] == names


async def test_a_chain_that_makes_no_sense_is_refused(client, server, name):
    async with running(program, server=server, topics=[name]):
        payload = {"stages": [{"name": "a", "after": ["b"]}]}
        await client.schedule(id=name, type="chain.run", in_="1ms", topics=[name], track=True, payload=payload)
        run = await ended(client, name)
    assert run.status == "FATAL_FAILURE"
    assert run.error == "The chain makes no sense: stage 'a' comes after 'b', which is no stage."
