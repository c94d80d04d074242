"""The client on a real broker: commands and reports go to their topics, deliveries are read as a group."""

import asyncio

import pytest

from lightsched import Client, SyncClient
from lightsched.client import Invalid, Kafka, NotFound, NotOnKafka, Status, Unreachable


@pytest.fixture
async def rest(on_kafka):
    async with Client(on_kafka[0]) as client:
        yield client


@pytest.fixture
async def topics(on_kafka):
    async with Client(on_kafka[1]) as client:
        yield client


async def until(rest, id, status):
    while True:
        try:
            if (event := await rest.get(id)).status == status:
                return event
        except NotFound:
            pass
        await asyncio.sleep(0.02)


async def test_commands_are_carried_out(rest, topics, name):
    result = await topics.schedule(id=name, key=f"{name}-key", every="1h", payload={"a": 1})
    assert (result.id, result.outcome, result.ok) == (name, None, True)
    assert (await until(rest, name, Status.NOT_STARTED)).payload == {"a": 1}
    await topics.pause(name, key=f"{name}-key", reason="later")
    await until(rest, name, Status.PAUSED)
    await topics.resume(name, key=f"{name}-key")
    await until(rest, name, Status.NOT_STARTED)
    await topics.cancel(name, key=f"{name}-key")
    await until(rest, name, Status.CANCELLED)


async def test_what_makes_no_sense_is_not_sent(topics, name):
    with pytest.raises(Invalid, match="cron") as refused:
        await topics.schedule(id=name, cron="61 * * * *")
    assert [error.field for error in refused.value.errors] == ["cron"]
    results = await topics.schedule_many([{"id": name, "in": "1h"}, {"id": name, "in": "x"}])
    assert [result.ok for result in results] == [True, False]
    assert results[1].index == 1


async def test_a_transaction_is_all_or_none(rest, topics, name):
    async with topics.transaction() as together:
        first = together.schedule(id=f"{name}1", in_="1h")
        together.schedule(id=f"{name}2", in_="1h")
        together.pause(f"{name}2")
    assert first == f"{name}1"
    assert [result.id for result in together.results] == [f"{name}1", f"{name}2", f"{name}2"]
    await until(rest, f"{name}2", Status.PAUSED)


async def test_a_transaction_with_a_bad_event_sends_nothing(rest, topics, name):
    async def attempt(second, error=None):
        async with topics.transaction() as together:
            together.schedule(id=f"{name}1", in_="1h")
            together.schedule(id=f"{name}2", in_=second)
            if error:
                raise error

    with pytest.raises(Invalid, match="number 1: in: "):
        await attempt("soon")
    with pytest.raises(ZeroDivisionError):
        await attempt("1h", ZeroDivisionError())
    async with topics.transaction() as together:
        together.schedule(id=f"{name}3", key=f"{name}1", in_="1h")
    await until(rest, f"{name}3", Status.NOT_STARTED)
    with pytest.raises(NotFound):
        await rest.get(f"{name}1")


async def test_deliveries_and_reports(rest, topics, name):
    await topics.schedule(id=name, in_="1ms", payload=b"\xff", type=name, retry={"delays": ["1ms"]})
    async for delivery in topics.deliveries(group=name):
        if delivery.type != name:
            continue
        assert (delivery.id, delivery.payload, delivery.tenant) == (name, b"\xff", "default")
        if delivery.attempt == 1:
            await topics.report(delivery, "RETRIABLE_FAILURE", error="again")
            continue
        await topics.report(delivery.delivery, "SUCCESS", token=delivery.token, result=[1])
        break
    await until(rest, name, Status.SUCCESS)
    (run,) = [run async for run in rest.runs(name)]
    assert (run.result, run.attempt) == ([1], 2)


async def test_a_group_goes_on_where_it_has_acknowledged(topics, name):
    await topics.schedule_many({"in": "1ms", "type": name, "payload": n} for n in range(5))
    seen = []
    async for delivery in topics.deliveries(group=name, max=1):
        seen += [delivery.payload] if delivery.type == name else []
        if len(seen) == 3:
            break
    rest = [each.payload async for each in topics.deliveries(group=name, idle="2s") if each.type == name]
    assert sorted(set(seen + rest)) == [0, 1, 2, 3, 4]
    assert len(rest) <= 3


async def test_who_only_watches_is_in_no_group(topics, name):
    await topics.schedule(id=name, every="200ms", type=name)
    async for delivery in topics.watch():
        if delivery.type == name:
            break
    await topics.cancel(name)
    assert (delivery.id, delivery.attempt) == (name, 1)


async def test_what_needs_an_answer_is_refused(topics):
    with pytest.raises(NotOnKafka, match="ask a server"):
        await topics.get("x")
    with pytest.raises(NotOnKafka):
        [event async for event in topics.list()]


async def test_topics_that_are_not_there_are_not_created(kafka):
    for _ in range(2):
        async with Client(f"kafka://{kafka}?prefix=nobody.") as client:
            with pytest.raises(NotFound, match=r"no topic nobody\.events .*topics create.*\?prefix="):
                await client.schedule(in_="1h")


async def test_no_broker():
    async with Client("kafka://127.0.0.1:9") as client:
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9"):
            await client.schedule(in_="1h")


def test_without_asyncio(on_kafka, name):
    with SyncClient(on_kafka[1]) as client, client.transaction() as together:
        together.schedule(id=name, in_="1h")
    assert together.results[0].ok


def test_an_address_says_where_kafka_is():
    assert Kafka.parse("kafka://b1:9092,b2:9092") == Kafka("b1:9092,b2:9092")
    assert Kafka.parse("kafka://b1:9092?prefix=x.") == Kafka("b1:9092", "x.")
    assert Kafka.parse("kafka://b1:9092?prefix=") == Kafka("b1:9092", "")


@pytest.mark.parametrize("address", ["kafka://b1:9092?prefx=x.", "kafka://b1:9092/x.", "kafka://b1:9092?prefix=x.&a=1"])
def test_an_address_with_more_in_it_is_refused(address):
    with pytest.raises(Invalid, match="prefix"):
        Client(address)
