"""What is appended outside of transactions? In order, however many at once, also after a batch that was refused."""

import asyncio
import os
from dataclasses import replace

import pytest

from lightsched.event.record import Record
from lightsched.log.errors import NotAppended, TooLargeToAppend
from lightsched.log.kafka.appending import Appender
from lightsched.log.kafka.atomically import AtomicAppender
from lightsched.log.kafka.transactions import Transactions
from tests.conformance.make import LONG_S, TOPICS, record, values


@pytest.fixture
async def appender(on_kafka):
    on_kafka.log = await on_kafka.open()
    made = Appender(on_kafka.connection, lambda _topic: 1_000_000)
    await made.start()
    yield made
    await made.close()


async def test_what_is_handed_over_at_the_same_time_is_appended_in_order(on_kafka, appender):
    batches = [[record(f"{n}-{m}") for m in range(n % 4 + 1)] for n in range(300)]
    placed = await asyncio.gather(*(appender.append(TOPICS.orders, 0, batch) for batch in batches))
    log = on_kafka.log
    found, position = [], 0
    while len(found) < sum(map(len, batches)):
        some = await log.fetch(TOPICS.orders, {0: position}, 1_000, 10)
        found += values(some)
        position = some[-1].offset + 1
    assert found == [each.value.decode() for batch in batches for each in batch]
    assert [each.first for each in placed] == [sum(map(len, batches[:n])) for n in range(len(batches))]


async def test_a_batch_that_is_refused_stops_no_later_one(on_kafka, appender):
    narrow = f"{TOPICS.prefix}narrow"
    await on_kafka.create(narrow, max_message_bytes="20000")
    assert (await appender.append(narrow, 0, [record("before")])).first == 0
    with pytest.raises(TooLargeToAppend):
        await appender.append(narrow, 0, [Record(None, os.urandom(50_000))])
    assert (await appender.append(narrow, 0, [record("after")])).first == 1
    assert (await appender.append(TOPICS.orders, 1, [record("elsewhere")])).first == 0


async def test_more_than_goes_into_one_batch_is_refused_before_it_is_sent(appender):
    with pytest.raises(TooLargeToAppend, match="send fewer"):
        await appender.append(TOPICS.orders, 0, [Record(None, b"x" * 600_000)] * 2)


async def test_a_batch_is_never_cut_short_also_where_the_topic_would_take_more(on_kafka):
    appender = Appender(on_kafka.connection, lambda _topic: 100_000_000)
    with pytest.raises(TooLargeToAppend):
        await appender.append(TOPICS.orders, 0, [Record(None, b"x" * 1_000_000)] * 9)
    await appender.close()


async def test_brokers_that_cannot_be_reached_again_are_an_error_and_no_hang(appender, monkeypatch):
    async def away(_self, *_args, **_options):
        raise OSError("no route")

    with monkeypatch.context() as patch:
        patch.setattr("aiokafka.AIOKafkaProducer.send_batch", away)
        patch.setattr("aiokafka.AIOKafkaProducer.start", away)
        for _ in range(2):
            with pytest.raises(NotAppended):
                await asyncio.wait_for(appender.append(TOPICS.orders, 0, [record("lost")]), 10)
    assert (await asyncio.wait_for(appender.append(TOPICS.orders, 0, [record("back")]), 10)).first == 0


async def committed(log, count):
    """So many orders, and no more."""
    found, positions = [], {}
    async with asyncio.timeout(LONG_S):
        while len(found) < count:
            for each in await log.fetch(TOPICS.orders, positions, 100, LONG_S):
                found.append(each.record.value.decode())
                positions[each.partition] = each.offset + 1
    assert await log.fetch(TOPICS.orders, positions, 100, 0) == []
    return found


async def test_a_transaction_that_is_refused_leaves_nothing_behind_and_stops_no_later_one(on_kafka):
    log = await on_kafka.open()
    with pytest.raises(TooLargeToAppend, match="send fewer"):
        await log.append_all(TOPICS.orders, {0: [record("x")], 1: [Record(None, b"x" * 600_000)]})
    other = AtomicAppender(on_kafka.connection, "the same", lambda _topic: 1_000_000, lambda: 0)
    fenced = AtomicAppender(on_kafka.connection, "the same", lambda _topic: 1_000_000, lambda: 0)
    await fenced.append(TOPICS.orders, {0: [record("first")]})
    await other.append(TOPICS.orders, {0: [record("second")]})
    with pytest.raises(NotAppended):
        await fenced.append(TOPICS.orders, {0: [record("not this")], 1: [record("nor this")]})
    await fenced.append(TOPICS.orders, {1: [record("third")]})
    await asyncio.gather(other.close(), fenced.close())
    assert sorted(await committed(log, 3)) == ["first", "second", "third"]


@pytest.fixture
def held(on_kafka, monkeypatch):
    """Transactions are held before they end, and do not time out."""
    on_kafka.connection = replace(on_kafka.connection, transaction_timeout_ms=600_000)
    send, sent, go_on = Transactions._send, asyncio.Event(), asyncio.Event()

    async def hold(self, *arguments):
        answer = await send(self, *arguments)
        sent.set()
        await go_on.wait()
        return answer

    monkeypatch.setattr(Transactions, "_send", hold)
    return sent, go_on


async def test_who_gives_up_waiting_for_a_transaction_leaves_none_open(on_kafka, held):
    sent, go_on = held
    log = await on_kafka.open()
    appending = asyncio.create_task(log.append_all(TOPICS.orders, {0: [record("given up")]}))
    await sent.wait()
    appending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await appending
    go_on.set()
    await log.append_all(TOPICS.orders, {0: [record("after")]})
    assert await committed(log, 2) == ["given up", "after"]


async def test_a_node_that_starts_again_finishes_what_it_had_left_open(on_kafka, held):
    sent, go_on = held
    killed = await on_kafka.open(at="-1")
    appending = asyncio.create_task(killed.append_all(TOPICS.orders, {0: [record("left open")]}))
    await sent.wait()
    log = await on_kafka.open(at="-2")  # of the same name
    await log.append(TOPICS.orders, 0, [record("after")])
    assert await committed(log, 1) == ["after"]
    go_on.set()
    with pytest.raises(NotAppended):
        await appending
