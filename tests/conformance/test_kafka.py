"""What must hold on Kafka besides: fences, restoring, lost inputs, topics that are wrong or narrow."""

import asyncio
import contextlib
import json
import random
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.producer import sender
from aiokafka.structs import OffsetAndMetadata

from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.event.limits import Limits
from lightsched.event.murmur2 import partition_of
from lightsched.event.record import Record
from lightsched.log.errors import Fenced, PartitionBroken, StepRefused
from lightsched.log.kafka import partition as kafka_partition
from lightsched.log.kafka import taking
from lightsched.log.kafka.changelog import POSITION, Position, encode_position, to_changes, to_records
from lightsched.log.kafka.connection import Group
from lightsched.log.kafka.errors import (
    ChangelogMissing,
    InputLost,
    OutcomeUnknown,
    StoreBroken,
    TopicsMissing,
    TopicsWrong,
)
from lightsched.log.kafka.listener import Listener
from lightsched.log.kafka.restoring import LocalStore
from lightsched.log.kafka.topics import describe
from lightsched.node.answers import Answers
from lightsched.node.clock import SystemClock
from lightsched.node.guard import ClockGuard
from lightsched.node.metrics import Metrics
from lightsched.node.node import Node
from lightsched.node.settings import Settings
from lightsched.node.worker import Worker
from lightsched.store.rocks import Memory, new_batch
from tests.conformance.adapters import DAY_MS, PARTITIONS
from tests.conformance.make import LONG_S, TOPICS, command, delivery, event, fetched, record, step, values
from tests.programs import KCAT

CHANGES = 3
"""Of one step of `make.step`: state, definition, meta."""
SMALL = 20_000
"""Bytes that a batch on a narrow topic may have."""


@pytest.fixture
def applied(monkeypatch):
    """How many records each take has applied."""
    counts = []
    restore = taking.restore

    async def counting(*arguments, **options):
        counts.append(await restore(*arguments, **options))
        return counts[-1]

    monkeypatch.setattr(taking, "restore", counting)
    return counts


@contextlib.asynccontextmanager
async def producer(adapter, **options):
    made = AIOKafkaProducer(bootstrap_servers=adapter.connection.bootstrap, **options)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def rules(log, number=0):
    return Rules(number, log.partitions, Limits(names=log.topics), refuse=log.refuse)


def worker_of(log, partition):
    clock = SystemClock()
    guard = ClockGuard(clock.wall_ms(), clock.monotonic_ms())
    return Worker(partition, Engine(rules(log, partition.number)), clock, Answers(), Metrics(), guard)


@contextlib.asynccontextmanager
async def working(log, *numbers):
    """Workers of partitions, running."""
    workers = [worker_of(log, await log.take(number)) for number in numbers]
    running = [asyncio.create_task(worker.run()) for worker in workers]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.stop()
        await asyncio.gather(*running)


def directory(adapter, number=0):
    return adapter.path / f"partition-{number:04d}"


@contextlib.contextmanager
def local_store(path: Path):
    local = LocalStore(path, 0, Memory().divided(3))
    yield local
    local.close()


async def leave_open(partition, text):
    """Begin a step and stop in the middle: its records are sent, and nothing is committed."""
    transactions = partition._transactions
    await transactions._producer.begin_transaction()
    made = step(partition, text)
    placed = partition._placed(made)
    placed[partition._changelog] = to_records(partition.store.changes(made))
    _, failure = await transactions._send(placed, made.now_ms, lambda _: 1_000_000)
    assert failure is None


# the fence


async def test_a_former_owner_can_commit_nothing_more(on_kafka):
    first = await on_kafka.open(at="-1")
    formers = [await first.take(number) for number in range(PARTITIONS)]
    second = await on_kafka.open(at="-2")
    number = min(second.owned)
    former = formers[number]
    await former.commit(step(former, "goes on until it is taken", full=False))
    await leave_open(former, "left open")
    partition = await second.take(number)
    assert partition.store.meta.step == 1
    with pytest.raises(Fenced):
        await former._transactions._end()
    with pytest.raises(Fenced):
        await former.commit(step(former, "too late"))
    with pytest.raises(PartitionBroken):
        await former.commit(step(former, "again"))
    await partition.commit(step(partition, "after", full=False))
    found = await fetched(second, TOPICS.deliveries, 2)
    assert values(found) == ["goes on until it is taken", "after"]
    assert await second.fetch(TOPICS.dead_letter, {}, 10, 0) == []


async def test_a_take_that_is_given_up_at_its_very_end_leaves_nothing_behind(on_kafka, monkeypatch):
    log = await on_kafka.open()
    stop, stopping = AIOKafkaConsumer.stop, asyncio.Event()

    async def hang_once(self):
        if "changelog" in self._client._client_id and not stopping.is_set():
            stopping.set()
            await asyncio.Event().wait()
        await stop(self)

    monkeypatch.setattr(AIOKafkaConsumer, "stop", hang_once)
    given_up = asyncio.create_task(log.take(0))
    await stopping.wait()
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    partition = await log.take(0)  # another could not open the store
    await partition.commit(step(partition, "one", full=False))


