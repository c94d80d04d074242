"""What if the brokers do not answer? Nobody waits for ever, nobody is told what may be wrong by now, and it goes on."""

import asyncio
from dataclasses import replace

import pytest
from aiokafka.errors import UnknownError

from lightsched.log.errors import NotAppended, NotRead
from lightsched.log.kafka import restoring
from lightsched.log.kafka.changelog import Position
from lightsched.log.kafka.clients import reader
from lightsched.log.kafka.connection import Group
from lightsched.log.kafka.errors import ChangelogCut, NothingFetched, TopicsWrong
from lightsched.log.kafka.topics import Found, Wanted, check
from lightsched.log.peer import Peer
from tests.broker.local import LocalCluster
from tests.conformance.adapters import KafkaAdapter
from tests.conformance.make import LONG_S, TOPICS, record, step, values
from tests.conformance.test_kafka import local_store

HOUR_MS = 3_600_000
NOW_MS = 1_780_000_000_000
OWN = Peer(id="node-1", url="", version="1", partitions=(), started_ms=0)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A broker of its own: it is to be silent for a while."""
    made = LocalCluster(tmp_path_factory.mktemp("away"))
    yield made
    made.close()


@pytest.fixture
async def impatient(cluster, tmp_path):
    """Waits two seconds for an answer, and is a member for three without one."""
    made = KafkaAdapter(tmp_path / "data", cluster.bootstrap)
    made.connection = replace(made.connection, request_timeout_ms=2_000)
    made.group = Group(TOPICS.prefix + "group", session_timeout_ms=3_000)
    yield made
    cluster.resume()
    await made.close(tidy=False)  # a broker that has just come back may not know its topics yet


async def until(condition):
    async with asyncio.timeout(LONG_S):
        while not condition():  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.05)


async def test_while_the_brokers_are_silent_appends_fail_and_nobody_claims_to_know_who_owns_what(cluster, impatient):
    log = await impatient.open()
    assert log.joined
    assert await log.append(TOPICS.orders, 0, [record("before")]) == 0
    cluster.pause()
    async with asyncio.timeout(LONG_S):
        with pytest.raises(NotRead):
            await log.append(TOPICS.others, 0, [record("nobody knows where that is")])
        appending = [asyncio.create_task(log.append(TOPICS.orders, 0, [record("sent")]))]
        await asyncio.sleep(0.1)
        appending += [asyncio.create_task(log.append(TOPICS.orders, 0, [record("not sent")])) for _ in range(2)]
        assert [type(each) for each in await asyncio.gather(*appending, return_exceptions=True)] == [NotAppended] * 3
    await until(lambda: not log.joined)
    cluster.resume()
    await until(lambda: log.joined)
    first = await log.append(TOPICS.orders, 0, [record("after")])
    found = await log.fetch(TOPICS.orders, {0: 0}, 10, LONG_S)
    assert values(found)[first:] == ["after"]
    assert set(values(found)[:first]) <= {"before", "sent"}


async def test_a_node_ends_although_the_brokers_are_silent(cluster, impatient):
    log = await impatient.open()
    await log.announce(lambda: OWN)
    partition = await log.take(0)
    await partition.commit(step(partition, "one", full=False))
    cluster.pause()
    appending = asyncio.create_task(log.append(TOPICS.events, 0, [record("lost")]))
    await asyncio.sleep(0.1)
    async with asyncio.timeout(LONG_S):
        await log.close()
    assert isinstance((await asyncio.gather(appending, return_exceptions=True))[0], NotAppended)


async def test_a_member_whose_heartbeat_ends_in_an_error_that_nobody_expected_joins_again(on_kafka):
    log = await on_kafka.open()
    coordinator = log._member._consumer._coordinator
    beat = coordinator._do_heartbeat
    failed = asyncio.Event()

    async def fail_once():
        coordinator._do_heartbeat = beat
        failed.set()
        raise UnknownError

    coordinator._do_heartbeat = fail_once
    await failed.wait()
    before = log._member._heard_at
    await until(lambda: log._member._heard_at > before and log.joined)


async def test_a_broker_that_takes_long_to_answer_does_not_set_the_clock(on_kafka, monkeypatch):
    told = []
    log = await on_kafka.open()
    registry = log._registry
    registry._on_time = told.append
    append, slow = registry._append, asyncio.Event()

    async def slowly(each):
        answer = await append(each)
        await asyncio.sleep(1.1)
        slow.set()
        return answer

    monkeypatch.setattr(registry, "_append", slowly)
    announcing = asyncio.create_task(log.announce(lambda: OWN))
    await slow.wait()
    await asyncio.sleep(0.05)
    assert not told
    monkeypatch.setattr(registry, "_append", append)
    await announcing
    await until(lambda: told)


async def test_a_consumer_that_has_ceased_to_fetch_is_noticed(on_kafka):
    log = await on_kafka.open()
    partition = await log.take(0)
    assert await partition.read(10, 0) == []
    partition._inputs._fetcher.error_future.cancel()
    await asyncio.sleep(0)
    with pytest.raises(NothingFetched):
        await partition.read(10, 0)


async def test_a_changelog_that_was_cut_short_is_not_waited_for(on_kafka, tmp_path, monkeypatch):
    monkeypatch.setattr(restoring, "_STANDS_S", 0.2)
    log = await on_kafka.open()
    partition = await log.take(0)
    await partition.commit(step(partition, "one", full=False))
    place = restoring.TopicPartition(TOPICS.changelog, 0)
    async with reader(on_kafka.connection, "restoring") as consumer:
        end = (await consumer.end_offsets([place]))[place]
        with local_store(tmp_path / "restored") as local, pytest.raises(ChangelogCut, match=f"{end + 5} was its end"):
            await restoring.restore(local, consumer, place, (0, end + 5), lambda: 0)


@pytest.mark.parametrize(
    ("age_ms", "trusted"),
    [(0, True), (12 * HOUR_MS, True), (12 * HOUR_MS + 1, False), (-60_000, True), (-240 * HOUR_MS, False)],
)
def test_a_store_is_trusted_only_as_long_as_deletions_are_remembered(tmp_path, age_ms, trusted):
    with local_store(tmp_path / "store") as local:
        why = restoring._distrust(local, Position(5, NOW_MS, 4), 0, 10, NOW_MS + age_ms)
    assert (why is None) == trusted


def test_a_changelog_that_forgets_deletions_too_soon_is_refused():
    wanted = Wanted("changelog", 1, {"cleanup.policy": "compact"})
    with pytest.raises(TopicsWrong, match=r"delete\.retention\.ms=1000"):
        check([wanted], {"changelog": Found(1, 1, {"cleanup.policy": "compact", "delete.retention.ms": "1000"})}, 1)
