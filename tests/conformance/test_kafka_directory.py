"""What is known of topics on Kafka, and what when it is no longer true? They come, grow, become narrower and go."""

import asyncio
import contextlib
import random
from dataclasses import replace

import pytest
from aiokafka.admin import NewPartitions

from lightsched.event.murmur2 import partition_of
from lightsched.event.record import Record
from lightsched.log.errors import Fenced, NotRead
from lightsched.log.kafka import directory as kafka_directory
from lightsched.log.kafka.errors import NotMine, TopicsWrong
from lightsched.log.kafka.restoring import stored_in
from lightsched.log.kafka.transactions import Transactions
from tests.conformance.adapters import PARTITIONS
from tests.conformance.make import LONG_S, TOPICS, command, fetched, record, step, values
from tests.conformance.test_kafka import CHANGES, SMALL, applied, working

__all__ = ["applied"]

# delivering


async def test_a_topic_that_has_become_narrower_is_asked_about_again_and_then_avoided(on_kafka):
    """What it takes was known from before. The first refusal makes it ask; one more soon after, and it is avoided."""
    log = await on_kafka.open()
    narrow = TOPICS.prefix + "narrow"
    await on_kafka.create(narrow)
    chance = random.Random(1)
    ids = {
        number: [id_ for id_ in map(str, range(50)) if partition_of(id_, PARTITIONS) == number] for number in (0, 1, 2)
    }
    dead = 0

    async def send(number, size):
        id_ = ids[number].pop()
        payload = chance.randbytes(size // 2).hex()
        sent = command(id=id_, topics=[narrow], at=on_kafka.now_ms, payload=payload)
        await log.append(TOPICS.events, number, [sent])
        return id_.encode()

    async def next_dead():
        nonlocal dead
        dead += 1
        found = max(await fetched(log, TOPICS.dead_letter, dead), key=lambda each: each.timestamp_ms)
        return found.record.key, dict(found.record.headers)["ls_detail"].decode()

    async with working(log, 0, 1, 2):
        delivered = [await send(0, 3 * SMALL)]
        await fetched(log, narrow, 1)
        await on_kafka.alter(narrow, max_message_bytes=str(2 * SMALL))
        too_large = await send(0, 3 * SMALL)
        assert await next_dead() == (
            too_large,
            f"{narrow}: the record is larger than the topic takes ({2 * SMALL} bytes)",
        )
        delivered.append(await send(1, SMALL))
        assert {each.record.key for each in await fetched(log, narrow, 2)} == set(delivered)
        await on_kafka.alter(narrow, max_message_bytes=str(SMALL // 2))
        for number, size in ((1, SMALL), (2, 10)):
            avoided = await send(number, size)
            assert await next_dead() == (avoided, f"{narrow}: it was refused: MessageSizeTooLargeError")


async def test_a_commit_whose_place_was_not_told_is_read_again_when_the_partition_is_taken(on_kafka, applied):
    """A broker that has a batch already may answer without its offset. The store then stays where it was."""
    log = await on_kafka.open()
    for number, before in ((0, 0), (1, 1)):
        partition = await log.take(number)
        for _ in range(before):
            await partition.commit(step(partition, "before"))
        commit = partition._transactions.commit

        async def untold(placed, now_ms, most_bytes, commit=commit):
            ends = await commit(placed, now_ms, most_bytes)
            return {place: len(placed[place]) - 1 for place in ends}

        partition._transactions.commit = untold
        await partition.commit(step(partition, "one"))
        await partition.commit(step(partition, "two"))
        live = partition.store.dump()
        await partition.close()
        partition = await log.take(number)
        assert applied[-1] == 2 * CHANGES
        assert partition.store.dump() == live
        await partition.commit(step(partition, "three"))
        await partition.close()
        await log.take(number)
        assert applied[-1] <= 1  # at most the last record, to see that it is the same changelog


# reading


@pytest.fixture
def described(monkeypatch):
    """The topics that were asked about."""
    asked = []
    describe = kafka_directory.describe

    async def noting(admin, names):
        asked.extend(names)
        return await describe(admin, names)

    monkeypatch.setattr(kafka_directory, "describe", noting)
    return asked


async def until(log, topic, partitions):
    """Until the topic has so many partitions."""
    async with asyncio.timeout(LONG_S):
        while len(await log.ends(topic)) != partitions:  # noqa: ASYNC110 -- only the broker knows
            await asyncio.sleep(0.05)


async def test_a_topic_that_is_read_often_is_asked_about_once(on_kafka, described):
    log = await on_kafka.open()
    await log.append(TOPICS.orders, 0, [record(str(number)) for number in range(5)])
    for position in range(5):
        assert values(await log.fetch(TOPICS.orders, {0: position}, 1, 0)) == [str(position)]
        assert await log.positions(TOPICS.orders, "group") == {}
    await log.acknowledge(TOPICS.orders, "group", {0: 5})
    assert await log.positions(TOPICS.orders, "group") == {0: 5}
    assert described == [TOPICS.orders]
    assert TOPICS.orders not in log.known_topics  # nothing was delivered there


async def test_partitions_that_a_topic_gets_later_are_read_too(on_kafka, monkeypatch):
    monkeypatch.setattr(kafka_directory, "SURE_FOR_S", 0.2)
    log = await on_kafka.open()
    assert len(await log.ends(TOPICS.orders)) == PARTITIONS
    async with on_kafka.admin() as admin:
        await admin.create_partitions({TOPICS.orders: NewPartitions(total_count=PARTITIONS + 1)})
    await until(log, TOPICS.orders, PARTITIONS + 1)


async def test_a_topic_that_is_not_there_is_waited_for(on_kafka):
    log = await on_kafka.open()
    late = TOPICS.prefix + "late"
    assert await log.fetch(late, {}, 10, 0) == []
    reading = asyncio.create_task(log.fetch(late, {}, 10, LONG_S))
    await on_kafka.create(late)
    await until(log, late, PARTITIONS)
    await log.append(late, 1, [record("at last")])
    assert values(await reading) == ["at last"]


async def test_a_topic_that_was_deleted_is_soon_not_there(on_kafka):
    on_kafka.connection = replace(on_kafka.connection, request_timeout_ms=1_000)
    log = await on_kafka.open()
    await log.append(TOPICS.orders, 0, [record("one")])
    assert len(await log.fetch(TOPICS.orders, {}, 10, 0)) == 1
    async with on_kafka.admin() as admin:
        await admin.delete_topics([TOPICS.orders])
    async with asyncio.timeout(LONG_S):
        found, ends = [record("one")], None
        while found or ends != {}:
            with contextlib.suppress(NotRead):  # for a moment; what a client raises would not be suppressed
                found = await log.fetch(TOPICS.orders, {}, 10, 0)
                ends = await log.ends(TOPICS.orders)


# lightsched's own


async def test_a_dead_letter_that_is_all_header_is_cut_and_stops_nothing(on_kafka):
    """It fits into the events topic; with what is said about it, it does not fit into the next one as it is."""
    log = await on_kafka.open(partitions=1)
    labels = random.Random(1).randbytes(1_048_000 // 2).hex().encode()
    huge = Record(b"huge", b"payload", (("ls_in", b"1h"), ("ls_labels", labels)))
    async with working(log, 0):
        await log.append(TOPICS.events, 0, [huge])
        await log.append(TOPICS.events, 0, [command(id="next", at=on_kafka.now_ms)])
        (letter,) = await fetched(log, TOPICS.dead_letter, 1)
        assert [each.record.key for each in await fetched(log, TOPICS.deliveries, 1)] == [b"next"]
    headers = dict(letter.record.headers)
    assert "ls_labels" not in headers
    assert (headers["ls_cut"], headers["ls_reason"]) == (b"7", b"INVALID")


async def test_its_own_topics_are_never_forgotten(on_kafka):
    log = await on_kafka.open()
    await on_kafka.create(TOPICS.prefix + "other", partitions=1)
    await log.directory.learn([TOPICS.prefix + "other"])
    before = log.directory.most_bytes(TOPICS.dead_letter)
    log.directory.forget([TOPICS.dead_letter, TOPICS.prefix + "other"])
    assert TOPICS.dead_letter in log.directory.names
    assert log.directory.most_bytes(TOPICS.dead_letter) == before
    assert TOPICS.prefix + "other" not in log.directory.names


async def test_payloads_that_would_not_fit_are_refused_at_the_start(on_kafka):
    with pytest.raises(TopicsWrong, match=r"limits.payload = 900000 bytes takes up to 1331072: give .*events and "):
        await on_kafka.open(most_payload=900_000)


# who owns what


async def test_who_was_fenced_asks_the_group_before_it_fences_another(on_kafka, monkeypatch):
    log = await on_kafka.open()
    partition = await log.take(0)
    async with taken_by_another(on_kafka, 0):
        with pytest.raises(Fenced):
            await partition.commit(step(partition, "late"))
    await partition.close()
    assert log.fenced == {0}
    assert await log._member.confirmed()

    async def unheard():
        return False

    with monkeypatch.context() as cut_off:
        cut_off.setattr(log._member, "confirmed", unheard)
        with pytest.raises(NotMine):
            await log.take(0)
    assert log.fenced == {0}
    await (await log.take(0)).close()
    assert log.fenced == set()


@contextlib.asynccontextmanager
async def taken_by_another(on_kafka, number):
    """Somebody who has the same transactional id, and is the newest."""
    another = Transactions(on_kafka.connection, f"{TOPICS.prefix}{number}", number)
    await another.start()
    try:
        yield
    finally:
        await another.close()


def test_stores_that_were_put_aside_are_no_stores(tmp_path):
    for name in ("partition-0003", "partition-0004.broken", "partition-"):
        (tmp_path / name).mkdir()
    (tmp_path / "partition-0003" / "CURRENT").write_text("x")
    assert stored_in(tmp_path).keys() == {3}