async def test_partitions_that_stay_go_on_while_another_node_joins(on_kafka):
    first = await on_kafka.open(at="-1")
    formers = [await first.take(number) for number in range(PARTITIONS)]
    second = await on_kafka.open(at="-2")
    async with asyncio.timeout(LONG_S):
        while first.owned & second.owned or len(first.owned | second.owned) < PARTITIONS:
            await first.changed()
    for number in first.owned:
        await formers[number].commit(step(formers[number], str(number), full=False))
    assert len(await fetched(second, TOPICS.deliveries, len(first.owned))) > 0


async def test_a_node_that_was_killed_does_not_wait_for_its_former_self(on_kafka):
    on_kafka.group = replace(on_kafka.group, session_timeout_ms=int(3 * LONG_S * 1000))
    killed = await on_kafka.open()
    coordinator = killed._member._consumer._coordinator
    for task in (coordinator._coordination_task, coordinator._heartbeat_task):  # it does not leave, it falls silent
        task.cancel()
    await asyncio.wait({killed._member._polling}, timeout=0)
    again = await on_kafka.open()
    assert again.owned == set(range(PARTITIONS))


async def test_a_node_that_comes_back_gets_the_partitions_that_it_has_stores_of(on_kafka):
    first = await on_kafka.open(at="-1")
    second = await on_kafka.open(at="-2")
    async with asyncio.timeout(LONG_S):
        while first.owned & second.owned:
            await first.changed()
    mine = second.owned
    for number in mine:
        await (await second.take(number)).close()
    await second.close()
    async with asyncio.timeout(LONG_S):
        while len(first.owned) < PARTITIONS:
            await first.changed()
    assert (await on_kafka.open(at="-2")).owned == mine


# restoring


async def test_a_restart_applies_only_what_the_store_does_not_have(on_kafka, applied):
    crashing = False

    def fault(point):
        if crashing and point == "committed":
            raise OSError("the disk is full")

    log = await on_kafka.open(fault=fault)
    partition = await log.take(0)
    for n in range(5):
        await partition.commit(step(partition, str(n)))
    crashing = True
    with pytest.raises(StoreBroken):
        await partition.commit(step(partition, "committed, but not stored"))
    await partition.close()
    partition = await log.take(0)
    assert partition.store.meta.step == 6
    assert partition.store.definition(event("committed, but not stored")) is not None
    await partition.close()
    await log.take(0)
    assert applied[0] == 0
    assert applied[1] <= CHANGES + 1
    assert applied[2] <= 1


async def live_a_life(log, partition, turns=40):
    """Events that come, change, fire, are reported on and go."""
    engine = Engine(rules(log))
    now_ms = log.clock_ms()
    chance = random.Random(1)
    for turn in range(turns):
        id_ = f"e{chance.randrange(8)}"
        sent = chance.choice(
            [
                command(id=id_, at=now_ms + chance.randrange(120_000), payload=turn),
                command(id=id_, key="other", every="1m", payload=turn, max_runs=5, overlap="queue"),
                command(id=id_, cron="* * * * *", retry={"attempts": 3, "delay": "1s"}),
                command(op=chance.choice(["cancel", "pause", "resume"]), id=id_),
                Record(None, b"nonsense"),
            ]
        )
        await log.append(TOPICS.events, 0, [sent])
        now_ms += chance.randrange(60_000)
        await partition.commit(engine.step(partition.store, await partition.read(100, LONG_S), now_ms))


async def test_a_store_that_was_deleted_is_rebuilt_as_it_was(on_kafka, applied):
    log = await on_kafka.open(partitions=1)
    partition = await log.take(0)
    await live_a_life(log, partition)
    lived = partition.store.dump()
    assert partition.store.meta.totals.fired >= 5
    await partition.close()
    shutil.rmtree(directory(on_kafka))
    partition = await log.take(0)
    assert applied[1] > 40
    assert partition.store.dump() == lived


async def test_inputs_are_read_by_bytes_whatever_they_were_compressed_to(on_kafka, monkeypatch):
    monkeypatch.setattr(kafka_partition, "_MOST_BYTES", 20_000)
    monkeypatch.setattr(kafka_partition, "_PORTION", 5)
    log = await on_kafka.open(partitions=1)
    partition = await log.take(0)
    sent = [f"{n:03}" + "x" * 1_000 for n in range(60)]
    await log.append(TOPICS.events, 0, [record(text) for text in sent])
    read = []
    async with asyncio.timeout(LONG_S):
        while sum(map(len, read)) < len(sent):
            read.append(values(await partition.read(1_000, LONG_S)))
    assert [text for some in read for text in some] == sent
    assert max(map(len, read)) <= 20


async def test_a_compacted_changelog_makes_the_same_store(on_kafka, tmp_path):
    log = await on_kafka.open(partitions=1)
    partition = await log.take(0)
    await live_a_life(log, partition)
    written = []
    async with asyncio.timeout(LONG_S):
        while not written or written[-1].offset < partition._local.position.meta_at:  # the last step is visible soon
            written = await log.fetch(TOPICS.changelog, {}, 10_000, LONG_S)
    last = {each.record.key: each.record.value for each in written}
    places = {each.record.key: n for n, each in enumerate(written)}
    kept = [(key, last[key]) for key in sorted(last, key=places.__getitem__)]
    assert len(kept) < len(written)
    with local_store(tmp_path / "compacted") as local:
        for start in range(0, len(kept), 7):
            local.restore(list(to_changes(kept[start : start + 7])), Position(start, 0))
        assert local.store.dump() == partition.store.dump()


