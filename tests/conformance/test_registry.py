"""What do nodes hear of each other? What was said last, each word of it, whatever comes in between."""

import asyncio

from msgspec import structs

from lightsched.event.record import Record
from lightsched.log.kafka import registry
from lightsched.log.peer import Load, Peer
from tests.conformance.make import LONG_S, TOPICS

OWN = Peer(id="node-1", url="", version="1", partitions=(), started_ms=0)


async def until(condition):
    async with asyncio.timeout(LONG_S):
        while not condition():  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.01)


async def test_what_is_shared_is_known_here_on_return_also_if_another_shares_it_at_the_same_time(on_kafka, monkeypatch):
    log = await on_kafka.open()
    told, listening, appended = [], asyncio.Event(), asyncio.Event()
    log.watch(lambda _key, value: told.append(value))
    listening.set()
    heard = log._registry
    append, getmany = heard._append, heard._consumer.getmany

    async def others_first(record):
        if record.key != b"shared/rules":  # a heartbeat
            return await append(record)
        await log.append(TOPICS.nodes, 0, [Record(record.key, b"theirs")])
        await until(lambda: told)
        listening.clear()
        answer = await append(record)
        appended.set()
        return answer

    async def if_listening(**options):
        found = await getmany(**options)
        await listening.wait()
        return found

    monkeypatch.setattr(heard._consumer, "getmany", if_listening)
    await log.announce(lambda: OWN)
    monkeypatch.setattr(heard, "_append", others_first)
    sharing = asyncio.create_task(log.share("rules", b"mine"))
    await appended.wait()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not sharing.done()
    monkeypatch.undo()
    listening.set()
    await sharing
    assert told == [b"theirs", b"mine"]


async def test_a_node_says_what_it_does_and_how_much_and_an_older_one_that_does_not_is_heard_too(on_kafka):
    load = Load(pending=3, lag=0, in_flight=1, fired_per_s=0.5, cpu=0.1, seconds=2.0)
    one, other = await on_kafka.open(), await on_kafka.open()
    await one.announce(lambda: structs.replace(OWN, roles=("scheduler", "api"), load=load))
    await other.announce(lambda: structs.replace(OWN, id="node-2"))
    older = b'{"id":"node-3","url":"","version":"0","partitions":[0],"started_ms":0}'
    await other.append(TOPICS.nodes, 0, [Record(b"node-3", older)])
    await until(lambda: len(other.peers) == 2)
    heard = {peer.id: (peer.roles, peer.load) for peer in other.peers}
    assert heard == {"node-1": (("scheduler", "api"), load), "node-3": ((), None)}


async def test_a_node_that_fails_at_what_it_hears_or_says_says_so_and_goes_on(on_kafka, monkeypatch, caplog):
    monkeypatch.setattr(registry, "HEARTBEAT_S", 0.05)
    log = await on_kafka.open()
    told, said = [], []

    def tell(_key, value):
        if value == b"bad":
            raise ZeroDivisionError("at what it hears")
        told.append(value)

    def own():
        said.append(OWN)
        if len(said) == 3:
            raise ZeroDivisionError("at what it says")
        return OWN

    log.watch(tell)
    await log.announce(own)
    await log.append(TOPICS.nodes, 0, [Record(b"shared/rules", value) for value in (b"bad", b"good")])
    await until(lambda: told == [b"good"] and len(said) > 3)
    assert "at what it hears" in caplog.text
    assert "at what it says" in caplog.text
