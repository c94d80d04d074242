"""What must hold on the embedded log besides: durable before visible, one sync for many, crashes, retention."""

import asyncio
import random
import shutil
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.engine.step import Follow, Step
from lightsched.event.record import Record
from lightsched.event.status import Outcome
from lightsched.log.embedded import catalogue, retention, topic
from lightsched.log.errors import LogClosed, LogLost, PartitionBroken, PartitionsChanged, PartitionTaken, PrefixChanged
from lightsched.node.node import Node
from lightsched.node.settings import Settings
from lightsched.store import rocks
from lightsched.store.errors import StoreInUse, StoreTooNew
from tests.conformance.adapters import EmbeddedAdapter
from tests.conformance.make import LONG_S, TOPICS, command, event, record, step, values

DAY_MS = 24 * 60 * 60 * 1000

COMMIT_FAULTS = ["commit before write", "commit after write", "before visible", "after visible"]
APPEND_FAULTS = ["append before write", "append after write", "before visible", "after visible"]


class Crash(Exception):
    pass


class HeldSync:
    """The sync of a log, held back until it is let go, and counted."""

    def __init__(self, log):
        self._sync = log._rocks.sync
        self._go = threading.Semaphore(0)
        self.count = 0
        log._rocks.sync = self

    def __call__(self):
        assert self._go.acquire(timeout=60)
        self.count += 1
        self._sync()

    def let_go(self, times=1_000):
        self._go.release(times)