async def test_a_store_whose_position_is_out_of_range_is_rebuilt(on_kafka, applied):
    log = await on_kafka.open()
    partition = await log.take(0)
    for n in range(3):
        await partition.commit(step(partition, str(n)))
    lived = partition.store.dump()
    await partition.close()
    for wrong in (None, 10_000):
        with local_store(directory(on_kafka)) as local:
            batch = new_batch()
            if wrong is None:
                batch.delete(local.store._prefix + b"log:" + POSITION, local.rocks.handles["meta"])
            else:
                local.store.remember(batch, POSITION, encode_position(Position(wrong, on_kafka.now_ms)))
            local.rocks.write(batch)
        partition = await log.take(0)
        assert applied[-1] == 3 * CHANGES, wrong
        assert partition.store.dump() == lived
        await partition.close()


async def test_a_store_that_may_have_missed_deletions_is_rebuilt(on_kafka, applied):
    log = await on_kafka.open()
    partition = await log.take(0)
    await partition.commit(step(partition, "0"))
    await partition.close()
    for days in (0, 1):
        shutil.copytree(directory(on_kafka), directory(on_kafka, 90 + days))
        with local_store(directory(on_kafka, 90 + days)) as local:
            position = local.position
            aged = Position(position.offset, position.at_ms - days * DAY_MS, position.meta_at)
            batch = new_batch()
            local.store.remember(batch, POSITION, encode_position(aged))
            local.rocks.write(batch)
    partition = await log.take(0)
    await partition.commit(step(partition, "1"))
    lived = partition.store.dump()
    await partition.close()
    for days, changes in ((0, CHANGES + 1), (1, 2 * CHANGES)):
        shutil.rmtree(directory(on_kafka))
        directory(on_kafka, 90 + days).rename(directory(on_kafka))
        partition = await log.take(0)
        assert applied[-1] == changes
        assert partition.store.dump() == lived
        await partition.close()


@pytest.mark.parametrize("steps", [1, 3])
async def test_a_store_of_another_changelog_is_rebuilt(on_kafka, tmp_path, steps):
    """Also one that is as long as this one."""
    log = await on_kafka.open()
    other = await on_kafka.open(
        at="-other", prefix=TOPICS.prefix + "other.", group=Group(TOPICS.prefix + "another group")
    )
    strange = await other.take(0)
    for n in range(steps):
        await strange.commit(step(strange, f"strange {n}"))
    await other.close()
    partition = await log.take(0)
    for n in range(3):
        await partition.commit(step(partition, str(n)))
    lived = partition.store.dump()
    await partition.close()
    shutil.rmtree(directory(on_kafka))
    on_kafka.path.with_name(on_kafka.path.name + "-other").joinpath("partition-0000").rename(directory(on_kafka))
    partition = await log.take(0)
    assert partition.store.dump() == lived


async def test_a_store_whose_last_step_the_changelog_does_not_have_is_rebuilt(on_kafka):
    """Brokers may lose what they have acknowledged, and go on with something else."""
    log = await on_kafka.open()
    partition = await log.take(0)
    await partition.commit(step(partition, "0"))
    await partition.close()
    shutil.copytree(directory(on_kafka), directory(on_kafka, 90))
    partition = await log.take(0)
    await partition.commit(step(partition, "as it is told now"))
    lived, position = partition.store.dump(), partition._local.position
    await partition.close()
    with local_store(directory(on_kafka, 90)) as local:
        batch = new_batch()
        local.number = 0
        local.store.apply(batch, step(local, "as it was", inputs=1))
        local.store.remember(batch, POSITION, encode_position(position))
        local.rocks.write(batch)
    shutil.rmtree(directory(on_kafka))
    directory(on_kafka, 90).rename(directory(on_kafka))
    partition = await log.take(0)
    assert partition.store.dump() == lived


async def test_a_store_that_has_nothing_in_common_with_the_changelog_is_rebuilt(on_kafka):
    log = await on_kafka.open()
    partition = await log.take(0)
    await partition.commit(step(partition, "0"))
    lived = partition.store.dump()
    await partition.close()
    shutil.rmtree(directory(on_kafka))
    _, end = (await log.ends(TOPICS.changelog))[0]
    with local_store(directory(on_kafka)) as local:
        batch = new_batch()
        local.number = 0
        local.store.apply(batch, step(local, "strange"))
        local.store.remember(batch, POSITION, encode_position(Position(end, on_kafka.now_ms, end - 1)))
        local.rocks.write(batch)
    partition = await log.take(0)
    assert partition.store.dump() == lived


