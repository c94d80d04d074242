"""What goes wrong on Kafka, and what happens then: the error table of docs/exactly-once.md, on a running node."""

import asyncio
import contextlib
import json

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from lightsched.event.record import Record
from lightsched.log.errors import Fenced
from lightsched.log.kafka import taking
from lightsched.node import node as node_module
from lightsched.node.node import Node
from lightsched.node.settings import Settings
from lightsched.store.rocks import Rocks
from tests.conformance.adapters import PARTITIONS
from tests.conformance.make import LONG_S, TOPICS, step


@contextlib.asynccontextmanager
async def running(adapter, **kafka):
    """A node on Kafka with one partition."""
    settings = Settings.load(
        log="kafka",
        data=adapter.path,
        kafka={
            "bootstrap": adapter.connection.bootstrap,
            "prefix": TOPICS.prefix,
            "group": TOPICS.prefix + "group",
            "partitions": 1,
            **kafka,
        },
    )
    node = await Node.open(settings)
    task = asyncio.create_task(node.run())
    try:
        await asyncio.wait_for(node.wait_ready(), LONG_S)
        yield node
    finally:
        node.stop()
        await task


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """It is taken again soon."""
    monkeypatch.setattr(node_module, "_RETAKE_FIRST_S", 0.05)


def once(monkeypatch, what, instead):
    """The next call of a producer's method is another."""
    real = getattr(AIOKafkaProducer, what)
    calls = []

    async def method(self):
        if calls:
            return await real(self)
        calls.append(1)
        return await instead(lambda: real(self))

    monkeypatch.setattr(AIOKafkaProducer, what, method)
    return calls


async def post(node, **event):
    (answer,) = await node.commands.submit(TOPICS.events, [(0, Record(None, json.dumps(event).encode()))])
    return answer.outcome


async def delivered(node, count):
    """The ids of so many deliveries, and no more."""
    ids, position = [], 0
    async with asyncio.timeout(LONG_S):
        while len(ids) < count:
            for each in await node.log.fetch(TOPICS.deliveries, {0: position}, 100, 1):
                position = each.offset + 1
                ids.append(dict(each.record.headers)["ls_id"].decode())
    assert await node.log.fetch(TOPICS.deliveries, {0: position}, 100, 0.5) == []
    return ids


def metric(node, name):
    return node.metrics.registry.get_sample_value(f"lightsched_{name}", {"partition": "0"}) or 0


async def settled(node):
    """It runs again, and has nothing to do."""
    async with asyncio.timeout(LONG_S):
        while 0 not in node.workers or node.workers[0].partition.behind or node.workers[0].partition.lag:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        await node.workers[0].settle()


async def test_a_node_that_was_fenced_takes_its_partition_again_and_goes_on(on_kafka):
    async with running(on_kafka) as node:
        assert await post(node, id="a", **{"in": "1ms"}) == "SCHEDULED"
        rogue = AIOKafkaProducer(bootstrap_servers=on_kafka.connection.bootstrap, transactional_id=f"{TOPICS.prefix}0")
        await rogue.start()
        assert await post(node, id="b", **{"in": "1ms"}) == "FORWARDED", "on the topic: carried out after the retake"
        assert sorted(await delivered(node, 2)) == ["a", "b"]
        assert metric(node, "fenced_total") == 1
        await rogue.stop()


async def test_a_commit_whose_answer_is_lost_is_not_repeated(on_kafka, monkeypatch):
    async with running(on_kafka) as node:
        assert await post(node, id="a", **{"in": "1h"}) == "SCHEDULED"

        async def committed_but_not_told(commit):
            await commit()
            raise TimeoutError

        calls = once(monkeypatch, "commit_transaction", committed_but_not_told)
        assert await post(node, op="trigger", id="a") == "FORWARDED"
        assert calls
        assert await delivered(node, 1) == ["a"]
        await settled(node)
        assert node.stores[0].meta.totals.difference == 0
        assert node.stores[0].meta.totals.fired == 1
        assert metric(node, "retakes_total") == 1


async def test_a_commit_that_never_arrived_is_made_up_for(on_kafka, monkeypatch):
    async with running(on_kafka) as node:

        async def not_even_sent(_commit):
            raise TimeoutError

        calls = once(monkeypatch, "commit_transaction", not_even_sent)
        assert await post(node, id="a", **{"in": "1ms"}) == "FORWARDED"
        assert calls
        assert await delivered(node, 1) == ["a"]


async def test_a_step_that_was_not_committed_is_not_in_the_store(on_kafka, monkeypatch):
    log = await on_kafka.open()
    partition = await log.take(0)
    await partition.commit(step(partition, "one"))

    async def fail(_commit):
        raise KafkaError

    once(monkeypatch, "commit_transaction", fail)
    before = partition.store.dump()
    with pytest.raises(Fenced):
        await partition.commit(step(partition, "two"))
    assert partition.store.dump() == before


async def test_a_store_that_cannot_be_written_after_the_commit_is_repaired(on_kafka, monkeypatch):
    async with running(on_kafka) as node:
        write, full = Rocks.write, [True]

        def disk_full(self, batch):
            if full:
                full.pop()
                raise OSError("No space left on device")
            write(self, batch)

        monkeypatch.setattr(Rocks, "write", disk_full)
        assert await post(node, id="a", **{"in": "1ms"}) == "FORWARDED"
        assert not full
        assert await delivered(node, 1) == ["a"]
        await settled(node)
        assert metric(node, "retakes_total") == 1


async def test_what_can_be_aborted_is_made_again(on_kafka, monkeypatch):
    async with running(on_kafka) as node:
        real = AIOKafkaProducer.send_batch
        failed = []

        async def fail_once(self, batch, topic, *, partition):
            future = await real(self, batch, topic, partition=partition)
            if topic == TOPICS.audit and not failed:
                failed.append(1)
                await asyncio.wait([future])
                future = asyncio.get_running_loop().create_future()
                future.set_exception(KafkaError("once"))
            return future

        monkeypatch.setattr(AIOKafkaProducer, "send_batch", fail_once)
        assert await post(node, id="a", **{"in": "1ms"}) == "SCHEDULED"
        assert failed
        assert await delivered(node, 1) == ["a"]
        assert metric(node, "retakes_total") == 0


async def test_nobody_can_commit_while_the_next_owner_restores(on_kafka, monkeypatch):
    first = await on_kafka.open(at="-1")
    formers = [await first.take(number) for number in range(PARTITIONS)]
    second = await on_kafka.open(at="-2")
    number = min(second.owned)
    former = formers[number]
    restore = taking.restore

    async def restore_late(*arguments, **options):
        with pytest.raises(Fenced):
            await former.commit(step(former, "too late"))
        return await restore(*arguments, **options)

    monkeypatch.setattr(taking, "restore", restore_late)
    partition = await second.take(number)
    assert partition.store.meta.step == 0
