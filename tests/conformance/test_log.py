"""What must hold on every log? The port's promises, one by one."""

import asyncio

import pytest

from lightsched.event.record import Record
from lightsched.log.errors import NoSuchPartition, PartitionTaken
from tests.conformance.make import LONG_S, TOPICS, delivery, event, fetched, record, step, transition, values

# appending and fetching


async def test_records_come_back_as_they_were_appended(log, adapter):
    sent = [
        Record(b"k", b"v", (("a", b"1"), ("a", b"2"), ("b", b"\xff\x00"))),
        Record(None, b""),
        Record(b"", None),
        record("x" * 300_000),
    ]
    assert await log.append(TOPICS.orders, 1, sent) == 0
    await adapter.pass_ms(5)
    assert await log.append(TOPICS.orders, 1, [record("more")]) == 4
    found = await log.fetch(TOPICS.orders, {}, 100, 0)
    assert [each.record for each in found[:4]] == sent
    assert [(each.topic, each.partition, each.offset) for each in found] == [(TOPICS.orders, 1, n) for n in range(5)]
    times = [each.timestamp_ms for each in found]
    assert times == sorted(times)  # a large one may come in a batch of its own, a moment later
    assert times[4] - times[3] >= 5


async def test_records_go_to_several_partitions_all_or_none(log):
    await log.append(TOPICS.orders, 2, [record("before")])
    placed = {0: [record("a0"), record("a1")], 2: [record("c1")]}
    assert await log.append_all(TOPICS.orders, placed) == {0: 0, 2: 1}
    assert sorted(values(await fetched(log, TOPICS.orders, 4))) == ["a0", "a1", "before", "c1"]
    with pytest.raises(NoSuchPartition):
        await log.append_all(TOPICS.orders, {0: [record("not this")], 9: [record("nor this")]})
    await log.append_all(TOPICS.orders, {1: [record("b0")]})
    assert sorted(values(await fetched(log, TOPICS.orders, 5))) == ["a0", "a1", "b0", "before", "c1"]


async def test_records_are_fetched_from_positions_on(log):
    await log.append(TOPICS.orders, 0, [record(f"a{n}") for n in range(3)])
    await log.append(TOPICS.orders, 2, [record(f"c{n}") for n in range(3)])
    assert values(await log.fetch(TOPICS.orders, {0: 2, 2: 1}, 100, 0)) == ["a2", "c1", "c2"]
    assert values(await log.fetch(TOPICS.orders, {0: 3}, 100, 0)) == ["c0", "c1", "c2"]
    assert await log.fetch(TOPICS.orders, {0: 3, 2: 9}, 100, 0) == []


async def test_no_partition_keeps_a_limited_fetch_from_the_others(log):
    for partition in range(3):
        await log.append(TOPICS.orders, partition, [record(str(partition))] * 10)
    found = await log.fetch(TOPICS.orders, {}, 6, 0)
    assert len(found) == 6
    assert {each.partition for each in found} == {0, 1, 2}


async def test_a_fetch_waits_for_the_first_record(log):
    waiting = asyncio.create_task(log.fetch(TOPICS.orders, {1: 0}, 10, LONG_S))
    await asyncio.sleep(0)
    await log.append(TOPICS.others, 1, [record("not this")])
    assert not waiting.done()
    await log.append(TOPICS.orders, 1, [record("this")])
    assert values(await waiting) == ["this"]


async def test_a_fetch_that_waits_in_vain_returns_nothing(log):
    assert await log.fetch(TOPICS.orders, {}, 10, 0.001) == []


async def test_several_fetches_wait_at_once(log):
    waiting = [asyncio.create_task(log.fetch(TOPICS.orders, {}, 10, LONG_S)) for _ in range(3)]
    await asyncio.sleep(0)
    waiting.pop().cancel()
    await log.append(TOPICS.orders, 0, [record("one")])
    assert [values(found) for found in await asyncio.gather(*waiting)] == [["one"], ["one"]]


async def test_records_survive_closing_and_crashing(log, adapter):
    await log.append(TOPICS.orders, 0, [record("one")])
    await log.close()
    log = await adapter.open()
    assert await log.append(TOPICS.orders, 0, [record("two")]) == 1
    await adapter.crash(log)
    log = await adapter.open()
    assert values(await log.fetch(TOPICS.orders, {}, 10, 0)) == ["one", "two"]
    assert await log.append(TOPICS.orders, 0, [record("three")]) == 2


async def test_pieces_of_many_topics_are_looked_at_together(log):
    for topic in (TOPICS.orders, TOPICS.others):
        for partition in range(3):
            await log.append(topic, partition, [record(f"{topic[-1]}{partition}{n}") for n in range(5)])
    ends = await log.all_ends([TOPICS.orders, TOPICS.others])
    assert ends == {(topic, n): (0, 5) for topic in (TOPICS.orders, TOPICS.others) for n in range(3)}
    for back in (2, 4):  # the second look goes elsewhere
        found = []
        await log.look({place: range(end - back, end - 1) for place, (_, end) in ends.items()}, found.extend)
        places = [(each.topic, each.partition, each.offset) for each in found]
        assert sorted(places) == [(*place, n) for place in sorted(ends) for n in range(5 - back, 4)]
    await log.look({}, found.extend)