async def test_a_store_is_restored_though_the_changelog_ends_with_what_was_aborted(on_kafka, applied):
    log = await on_kafka.open()
    partition = await log.take(0)
    await partition.commit(step(partition, "one"))
    for n in range(3):
        await leave_open(partition, f"left open {n}")
        await partition.close()
        async with asyncio.timeout(15):  # whoever waits for a last record waits for ever
            partition = await log.take(0)
    assert partition.store.meta.step == 1
    assert applied[1] <= 1
    lived = partition.store.dump()
    await partition.close()
    shutil.rmtree(directory(on_kafka))
    partition = await log.take(0)
    assert partition.store.dump() == lived
    await partition.commit(step(partition, "two", full=False))
    assert values(await fetched(log, TOPICS.deliveries, 2)) == ["one", "two"]


async def commit_offset(adapter, offset):
    place = TopicPartition(TOPICS.events, 0)
    async with AIOKafkaConsumer(
        bootstrap_servers=adapter.connection.bootstrap, group_id=adapter.group.name, enable_auto_commit=False
    ) as consumer:
        consumer.assign([place])
        await consumer.commit({place: OffsetAndMetadata(offset, "")})


@pytest.mark.parametrize("changelog", ["new", "with aborted records"])
async def test_an_empty_changelog_of_a_group_that_has_read_is_refused(on_kafka, changelog):
    await on_kafka.create(TOPICS.events, message_timestamp_type="LogAppendTime")
    await commit_offset(on_kafka, 7)
    log = await on_kafka.open()
    if changelog == "with aborted records":
        async with producer(on_kafka, transactional_id=TOPICS.prefix + "somebody") as somebody:
            await somebody.begin_transaction()
            await (await somebody.send(TOPICS.changelog, b"never", b"m", partition=0))
            await somebody.abort_transaction()
    with pytest.raises(ChangelogMissing, match="has already read 7 inputs"):
        await log.take(0)
    await log.take(1)


# inputs


async def test_inputs_that_are_gone_are_reported(on_kafka):
    log = await on_kafka.open()
    await log.append(TOPICS.events, 0, [record(f"e{n}") for n in range(5)])
    partition = await log.take(0)
    assert len(await partition.read(10, LONG_S)) == 5
    await partition.commit(step(partition, "one", inputs=1))
    await partition.close()
    async with on_kafka.admin() as admin:
        await admin.delete_records({TopicPartition(TOPICS.events, 0): RecordsToDelete(before_offset=3)})
    with pytest.raises(InputLost, match="begins at offset 3, and 1 was to be read next"):
        await log.take(0)


async def trim(adapter, topic, before_offset):
    """As retention does."""
    async with adapter.admin() as admin:
        await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=before_offset)})


async def test_inputs_that_are_gone_while_they_are_read_are_reported(on_kafka):
    log = await on_kafka.open()
    partition = await log.take(0)
    await log.append(TOPICS.events, 0, [record(f"e{n}") for n in range(5)])
    assert len(await partition.read(10, LONG_S)) == 5
    await trim(on_kafka, TOPICS.events, 3)
    partition._inputs.seek(TopicPartition(TOPICS.events, 0), 0)  # it was slower than retention
    with pytest.raises(InputLost, match="begins at offset 3, and 0 was to be read next"):
        await partition.read(10, LONG_S)


async def test_what_follows_the_last_record_is_not_lost_when_both_are_deleted(on_kafka, monkeypatch):
    """The marker of a transaction, and what another one has aborted: retention deletes them with the records."""
    monkeypatch.setattr(kafka_partition, "_TIDY_S", 0.0)
    log = await on_kafka.open(partitions=1)
    somebody = producer(on_kafka, transactional_id=TOPICS.prefix + "somebody")
    async with somebody as sender, working(log, 0) as (worker,):
        async with sender.transaction():
            await sender.send(TOPICS.events, command(id="one", at=on_kafka.now_ms).value, partition=0)
        await fetched(log, TOPICS.deliveries, 1)
        await sender.begin_transaction()
        await sender.send(TOPICS.events, b"nobody reads this", partition=0)
        await sender.flush()
        await sender.abort_transaction()
        end = (await worker.partition._inputs.end_offsets([TopicPartition(TOPICS.events, 0)])).popitem()[1]
        async with asyncio.timeout(LONG_S):
            while worker.partition.store.meta.events_offset < end:
                await asyncio.sleep(0.05)
                worker.partition.wake()
    await log.close()
    await trim(on_kafka, TOPICS.events, end)
    log = await on_kafka.open(partitions=1)
    partition = await log.take(0)
    assert partition.store.meta.events_offset == end == 4


async def lose(on_kafka):
    """Two of five inputs and one of two reports are gone, before they were read."""
    log = await on_kafka.open()
    await log.append(TOPICS.events, 0, [record(f"e{n}") for n in range(5)])
    await log.append(TOPICS.reports, 0, [record(f"r{n}") for n in range(2)])
    partition = await log.take(0)
    await partition.commit(step(partition, "one", inputs=1))
    await log.close()
    await trim(on_kafka, TOPICS.events, 3)
    await trim(on_kafka, TOPICS.reports, 1)