async def test_nothing_is_visible_or_acknowledged_before_it_is_durable(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    sync = HeldSync(log)
    committing = asyncio.create_task(partition.commit(step(partition, "one")))
    appending = asyncio.create_task(log.append("orders", 0, [record("two")]))
    waiting = asyncio.create_task(log.fetch("orders", {}, 10, LONG_S))
    assert await log.fetch(TOPICS.deliveries, {}, 10, 0.01) == []
    assert (await log.ends(TOPICS.deliveries))[0] == (0, 0)
    assert not committing.done()
    assert not appending.done()
    assert not waiting.done()
    sync.let_go()
    await asyncio.gather(committing, appending)
    assert values(await log.fetch(TOPICS.deliveries, {}, 10, 0)) == ["one"]
    assert values(await waiting) == ["two"]


async def test_a_worker_reads_an_input_before_it_is_durable_and_its_step_makes_both_so(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    sync = HeldSync(log)
    assert await log.submit(TOPICS.events, 0, [record("e0")]) == 0
    assert values(await partition.read(10, LONG_S)) == ["e0"]
    committing = asyncio.create_task(partition.commit(step(partition, "one", inputs=1)))
    await asyncio.sleep(0)
    sync.let_go()
    await committing
    assert sync.count == 1


async def test_the_next_step_can_be_written_while_the_last_one_is_synced(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    sync = HeldSync(log)
    first = await partition.write(step(partition, "one"))
    await asyncio.sleep(0)
    second = await partition.write(step(partition, "two"))
    assert partition.store.meta.step == 2
    sync.let_go()
    await asyncio.gather(first, second)
    assert values(await log.fetch(TOPICS.deliveries, {}, 10, 0)) == ["one", "two"]


async def test_a_sync_makes_visible_only_what_was_written_before_it_began(embedded):
    log = await embedded.open()
    sync = HeldSync(log)
    first = asyncio.create_task(log.append("orders", 0, [record("first")]))
    await log.fetch("orders", {}, 1, 0.001)
    second = asyncio.create_task(log.append("orders", 0, [record("second")]))
    await asyncio.sleep(0)
    sync.let_go(1)
    await first
    assert values(await log.fetch("orders", {}, 10, 0)) == ["first"]
    assert not second.done()
    sync.let_go()
    await second
    assert values(await log.fetch("orders", {}, 10, 0)) == ["first", "second"]


async def test_all_who_write_while_a_sync_is_running_share_the_next_one(embedded):
    log = await embedded.open()
    sync = HeldSync(log)
    first = asyncio.create_task(log.append("orders", 0, [record("first")]))
    await log.fetch("orders", {}, 1, 0.001)
    many = [asyncio.create_task(log.append("orders", n % 3, [record(str(n))])) for n in range(50)]
    await asyncio.sleep(0)
    sync.let_go()
    await asyncio.gather(first, *many)
    assert sync.count == 2


async def test_one_who_gives_up_waiting_does_not_disturb_the_others(embedded):
    log = await embedded.open()
    sync = HeldSync(log)
    impatient, patient = (asyncio.create_task(log.append("orders", 0, [record("x")])) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    sync.let_go()
    assert await patient == 1
    assert len(await log.fetch("orders", {}, 10, 0)) == 2


async def test_after_a_failed_sync_nothing_is_acknowledged_any_more(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    await partition.commit(step(partition, "safe"))

    def broken():
        raise OSError("the disk is gone")

    works, log._rocks.sync = log._rocks.sync, broken
    results = await asyncio.gather(
        partition.commit(step(partition, "lost")), log.append("orders", 0, [record("lost")]), return_exceptions=True
    )
    assert [type(result) for result in results] == [LogLost, LogLost]
    assert "the disk is gone" in str(results[0])
    assert log.lost
    log._rocks.sync = works
    with pytest.raises(LogLost):
        await log.append("orders", 0, [record("later")])
    with pytest.raises(LogLost):
        await partition.commit(step(partition, "later"))
    with pytest.raises(LogLost):
        await log.fetch(TOPICS.deliveries, {}, 10, 0)
    await log.close()
    log = await embedded.open()
    assert values(await log.fetch(TOPICS.deliveries, {}, 10, 0))[0] == "safe"


async def test_a_partition_whose_step_failed_refuses_the_next_one(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    bad = step(partition, "bad")
    bad.follows[0].partition = 99
    with pytest.raises(Exception, match="no partition 99"):
        await partition.commit(bad)
    with pytest.raises(PartitionBroken):
        await partition.commit(step(partition, "good"))


async def test_an_owner_that_gave_up_cannot_write_any_more(embedded):
    log = await embedded.open()
    former = await log.take(0)
    await former.close()
    await log.take(0)
    with pytest.raises(PartitionBroken):
        await former.commit(step(former, "too late"))
    await former.close()
    with pytest.raises(PartitionTaken):
        await log.take(0)


async def test_reading_a_topic_does_not_make_it(embedded):
    log = await embedded.open()
    assert await log.fetch("orders", {}, 10, 0.001) == []
    assert await log.positions("orders", "billing") == {}
    await log.acknowledge("orders", "billing", {0: 0})
    assert await log.ends("orders") == {0: (0, 0), 1: (0, 0), 2: (0, 0)}
    assert "orders" not in log.catalogue.names
    assert not log._visible


async def test_records_that_cannot_be_appended_leave_no_trace(embedded):
    log = await embedded.open()
    with pytest.raises(TypeError):
        await log.append("orders", 0, [record("one"), Record(b"key", ["no bytes", object()])])
    assert await log.append("orders", 0, [record("two")]) == 0
    assert values(await log.fetch("orders", {}, 10, 0)) == ["two"]


# crashes


def crash_at(point):
    armed = []

    def fault(reached):
        if armed and reached == point:
            raise Crash(point)

    return fault, armed


@pytest.mark.parametrize("point", COMMIT_FAULTS)
async def test_a_step_is_there_as_a_whole_or_not_at_all_when_the_process_dies(embedded, point):
    fault, armed = crash_at(point)
    log = await embedded.open(fault=fault)
    partition = await log.take(0)
    await log.append(TOPICS.events, 0, [record("e0"), record("e1")])
    await partition.commit(step(partition, "before", inputs=1))
    armed.append(True)
    with pytest.raises(Crash):
        await partition.commit(step(partition, "during", inputs=1))
    assert log.lost
    with pytest.raises(Exception, match=point):
        await log.append("orders", 0, [record("after the end")])
    log.abandon()

    log = await embedded.open()
    partition = await log.take(0)
    whole = point != "commit before write"
    there = ["before", "during"] if whole else ["before"]
    assert values(await log.fetch(TOPICS.deliveries, {}, 10, 0)) == there
    assert values(await log.fetch(TOPICS.dead_letter, {}, 10, 0)) == there
    assert len(await log.fetch(TOPICS.audit, {}, 10, 0)) == len(there)
    assert (partition.store.state(event("during")) is not None) == whole
    assert partition.store.meta.step == len(there)
    assert len(partition.store.due(100, 10)) == len(there)
    assert values(await partition.read(10, 0)) == ([] if whole else ["e1"])
    live = partition.store.dump()
    partition.store.rebuild()
    assert partition.store.dump() == live
    await partition.commit(step(partition, "later"))
    assert values(await log.fetch(TOPICS.deliveries, {}, 10, 0)) == [*there, "later"]


@pytest.mark.parametrize("point", APPEND_FAULTS)
async def test_records_are_appended_all_or_none_when_the_process_dies(embedded, point):
    fault, armed = crash_at(point)
    log = await embedded.open(fault=fault)
    await log.append("orders", 0, [record("before")])
    armed.append(True)
    with pytest.raises(Crash):
        await log.append("orders", 0, [record("one"), record("two")])
    log.abandon()
    log = await embedded.open()
    there = ["before"] if point == "append before write" else ["before", "one", "two"]
    assert values(await log.fetch("orders", {}, 10, 0)) == there
    assert await log.append("orders", 0, [record("later")]) == len(there)


@pytest.mark.parametrize("seed", range(12))
async def test_what_was_acknowledged_survives_the_loss_of_power(embedded, tmp_path, seed, monkeypatch):
    """A power cut keeps what was synced, and any part of what was written after it.

    The write-ahead log is cut at a random place between its size at the last sync and its size at the end. The
    buffers are small, so that files are flushed and logs are switched in between.
    """
    monkeypatch.setattr(rocks, "MB", 4096 if seed % 2 else 1024 * 1024)
    choose = random.Random(seed)
    log = await embedded.open()
    partition = await log.take(0)
    synced = {}
    works = log._rocks.sync

    def noting():
        sizes = {path.name: path.stat().st_size for path in embedded.path.glob("*.log")}
        works()
        synced.update(sizes)

    log._rocks.sync = noting
    acknowledged = {"steps": 0, "orders": 0}
    steps = orders = 0
    for _ in range(choose.randrange(1, 60)):
        if choose.random() < 0.5:
            made = step(partition, str(steps))
            made.definitions[event(str(steps))] = str(steps).encode() * 100
            steps += 1
            done = await partition.write(made)
            if choose.random() < 0.5:
                await done
                acknowledged.update(steps=steps, orders=orders)
        else:
            orders += 2
            records = [Record(None, str(n).encode()) for n in (orders - 2, orders - 1)]
            if choose.random() < 0.3:
                await log.append("orders", 0, records)
                acknowledged.update(steps=steps, orders=orders)
            else:
                await log.submit("orders", 0, records)
    await asyncio.to_thread(until_idle, log)
    cut = EmbeddedAdapter(shutil.copytree(embedded.path, tmp_path / "cut"))
    newest = max(cut.path.glob("*.log"))
    size = newest.stat().st_size
    with newest.open("r+b") as file:
        file.truncate(choose.randint(min(synced.get(newest.name, 0), size), size))

    log = await cut.open()
    partition = await log.take(0)
    found = values(await log.fetch("orders", {}, 1_000, 0))
    assert found == [str(n) for n in range(len(found))]
    assert acknowledged["orders"] <= len(found) <= orders
    assert len(found) % 2 == 0
    delivered = values(await log.fetch(TOPICS.deliveries, {}, 1_000, 0))
    assert delivered == [str(n) for n in range(len(delivered))]
    assert acknowledged["steps"] <= len(delivered) <= steps
    assert partition.store.meta.step == len(delivered)
    assert len(await log.fetch(TOPICS.audit, {}, 1_000, 0)) == len(delivered)
    assert len(await log.fetch(TOPICS.events, {}, 1_000, 0)) == len(delivered)
    names = [event(str(n)) for n in range(steps)]
    assert [state is not None for state in partition.store.states(names)] == [n < len(delivered) for n in range(steps)]
    definitions = partition.store.definitions(names)
    assert definitions == [str(n).encode() * 100 if n < len(delivered) else None for n in range(steps)]
    live = partition.store.dump()
    partition.store.rebuild()
    assert partition.store.dump() == live
    await cut.close()


def until_idle(log):
    """Wait until RocksDB has nothing to do in the background, so that its files can be copied."""
    busy = ("num-running-flushes", "num-running-compactions", "mem-table-flush-pending", "compaction-pending")
    families = log._rocks.families.values()
    while any(family.property_int_value(f"rocksdb.{what}") for family in families for what in busy):
        pass


# opening and closing


async def test_a_log_of_a_newer_format_is_refused(embedded):
    log = await embedded.open()
    batch = rocks.new_batch()
    batch.put(b"format", b"2", log._rocks.handles["log"])
    log._rocks.write(batch)
    await log.close()
    with pytest.raises(StoreTooNew, match="log format 2, this one knows log format 1"):
        await embedded.open()


async def test_a_log_keeps_the_number_of_partitions_it_was_made_with(embedded):
    await (await embedded.open()).close()
    with pytest.raises(PartitionsChanged, match="made with 3 partitions and cannot be opened with 4"):
        await embedded.open(partitions=4)
    await embedded.open()


async def test_a_log_keeps_the_prefix_it_was_made_with(embedded):
    await (await embedded.open()).close()
    with pytest.raises(PrefixChanged, match=r"'lightsched\.', not with 'other\.'"):
        await embedded.open(prefix="other.")


async def test_a_log_can_be_opened_again_at_once_whatever_was_going_on(embedded):
    for turn in range(3):
        log = await embedded.open()
        partition = await log.take(0)
        fetching = asyncio.create_task(log.fetch(TOPICS.deliveries, {0: 1_000}, 10, LONG_S))
        await partition.commit(step(partition, str(turn)))
        partition.store.due(2**40, 1)
        partition.store.scan(None, None, 1)
        last = await partition.write(step(partition, f"{turn} too"))
        await log.close()
        await last
        assert await fetching == []
    log = await embedded.open()
    assert len(await log.fetch(TOPICS.deliveries, {}, 10, 0)) == 6


async def test_a_closed_log_says_so(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    await log.close()
    await log.close()
    with pytest.raises(LogClosed):
        await log.append("orders", 0, [record("one")])
    with pytest.raises(LogClosed):
        await partition.commit(Step(0, partition.store.meta))


async def test_a_second_process_cannot_open_the_directory(embedded):
    await embedded.open()
    program = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom lightsched.log.embedded.log import EmbeddedLog\n"
        "asyncio.run(EmbeddedLog.open(Path(sys.argv[1]), partitions=3, clock_ms=lambda: 0))\n"
    )
    second = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(embedded.path), stderr=subprocess.PIPE
    )
    _, stderr = await second.communicate()
    assert StoreInUse.__name__.encode() in stderr


# retention


async def test_records_are_dropped_when_they_are_too_old(embedded):
    log = await embedded.open(retention_ms=DAY_MS)
    partition = await log.take(0)
    for n in range(5):
        await partition.commit(step(partition, str(n), topics=("orders",)))
        embedded.now_ms += DAY_MS // 2
    await drop_all(partition, embedded)
    found = await log.fetch("orders", {}, 100, 0)
    assert values(found) == ["4"]
    assert found[0].offset == 4
    assert values(await log.fetch("orders", {0: 1}, 1, 0)) == ["4"]
    assert (await log.ends("orders"))[0] == (4, 5)


async def test_a_quiet_topic_is_dropped_in_few_pieces(embedded):
    """Every range that is deleted makes reading slower until a file is written, which may be never."""
    log = await embedded.open(retention_ms=7 * DAY_MS)
    partition = await log.take(0)
    firsts = set()
    for hour in range(20 * 24):
        await partition.commit(step(partition, str(hour), topics=("orders",), now_ms=embedded.now_ms))
        embedded.now_ms += DAY_MS // 24
        for _ in range(3):
            await partition.commit(Step(embedded.now_ms, partition.store.meta))
        firsts.add((await log.ends("orders"))[0][0])
    oldest = (await log.fetch("orders", {}, 1, 0))[0]
    assert embedded.now_ms - oldest.timestamp_ms <= 8 * DAY_MS
    assert len(firsts) <= 20


async def drop_all(partition, embedded):
    """Steps enough to look at every topic's partitions once."""
    embedded.now_ms += retention.PACE_MS
    for n in range(20):
        await partition.commit(step(partition, f"tidy {n}", full=False, now_ms=embedded.now_ms))


async def test_a_clock_that_the_worker_does_not_believe_drops_nothing(embedded):
    log = await embedded.open(retention_ms=DAY_MS)
    partition = await log.take(0)
    await partition.commit(step(partition, "one", now_ms=embedded.now_ms))
    believed_ms, embedded.now_ms = embedded.now_ms + retention.PACE_MS, embedded.now_ms + 1_000 * DAY_MS
    for n in range(20):
        await partition.commit(step(partition, str(n), full=False, now_ms=believed_ms))
    assert values(await log.fetch(TOPICS.deliveries, {}, 1, 0)) == ["one"]


async def test_offsets_go_on_after_everything_was_dropped(embedded):
    log = await embedded.open(retention_ms=DAY_MS)
    await log.append("orders", 1, [record("old")] * 7)
    partition = await log.take(0)
    embedded.now_ms += 2 * DAY_MS
    await drop_all(partition, embedded)
    assert await log.fetch("orders", {}, 10, 0) == []
    await log.close()
    log = await embedded.open(retention_ms=DAY_MS)
    assert (await log.ends("orders"))[1] == (7, 7)
    assert await log.append("orders", 1, [record("new")]) == 7


async def test_inputs_are_dropped_once_they_are_consumed(embedded, monkeypatch):
    monkeypatch.setattr(retention, "INPUTS_BEHIND", 10)
    log = await embedded.open()
    partition = await log.take(0)
    await log.append(TOPICS.events, 0, [record(str(n)) for n in range(25)])
    assert len(await partition.read(12, 0)) == 12
    await partition.commit(step(partition, "few", inputs=9))
    assert (await log.ends(TOPICS.events))[0] == (0, 25)
    await partition.commit(step(partition, "enough", inputs=3))
    assert (await log.ends(TOPICS.events))[0] == (12, 25)
    await partition.read(100, 0)
    await partition.commit(step(partition, "all", inputs=13))
    await log.close()
    log = await embedded.open()
    assert (await log.ends(TOPICS.events))[0] == (25, 25)
    partition = await log.take(0)
    assert await log.submit(TOPICS.events, 0, [record("next")]) == 25
    assert values(await partition.read(10, 0)) == ["next"]


@pytest.mark.parametrize("seed", range(8))
async def test_a_topic_is_a_list_whatever_is_written_together_and_dropped(embedded, seed, monkeypatch):
    """Records lie in chunks; readers, retention and restarts must never notice."""
    monkeypatch.setattr(retention, "PACE_MS", 0)
    choose = random.Random(seed)
    log = await embedded.open(retention_ms=1_000)
    partition = await log.take(0)
    expected = []
    times = []
    for _ in range(40):
        embedded.now_ms += choose.choice([0, 100, 700])
        match choose.randrange(5):
            case 0 | 1:
                size = choose.choice([1, 500, 70_000])
                sent = [
                    f"{len(expected) + n} {'x' * size}" for n in range(choose.randrange(1, 200 if size < 1_000 else 4))
                ]
                assert await log.append("orders", 0, [record(text) for text in sent]) == len(expected)
                expected += sent
                times += [embedded.now_ms] * len(sent)
            case 2:
                for _ in range(12):
                    await partition.commit(Step(embedded.now_ms, partition.store.meta))
            case 3:
                await log.close()
                log = await embedded.open(retention_ms=1_000)
                partition = await log.take(0)
        first, end = (await log.ends("orders"))[0]
        assert end == len(expected)
        assert all(at < embedded.now_ms - 1_000 for at in times[:first])
        start, limit = choose.randint(0, end + 1), choose.choice([1, 7, 1_000])
        found = await log.fetch("orders", {0: start}, limit, 0)
        start = max(start, first)
        assert values(found) == expected[start : start + limit]
        assert [each.offset for each in found] == list(range(start, min(start + limit, end)))
        assert [each.timestamp_ms for each in found] == times[start : start + limit]


# a node on it


async def test_more_topics_than_there_is_room_for_stop_nobody_else(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "MAX_TOPICS", 8)
    node = await Node.open(Settings.load(data=tmp_path))
    running = asyncio.create_task(node.run())
    await node.wait_ready()
    many = [command(id=f"many-{n}", **{"in": "1ms"}, topics=[f"topic-{n}"]) for n in range(20)]
    answers = await node.commands.submit(TOPICS.events, [(0, record) for record in many])
    assert {answer.outcome for answer in answers} == {Outcome.SCHEDULED}
    await node.commands.submit(TOPICS.events, [(0, command(id="innocent", **{"in": "50ms"}))])
    (delivered,) = await node.log.fetch(TOPICS.deliveries, {}, 10, 30)
    assert delivered.record.key == b"innocent"
    dead = await node.log.fetch(TOPICS.dead_letter, {}, 100, 30)
    assert {dict(letter.record.headers)["ls_reason"] for letter in dead} == {b"UNDELIVERABLE"}
    made = [name for name in node.log.catalogue.names if name.startswith("topic-")]
    assert len(dead) + len(made) == 20
    totals = node.workers[0].partition.store.meta.totals
    assert (totals.dead, totals.difference) == (len(dead), 0)
    node.stop()
    await running


async def test_a_clock_that_was_put_back_does_not_make_fresh_records_old(embedded):
    start_ms = embedded.now_ms
    log = await embedded.open(partitions=1, retention_ms=7 * DAY_MS)
    partition = await log.take(0)
    engine = Engine(Rules())

    async def fire(id_):
        await log.append(TOPICS.events, 0, [command(id=id_, at=embedded.now_ms)])
        await partition.commit(engine.step(partition.store, await partition.read(10, 0), embedded.now_ms))

    await fire("fresh")
    embedded.now_ms = start_ms - 8 * DAY_MS
    await fire("while it was wrong")
    embedded.now_ms = start_ms + 120_000
    for turn in range(10):
        await fire(f"right again {turn}")
    kept = [record.record.key for record in await log.fetch(TOPICS.deliveries, {}, 100, 0)]
    assert kept[:2] == [b"fresh", b"while it was wrong"]


# inputs that are held in memory for the step that reads them


async def test_what_is_submitted_and_read_is_never_written(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    for n in range(3):
        assert await log.submit(TOPICS.events, 0, [record(f"{n}a"), record(f"{n}b")]) == 2 * n
        assert values(await partition.read(10, 0)) == [f"{n}a", f"{n}b"]
        await partition.commit(step(partition, str(n), inputs=2))
    assert [key for key, _ in log._rocks.families["inputs"].items() if key[2:4] == b"\0\0"] == []  # of this partition
    assert (await log.ends(TOPICS.events))[0] == (6, 6)
    await log.close()
    log = await embedded.open()
    partition = await log.take(0)
    assert await log.submit(TOPICS.events, 0, [record("next")]) == 6
    assert values(await partition.read(10, 0)) == ["next"]


async def test_what_is_submitted_is_written_before_what_is_appended_behind_it(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    await log.append(TOPICS.events, 0, [record("0")])
    await log.submit(TOPICS.events, 0, [record("1")])
    await embedded.pass_ms(5)
    await log.submit(TOPICS.events, 0, [record("2"), record("3")])
    assert (await log.ends(TOPICS.events))[0] == (0, 1)
    await log.append(TOPICS.events, 0, [record("4")])
    await log.submit(TOPICS.events, 0, [record("gone")])
    assert (await log.ends(TOPICS.events))[0] == (0, 5)
    times = [each.timestamp_ms for each in await partition.read(5, 0)]
    log.abandon()
    log = await embedded.open()
    partition = await log.take(0)
    found = await partition.read(10, 0)
    assert values(found) == ["0", "1", "2", "3", "4"]
    assert [each.timestamp_ms for each in found] == times
    assert times[1] < times[2]


async def test_a_step_that_appends_behind_what_it_has_read_writes_only_what_it_has_not(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    await log.submit(TOPICS.events, 0, [record(str(n)) for n in range(4)])
    assert values(await partition.read(2, 0)) == ["0", "1"]
    following = Follow(TOPICS.events, 0, record("4"))
    await partition.commit(replace(step(partition, "one", inputs=2), follows=[following]))
    log.abandon()
    log = await embedded.open()
    partition = await log.take(0)
    assert values(await partition.read(10, 0)) == ["2", "3", "4"]
    assert (await log.ends(TOPICS.events))[0] == (2, 5)


async def test_a_worker_that_failed_leaves_what_it_has_read_to_the_next_one(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    await log.submit(TOPICS.events, 0, [record("0"), record("1")])
    assert values(await partition.read(1, 0)) == ["0"]
    await partition.close()
    await log.submit(TOPICS.events, 0, [record("2")])  # there is no worker: it is written, and what is before it
    partition = await log.take(0)
    assert values(await partition.read(10, 0) + await partition.read(10, 0)) == ["0", "1", "2"]


async def test_what_was_submitted_and_not_read_is_there_after_a_stop(embedded):
    log = await embedded.open()
    partition = await log.take(0)
    await log.submit(TOPICS.events, 0, [record("0")])
    await log.submit(TOPICS.reports, 0, [record("1")])
    await partition.close()
    await log.close()
    log = await embedded.open()
    partition = await log.take(0)
    assert values(await partition.read(10, 0)) == ["0", "1"]


async def test_more_is_submitted_than_is_held_in_memory(embedded, monkeypatch):
    monkeypatch.setattr(topic, "MAX_RECENT", 5)
    log = await embedded.open()
    partition = await log.take(0)
    for n in range(12):
        await log.submit(TOPICS.events, 0, [record(str(n))])
    found = []
    while some := await partition.read(3, 0):
        found += values(some)
    assert found == [str(n) for n in range(12)]