async def test_a_look_passes_by_what_is_no_record(log):
    """On Kafka the end of a transaction takes an offset."""
    partition = await log.take(0)
    for n in range(3):
        await partition.commit(step(partition, str(n), full=False))
    await fetched(log, TOPICS.deliveries, 3)
    ends = (await log.all_ends([TOPICS.deliveries]))[TOPICS.deliveries, 0]
    found = []
    await log.look({(TOPICS.deliveries, 0): range(*ends)}, found.extend)
    assert values(found) == ["0", "1", "2"]


async def test_groups_of_readers_stand_where_they_acknowledged(log, adapter):
    assert await log.positions(TOPICS.orders, "billing") == {}
    await log.append(TOPICS.orders, 0, [record("one")] * 3)
    await log.acknowledge(TOPICS.orders, "billing", {0: 2})
    await log.acknowledge(TOPICS.orders, "bill", {0: 1, 2: 0})
    await log.acknowledge(TOPICS.orders, "billing", {1: 4})
    await adapter.crash(log)
    log = await adapter.open()
    assert await log.positions(TOPICS.orders, "billing") == {0: 2, 1: 4}
    assert await log.positions(TOPICS.orders, "bill") == {0: 1, 2: 0}
    assert await log.positions(TOPICS.orders[:-1], "billing") == {}


async def test_there_is_no_partition_beyond_the_last(log):
    with pytest.raises(NoSuchPartition, match=f"no partition 3 of {TOPICS.orders}"):
        await log.append(TOPICS.orders, 3, [record("one")])
    with pytest.raises(NoSuchPartition):
        await log.take(3)
    with pytest.raises(NoSuchPartition):
        await log.acknowledge(TOPICS.orders, "billing", {7: 1})


# reading inputs


async def test_a_worker_reads_its_events_and_reports_once_and_in_order(log, adapter):
    await log.append(TOPICS.events, 0, [record("another's")])
    await log.append(TOPICS.reports, 1, [record("r0")])
    await log.append(TOPICS.events, 1, [record(f"e{n}") for n in range(3)])
    partition = await log.take(1)
    found = await partition.read(10, LONG_S)
    assert values(found) == ["e0", "e1", "e2", "r0"]
    assert [(each.topic, each.offset) for each in found[2:]] == [(TOPICS.events, 2), (TOPICS.reports, 0)]
    assert await partition.read(10, adapter.moment_s) == []
    await log.append(TOPICS.events, 1, [record("e3")])
    assert values(await partition.read(10, LONG_S)) == ["e3"]


async def test_a_flood_of_events_does_not_keep_reports_waiting_nor_the_other_way_round(log, adapter):
    await log.append(TOPICS.events, 0, [record("e")] * 20)
    await log.append(TOPICS.reports, 0, [record("r")] * 20)
    partition = await log.take(0)
    read = []
    while found := await partition.read(4, adapter.moment_s):
        assert {each.topic for each in found} == {TOPICS.events, TOPICS.reports} or len(read) >= 32
        assert len(found) <= 4
        read += values(found)
    assert sorted(read) == ["e"] * 20 + ["r"] * 20


async def test_a_waiting_worker_is_woken_by_an_input_and_by_hand(log):
    partition = await log.take(0)
    waiting = asyncio.create_task(partition.read(10, LONG_S))
    await asyncio.sleep(0)
    await log.append(TOPICS.reports, 0, [record("r0")])
    assert values(await waiting) == ["r0"]
    waiting = asyncio.create_task(partition.read(10, LONG_S))
    await asyncio.sleep(0)
    partition.wake()
    assert await waiting == []


async def test_a_wake_that_comes_too_early_is_not_lost(log):
    partition = await log.take(0)
    partition.wake()
    assert await partition.read(10, LONG_S) == []


async def test_inputs_that_no_step_has_consumed_are_read_again(log, adapter):
    partition = await log.take(0)
    await log.append(TOPICS.events, 0, [record(f"e{n}") for n in range(3)])
    assert len(await partition.read(10, LONG_S)) == 3
    await partition.commit(step(partition, "one", inputs=1))
    await partition.close()
    partition = await log.take(0)
    assert values(await partition.read(10, LONG_S)) == ["e1", "e2"]
    await adapter.crash(log)
    log = await adapter.open()
    partition = await log.take(0)
    assert values(await partition.read(10, LONG_S)) == ["e1", "e2"]