@pytest.mark.parametrize("first_start", [True, False])
async def test_who_accepts_that_inputs_are_lost_goes_on_with_those_that_are_there(on_kafka, first_start, caplog):
    if first_start:
        log = await on_kafka.open()
        await log.append(TOPICS.events, 0, [record(f"e{n}") for n in range(5)])
        await log.close()
        await trim(on_kafka, TOPICS.events, 3)
    else:
        await lose(on_kafka)
    log = await on_kafka.open()
    with pytest.raises(InputLost, match=r"kafka\.on_lost_input"):
        await log.take(0)
    await log.close()
    metrics = Metrics()
    heard = Listener(input_lost=metrics.input_lost)
    log = await on_kafka.open(go_on_without_lost_inputs=True, listener=heard)
    partition = await log.take(0)
    found = await partition.read(10, LONG_S)
    assert values(found) == (["e3", "e4"] if first_start else ["e3", "e4", "r1"])
    assert not partition.behind
    assert "INPUTS ARE LOST" in caplog.text
    lost = 3  # the first three events; or two of them and a report
    assert metrics.registry.get_sample_value("lightsched_missed_total", {"reason": "input_lost"}) == lost
    await log.close()
    log = await on_kafka.open(listener=heard)
    partition = await log.take(0)  # accepted once, it is not lost again
    assert values(await partition.read(10, LONG_S)) == values(found)
    assert metrics.registry.get_sample_value("lightsched_missed_total", {"reason": "input_lost"}) == lost


@contextlib.asynccontextmanager
async def running_node(adapter, **kafka):
    """A node as its settings say, until all its partitions run."""
    own = {"bootstrap": adapter.connection.bootstrap, "prefix": TOPICS.prefix, "group": adapter.group.name}
    node = await Node.open(Settings.load(log="kafka", data=adapter.path, kafka={"partitions": 1, **own, **kafka}))
    running = asyncio.create_task(node.run())
    try:
        async with asyncio.timeout(LONG_S):
            await node.wait_ready()
        yield node
    finally:
        node.stop()
        await running


async def test_a_node_can_be_set_to_accept_that_inputs_are_lost_and_counts_what_it_restores(on_kafka):
    log = await on_kafka.open(partitions=1)
    await log.append(TOPICS.events, 0, [command(id=str(n), **{"in": "1h"}) for n in range(5)])
    await log.close()
    await trim(on_kafka, TOPICS.events, 3)
    async with running_node(on_kafka, on_lost_input="continue") as node:
        async with asyncio.timeout(LONG_S):
            while node.workers[0].partition.store.meta.totals.pending < 2:  # noqa: ASYNC110 -- nobody tells
                await asyncio.sleep(0.01)
        value = node.metrics.registry.get_sample_value
        assert value("lightsched_missed_total", {"reason": "input_lost"}) == 3
    shutil.rmtree(directory(on_kafka))
    async with running_node(on_kafka) as node:
        value = node.metrics.registry.get_sample_value
        assert value("lightsched_missed_total", {"reason": "input_lost"}) is None
        assert value("lightsched_restored_records_total", {"partition": "0"}) >= 2 * CHANGES - 1
        assert value("lightsched_restore_left", {"partition": "0"}) == 0
        assert node.workers[0].partition.store.meta.totals.pending == 2


async def test_who_accepts_that_the_state_is_lost_begins_where_the_group_was(on_kafka):
    log = await on_kafka.open()
    await log.append(TOPICS.events, 0, [record(f"e{n}") for n in range(5)])
    await log.close()
    await commit_offset(on_kafka, 3)
    lost = []
    log = await on_kafka.open(
        go_on_without_lost_inputs=True, listener=Listener(input_lost=lambda *facts: lost.append(facts))
    )
    partition = await log.take(0)
    assert values(await partition.read(10, LONG_S)) == ["e3", "e4"]
    assert lost == [(0, 3)]


async def test_who_accepts_that_a_topic_ends_too_early_goes_on_at_its_end(on_kafka, caplog):
    """Cut short by an election, it has nothing that was not read before: none of it must be carried out again."""
    log = await on_kafka.open()
    await log.append(TOPICS.events, 0, [record(f"e{n}") for n in range(5)])
    partition = await log.take(0)
    await partition.commit(step(partition, "one", inputs=5))
    await log.close()
    async with on_kafka.admin() as admin:
        await admin.delete_topics([TOPICS.events])
    log = await on_kafka.open()
    await log.append(TOPICS.events, 0, [record(f"e{n}") for n in range(3)])
    with pytest.raises(InputLost, match="ends at offset 3, and 5 was to be read next"):
        await log.take(0)
    await log.close()
    lost = []
    heard = Listener(input_lost=lambda *facts: lost.append(facts))
    log = await on_kafka.open(go_on_without_lost_inputs=True, listener=heard)
    partition = await log.take(0)
    await log.append(TOPICS.events, 0, [record("new")])
    assert values(await partition.read(10, LONG_S)) == ["new"]
    assert lost == [(0, 1)]
    assert "ends at offset 3, and 5 was to be read next: it goes on at 3, and nobody knows how many" in caplog.text


async def test_who_accepts_that_the_state_is_lost_and_the_topic_ends_too_early_goes_on_at_its_end(on_kafka):
    log = await on_kafka.open()
    await log.append(TOPICS.events, 0, [record(f"e{n}") for n in range(5)])
    await log.close()
    await commit_offset(on_kafka, 7)
    log = await on_kafka.open(go_on_without_lost_inputs=True)
    partition = await log.take(0)
    await log.append(TOPICS.events, 0, [record("new")])
    assert values(await partition.read(10, LONG_S)) == ["new"]


async def test_the_next_input_is_read_at_once_also_after_a_step_that_took_long(on_kafka):
    log = await on_kafka.open()
    partition = await log.take(0)
    took_s = []
    for _ in range(3):
        await log.append(TOPICS.events, 0, [record("one")] * 20)
        assert len(await partition.read(10, LONG_S)) == 10
        await asyncio.sleep(0.15)
        assert len(await partition.read(10, LONG_S)) == 10
        await log.append(TOPICS.events, 0, [record("next")])
        began = time.perf_counter()
        assert values(await partition.read(10, LONG_S)) == ["next"]
        took_s.append(time.perf_counter() - began)
    assert min(took_s) < 0.2, "it was not fetched while others were"


async def test_a_transaction_that_somebody_aborts_does_not_stall_reading(on_kafka):
    log = await on_kafka.open()
    partition = await log.take(0)
    async with producer(on_kafka, transactional_id=TOPICS.prefix + "somebody") as somebody:
        await somebody.begin_transaction()
        await (await somebody.send(TOPICS.events, b"never", partition=0))
        await log.append(TOPICS.events, 0, [record("waits")])
        assert await partition.read(10, 0.2) == []
        await somebody.abort_transaction()
        assert values(await partition.read(10, LONG_S)) == ["waits"]
        await somebody.begin_transaction()
        await (await somebody.send(TOPICS.events, b"never", partition=0))
        await somebody.abort_transaction()
    await partition.close()
    partition = await log.take(0)
    read = []
    async with asyncio.timeout(LONG_S):
        while partition.behind:
            read += values(await partition.read(10, 0))
    assert read == ["waits"]
    assert partition.lag == 0


async def test_what_makes_no_sense_becomes_a_dead_letter(on_kafka):
    log = await on_kafka.open()
    huge = random.Random(1).randbytes(1_048_480)  # with it a batch is as large as the topic takes
    bad = [
        Record(b"k", None),
        Record(b"\xff\xfe", b"{}"),
        Record(b"k", b'{"id": "\xff"}'),
        Record(b"k", b'{"%b": 1}' % (b"x" * 1_000_000)),
        Record(b"k", huge),
        Record(huge, b"{}"),
        Record(b"k", b"{}", (("h", huge),)),
    ]
    async with working(log, 2), producer(on_kafka, max_request_size=2_000_000) as outsider:
        for each in bad:
            headers = list(each.headers)
            await outsider.send_and_wait(TOPICS.events, each.value, each.key, partition=2, headers=headers)
        found = await fetched(log, TOPICS.dead_letter, len(bad))
    assert {each.partition for each in found} == {2}
    for offset, (each, sent) in enumerate(zip(found, bad, strict=True)):
        headers = dict(each.record.headers)
        assert headers["ls_reason"] == b"INVALID"
        assert headers["ls_detail"]
        where = (headers["ls_topic"], headers["ls_partition"], headers["ls_offset"])
        assert where == (TOPICS.events.encode(), b"2", str(offset).encode())
        if huge not in {sent.key, sent.value} and not sent.headers:
            assert (each.record.key, each.record.value) == (sent.key, sent.value)
    assert found[4].record.key == b"k"
    assert huge.startswith(found[4].record.value)
    assert len(found[4].record.value) > 1_000_000


def produce_with_kcat(adapter, keys):
    """As librdkafka does, whose partitioner is not Java's."""
    lines = "".join(f"{key}|{json.dumps({'id': key, 'in': '1ms'})}\n" for key in keys)
    arguments = ["-P", "-b", adapter.connection.bootstrap, "-t", TOPICS.events, "-K|", "-X", "partitioner=consistent"]
    subprocess.run([KCAT.find(), *arguments], input=lines.encode(), check=True, timeout=30)


async def test_commands_that_landed_elsewhere_are_forwarded_home(on_kafka):
    log = await on_kafka.open()
    keys = [f"k{n}" for n in range(12)]
    await asyncio.to_thread(produce_with_kcat, on_kafka, keys)
    landed = {each.record.key.decode(): each.partition for each in await fetched(log, TOPICS.events, 12)}
    assert any(partition_of(key, PARTITIONS) != number for key, number in landed.items())
    async with working(log, 0, 1, 2):
        found = await fetched(log, TOPICS.deliveries, len(keys))
    assert sorted(each.record.key.decode() for each in found) == sorted(keys)
    assert all(each.partition == partition_of(each.record.key.decode(), PARTITIONS) for each in found)


# deliveries