async def test_a_backlog_of_any_length_is_read_in_order(log, adapter):
    sent = [f"{n:05} {'x' * 2_000}" for n in range(6_000)]
    for start in range(0, 6_000, 250):
        await log.append(TOPICS.events, 0, [record(text) for text in sent[start : start + 250]])
    partition = await log.take(0)
    read = values(await partition.read(700, LONG_S))
    await log.append(TOPICS.events, 0, [record("last")])
    while found := await partition.read(700, adapter.moment_s):
        read += values(found)
    assert read == [*sent, "last"]


async def test_a_partition_has_one_owner(log):
    partition = await log.take(0)
    with pytest.raises(PartitionTaken):
        await log.take(0)
    await log.take(1)
    await partition.close()
    await log.take(0)


# committing


async def test_a_step_is_committed_with_everything_in_it(log, adapter):
    partition = await log.take(1)
    await log.append(TOPICS.events, 1, [record("e0"), record("e1")])
    await partition.commit(step(partition, "one", topics=(TOPICS.orders, TOPICS.others), inputs=2))
    await adapter.crash(log)

    log = await adapter.open()
    for topic in (TOPICS.orders, TOPICS.others):
        (found,) = await fetched(log, topic, 1)
        assert (found.partition, found.record) == (1, delivery("one").record)
    (found,) = await fetched(log, TOPICS.audit, 1)
    assert (found.partition, len(found.record.value.splitlines())) == (1, 2)
    (found,) = await fetched(log, TOPICS.dead_letter, 1)
    assert (found.record.key, found.record.value) == (b"key", b"one")
    assert found.record.headers == (
        ("was", b"there"),
        ("ls_reason", b"INVALID"),
        ("ls_detail", b"why not"),
        ("ls_topic", TOPICS.events.encode()),
        ("ls_partition", b"1"),
        ("ls_offset", b"7"),
    )
    partition = await log.take(1)
    assert await partition.read(10, adapter.moment_s) == []
    assert partition.store.meta.step == 1
    assert partition.store.definition(event("one")) == b"one"
    neighbour = await log.take(2)
    assert values(await neighbour.read(10, LONG_S)) == ["one"]


async def test_a_follow_up_event_wakes_the_worker_it_goes_to(log):
    partition, neighbour = await log.take(0), await log.take(1)
    waiting = asyncio.create_task(neighbour.read(10, LONG_S))
    await asyncio.sleep(0)
    await partition.commit(step(partition, "one"))
    assert values(await waiting) == ["one"]


async def test_a_committed_delivery_wakes_its_subscribers(log):
    partition = await log.take(0)
    waiting = asyncio.create_task(log.fetch(TOPICS.deliveries, {}, 10, LONG_S))
    await asyncio.sleep(0)
    await partition.commit(step(partition, "one", full=False))
    assert values(await waiting) == ["one"]


async def test_a_step_without_audit_appends_none(log):
    partition = await log.take(0)
    await partition.commit(step(partition, "one", full=False))
    assert await log.fetch(TOPICS.audit, {}, 10, 0) == []


async def test_deliveries_keep_their_order_over_many_steps(log, adapter):
    partition = await log.take(2)
    for n in range(20):
        made = step(partition, str(n), full=False)
        made.deliveries = [delivery(f"{n}/{m}") for m in range(5)]
        made.audit = [transition(str(n))]
        await partition.commit(made)
    found = await fetched(log, TOPICS.deliveries, 100)
    assert values(found) == [f"{n}/{m}" for n in range(20) for m in range(5)]
    offsets = [each.offset for each in found]
    assert offsets == sorted(set(offsets))
    assert all(each.timestamp_ms >= adapter.began_ms for each in found)


async def test_a_step_that_cannot_be_written_leaves_everything_as_it_was(log):
    partition = await log.take(0)
    bad = step(partition, "bad")
    bad.follows[0].partition = 99
    with pytest.raises(NoSuchPartition):
        await partition.commit(bad)
    await partition.close()
    partition = await log.take(0)
    assert partition.store.state(event("bad")) is None
    assert partition.store.next_due_ms() is None
    assert await log.fetch(TOPICS.deliveries, {}, 10, 0) == []
    await partition.commit(step(partition, "good"))
    assert values(await fetched(log, TOPICS.deliveries, 1)) == ["good"]


async def test_a_partition_says_until_when_all_is_read(log, adapter):
    await log.append(TOPICS.reports, 1, [record("r0")])
    await adapter.pass_ms(5)
    await log.append(TOPICS.reports, 1, [record("r1"), record("r2")])
    partition = await log.take(1)
    now_ms = adapter.now_ms + 1_000_000
    read = []
    async with asyncio.timeout(LONG_S):
        for more in (True, True, False):
            while not (found := await partition.read(1, 1)):
                pass
            read += found
            assert partition.read_until(now_ms) == (now_ms, found[0].timestamp_ms if more else now_ms)
    assert values(read) == ["r0", "r1", "r2"]
    await partition.close()