async def test_a_delivery_to_a_topic_that_is_not_there_stops_nobody_else(on_kafka):
    log = await on_kafka.open(partitions=1)
    events = [
        command(id="lost", topics=[TOPICS.prefix + "nowhere"], at=on_kafka.now_ms),
        command(id="half lost", topics=[TOPICS.orders, TOPICS.prefix + "nowhere"], at=on_kafka.now_ms),
        command(id="innocent", topics=[TOPICS.orders], at=on_kafka.now_ms),
    ]
    await log.append(TOPICS.events, 0, events)
    async with working(log, 0) as (worker,):
        (innocent,) = await fetched(log, TOPICS.orders, 1)
        dead = await fetched(log, TOPICS.dead_letter, 2)
        totals = worker.partition.store.meta.totals
    assert innocent.record.key == b"innocent"
    assert {each.record.key for each in dead} == {b"lost", b"half lost"}
    for each in dead:
        headers = dict(each.record.headers)
        assert headers["ls_reason"] == b"UNDELIVERABLE"
        assert b"no such topic" in headers["ls_detail"]
    assert (totals.dead, totals.fired, totals.difference) == (2, 1, 0)


async def test_a_topic_that_is_deleted_is_noticed(on_kafka):
    on_kafka.connection = replace(on_kafka.connection, transaction_timeout_ms=2_000)
    log = await on_kafka.open()
    partition = await log.take(0)
    await partition.commit(step(partition, "one", topics=(TOPICS.orders,)))
    async with on_kafka.admin() as admin:
        await admin.delete_topics([TOPICS.orders])
    with pytest.raises(OutcomeUnknown):
        await partition.commit(step(partition, "two", topics=(TOPICS.orders,)))
    await partition.close()
    partition = await log.take(0)
    made = step(partition, "two", topics=(TOPICS.orders,))
    with pytest.raises(StepRefused):
        await partition.commit(made)
    assert "no such topic" in log.refuse(made.deliveries[0])
    await partition.commit(step(partition, "two"))


async def test_a_delivery_that_is_too_large_for_its_topic_stops_nobody_else(on_kafka):
    log = await on_kafka.open(partitions=1)
    narrow = TOPICS.prefix + "narrow"
    await on_kafka.create(narrow, max_message_bytes=str(SMALL))
    large = random.Random(1).randbytes(2 * SMALL).hex()
    events = [
        command(id="large", topics=[narrow], at=on_kafka.now_ms, payload=large),
        command(id="small", topics=[narrow], at=on_kafka.now_ms, payload="small"),
    ]
    await log.append(TOPICS.events, 0, events)
    async with working(log, 0):
        (small,) = await fetched(log, narrow, 1)
        (dead,) = await fetched(log, TOPICS.dead_letter, 1)
    assert small.record.key == b"small"
    headers = dict(dead.record.headers)
    assert (dead.record.key, headers["ls_reason"]) == (b"large", b"UNDELIVERABLE")
    assert b"larger than the topic takes" in headers["ls_detail"]


async def test_after_a_delivery_that_was_too_large_the_topic_is_delivered_to_from_the_same_partition(on_kafka):
    """The broker has refused a batch of a transaction: the next one must not be out of order for it."""
    log = await on_kafka.open(partitions=1)
    narrow = TOPICS.prefix + "narrow"
    await on_kafka.create(narrow)
    chance = random.Random(1)

    async def send(id_, size):
        payload = chance.randbytes(size // 2).hex()
        await log.append(TOPICS.events, 0, [command(id=id_, topics=[narrow], at=on_kafka.now_ms, payload=payload)])

    async with working(log, 0):
        await send("before", 3 * SMALL)
        await fetched(log, narrow, 1)
        await on_kafka.alter(narrow, max_message_bytes=str(2 * SMALL))
        await send("too large", 3 * SMALL)
        await fetched(log, TOPICS.dead_letter, 1)
        await send("fits", SMALL)
        assert [each.record.key for each in await fetched(log, narrow, 2)] == [b"before", b"fits"]


async def test_deliveries_that_fit_one_by_one_are_made_however_many_they_are(on_kafka):
    log = await on_kafka.open(partitions=1)
    narrow = TOPICS.prefix + "narrow"
    await on_kafka.create(narrow, max_message_bytes=str(SMALL))
    chance = random.Random(1)
    events = [
        command(id=str(n), topics=[narrow], at=on_kafka.now_ms, payload=chance.randbytes(2_000).hex())
        for n in range(50)
    ]
    await log.append(TOPICS.events, 0, events)
    async with working(log, 0):
        found = await fetched(log, narrow, 50)
    assert {each.record.key for each in found} == {str(n).encode() for n in range(50)}
    assert await log.fetch(TOPICS.dead_letter, {}, 10, 0) == []


async def test_a_step_names_its_partitions_once_however_many_batches_it_has(on_kafka, monkeypatch):
    named = []

    class Noted(sender.AddPartitionsToTxnHandler):
        def __init__(self, of, partitions):
            named.append(frozenset(partitions))
            super().__init__(of, partitions)

    monkeypatch.setattr(sender, "AddPartitionsToTxnHandler", Noted)
    log = await on_kafka.open()
    partition = await log.take(0)
    await partition.commit(step(partition, "first"))  # from now on the producer knows the topics
    named.clear()
    texts = [f"{n}" * 300_000 for n in range(6)]
    await partition.commit(replace(step(partition, "all"), deliveries=[delivery(text) for text in texts]))
    assert len(set(named)) == 1
    assert values(await fetched(log, TOPICS.deliveries, 7)) == ["first", *texts]


async def test_a_step_with_a_long_audit_is_committed(on_kafka):
    log = await on_kafka.open(partitions=1)
    chance = random.Random(1)
    ids = ["".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(200)) for _ in range(1_000)]
    for start in range(0, 1_000, 200):
        await log.append(TOPICS.events, 0, [command(id=id_, at=on_kafka.now_ms) for id_ in ids[start : start + 200]])
    async with working(log, 0):
        assert len(await fetched(log, TOPICS.deliveries, 1_000)) == 1_000
    delivered, position = [], 0
    async with asyncio.timeout(LONG_S):
        while len(delivered) < len(ids):
            found = await log.fetch(TOPICS.audit, {0: position}, 10, LONG_S)
            position = found[-1].offset + 1
            transitions = [json.loads(line) for each in found for line in each.record.value.splitlines()]
            delivered += [each["id"] for each in transitions if each["what"] == "deliver"]
    assert delivered == ids


async def test_a_topic_with_another_number_of_partitions_keeps_the_order_of_a_key(on_kafka):
    log = await on_kafka.open(partitions=1)
    wide = TOPICS.prefix + "wide"
    await on_kafka.create(wide, partitions=4)
    for turn in range(3):
        events = [command(id=f"{key}/{turn}", key=key, topics=[wide], at=on_kafka.now_ms) for key in "abcdef"]
        await log.append(TOPICS.events, 0, events)
    async with working(log, 0):
        found = await fetched(log, wide, 18)
    for key in "abcdef":
        of_key = [each for each in found if each.record.key == key.encode()]
        assert {each.partition for each in of_key} == {partition_of(key, 4)}
        assert [dict(each.record.headers)["ls_id"] for each in of_key] == [f"{key}/{n}".encode() for n in range(3)]


# topics


async def test_topics_that_are_wrong_are_refused_with_all_that_is_wrong(on_kafka):
    right = {"message_timestamp_type": "LogAppendTime"}
    await on_kafka.create(TOPICS.events, partitions=2, **right)
    await on_kafka.create(TOPICS.reports, message_timestamp_type="CreateTime")
    await on_kafka.create(TOPICS.changelog, cleanup_policy="delete", **right)
    await on_kafka.create(TOPICS.dead_letter, partitions=7, **right)
    with pytest.raises(TopicsWrong) as caught:
        await on_kafka.open()
    problems = caught.value.problems.split("; ")
    assert len(problems) == 3
    assert problems[0].startswith(f"{TOPICS.events} has 2 partitions and must have 3")
    assert problems[1] == f"{TOPICS.reports} has message.timestamp.type=CreateTime and must have LogAppendTime"
    assert problems[2] == f"{TOPICS.changelog} has cleanup.policy=delete and must have compact"


async def test_topics_with_too_few_replicas_are_refused(on_kafka):
    await (await on_kafka.open()).close()
    with pytest.raises(TopicsWrong) as caught:
        await on_kafka.open(replication=2)
    assert caught.value.problems.count("has 1 replicas and must have 2") == 7


async def test_topics_that_are_missing_are_created_only_if_that_is_wanted(on_kafka):
    with pytest.raises(TopicsMissing) as caught:
        await on_kafka.open(create_topics=False)
    assert TOPICS.changelog in caught.value.topics
    await (await on_kafka.open()).close()
    await on_kafka.open(create_topics=False)


async def test_own_topics_that_take_smaller_records_than_come_in_are_refused(on_kafka):
    right = {"message_timestamp_type": "LogAppendTime"}
    await on_kafka.create(TOPICS.events, max_message_bytes="2000000", **right)
    await on_kafka.create(TOPICS.changelog, cleanup_policy="compact", max_message_bytes="1999999", **right)
    await on_kafka.create(TOPICS.dead_letter, **right)
    with pytest.raises(TopicsWrong) as caught:
        await on_kafka.open()
    assert caught.value.problems.split("; ") == [
        f"{topic} has max.message.bytes={found} and must have 2000000, as {TOPICS.events}, whose records it takes"
        for topic, found in ((TOPICS.changelog, 1999999), (TOPICS.dead_letter, 1048588))
    ]


async def test_own_topics_are_created_for_records_as_large_as_come_in(on_kafka):
    await on_kafka.create(TOPICS.events, message_timestamp_type="LogAppendTime", max_message_bytes="2000000")
    async with on_kafka.admin() as admin, asyncio.timeout(LONG_S):
        while not await describe(admin, [TOPICS.events]):  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.01)
    log = await on_kafka.open()
    assert log.directory.most_bytes(TOPICS.changelog) == log.directory.most_bytes(TOPICS.dead_letter) == 2_000_000


# after a pause


async def test_after_a_pause_nothing_fires_before_what_has_arrived_meanwhile(on_kafka):
    log = await on_kafka.open()
    partition = await log.take(0)
    assert await partition.read(10, 0) == []
    await log.append(TOPICS.events, 0, [record("meanwhile")])
    assert not partition.behind
    partition._read_at -= 10  # the process was stopped
    found = await partition.read(10, 0)
    assert partition.behind != bool(found)
    while partition.behind:
        found += await partition.read(10, 0)
    assert values(found) == ["meanwhile"]
    assert not partition.behind
