"""Records that no client of ours would write, on a running node: none of them stops a partition, or a reader."""

import asyncio
import subprocess

import httpx
import pytest
from aiokafka import AIOKafkaProducer

from lightsched import Executor
from lightsched.api.mounted import Mounted
from lightsched.client import Client, Kafka
from lightsched.node.settings import Settings
from tests.conformance.make import LONG_S, TOPICS
from tests.conformance.test_errors import delivered, running, settled

EVENT = b'{"id":"odd","in":"1h"}'
NOT_UTF8 = b"\xff\xfe"
ODD = {
    "a header without value": (EVENT, [("x", None)], None),
    "a header without value, of no event": (b"{", [("x", None)], "is not valid JSON"),
    "a field without value": (b"raw", [("ls_in", None)], "in:"),
    "an own header without value": (b"raw", [("ls_in", b"1h"), ("ls_id", b"odd"), ("x", None)], None),
    "another field without value": (b"raw", [("ls_in", b"1h"), ("ls_type", None)], "type:"),
}


async def send(adapter, topic, value, headers=(), partition=0):
    producer = AIOKafkaProducer(bootstrap_servers=adapter.connection.bootstrap)
    await producer.start()
    try:
        await producer.send_and_wait(topic, value, headers=list(headers), partition=partition)
    finally:
        await producer.stop()


def send_name(adapter, topic, value, name, partition=0):
    """With a header whose name is any bytes: aiokafka writes text only."""
    place = [b"-b", adapter.connection.bootstrap.encode(), b"-t", topic.encode(), b"-p", b"%d" % partition]
    subprocess.run([b"kcat", b"-P", *place, b"-H", name + b"=1"], input=value, check=True, timeout=LONG_S)


async def put_aside(node):
    """The reasons of the dead letters."""
    found = await node.log.fetch(TOPICS.dead_letter, {0: 0}, 100, 1)
    return [dict(each.record.headers)["ls_detail"].decode() for each in found]


@pytest.mark.parametrize("odd", ODD)
async def test_a_null_in_a_header_is_as_good_as_nothing(on_kafka, odd):
    value, headers, why = ODD[odd]
    async with running(on_kafka) as node:
        await send(on_kafka, TOPICS.events, value, headers)
        await send(on_kafka, TOPICS.reports, value, headers)
        await send(on_kafka, TOPICS.events, b'{"id":"good","in":"1ms"}')
        assert await delivered(node, 1) == ["good"]
        letters = await put_aside(node)
        assert len(letters) == (1 if why is None else 2), "the report, and the event if it makes no sense"
        assert why is None or any(why in letter for letter in letters), letters


async def test_a_name_of_a_header_that_is_no_text_stops_nobody(on_kafka):
    async with running(on_kafka) as node:
        await send(on_kafka, TOPICS.events, b'{"id":"before","in":"1h"}')
        send_name(on_kafka, TOPICS.events, EVENT, NOT_UTF8)
        send_name(on_kafka, TOPICS.reports, b'{"delivery":"x"}', NOT_UTF8)
        send_name(on_kafka, TOPICS.deliveries, b"foreign", NOT_UTF8)
        await send(on_kafka, TOPICS.events, b'{"id":"good","in":"1ms"}')
        async with asyncio.timeout(LONG_S):
            while len(found := await node.log.fetch(TOPICS.deliveries, {0: 0}, 100, 1)) < 2:
                pass
        assert found[0].record.headers == (("\\xff\\xfe", b"1"),)
        assert dict(found[1].record.headers)["ls_id"] == b"good"
        await settled(node)
        assert node.stores[0].meta.totals.accepted == 3


@pytest.mark.parametrize(
    "header",
    [
        ("x", None),
        ("ls_attempt", b"zz"),
        ("ls_due", b"qq"),
        ("ls_due", b"9999999999999999999"),
        ("ls_due", b"-99999999999999999"),
        ("ls_timeout", b"zz"),
        ("ls_timeout", "٣".encode()),
    ],
)
async def test_whoever_reads_is_not_stopped_by_what_is_no_delivery(on_kafka, header):
    settings = Settings.load(
        log="kafka",
        data=on_kafka.path,
        kafka={
            "bootstrap": on_kafka.connection.bootstrap,
            "prefix": TOPICS.prefix,
            "group": TOPICS.prefix + "group",
            "partitions": 1,
        },
    )
    async with asyncio.timeout(LONG_S), Mounted(settings) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://a/api/v1") as rest:
            while (await rest.get("/partitions")).status_code != 200:  # noqa: ASYNC110 -- it has to be taken
                await asyncio.sleep(0.05)
            await send(on_kafka, TOPICS.deliveries, b"foreign", [header])
            await send(on_kafka, TOPICS.dead_letter, b"foreign", [header])
            await rest.post("/events", json={"id": "good", "in": "1ms"})
            found = []
            while len(found) < 2:
                answer = await rest.get("/deliveries/deliveries", params={"group": "g", "wait": "1s"})
                assert answer.status_code == 200, answer.text
                found = answer.json()["deliveries"]
            assert [each["id"] for each in found] == ["", "good"]
            letters = await rest.get("/dead-letters")
            assert (letters.status_code, len(letters.json()["dead_letters"])) == (200, 1)
            async with Client(Kafka(on_kafka.connection.bootstrap, TOPICS.prefix)) as client:
                read = [each.id async for each in client.deliveries(group="k", limit=2)]
            assert read == ["", "good"]


NO_DELIVERY = (
    [("ce_type", NOT_UTF8)],
    [("ce_id", NOT_UTF8), ("ce_type", b"t"), ("ls_timeout", b"60000")],
    [("ls_report", NOT_UTF8), ("ce_type", b"t"), ("ls_timeout", b"60000")],
    [("ce_type", b"t"), ("ls_timeout", b"9" * 400)],
    [("ce_type", b"t"), ("ls_timeout", b"-1")],
    [("ce_type", b"t"), ("ls_timeout", b"60000"), ("ls_attempt", b"zz"), ("reply-to", b'{"event":{}}')],
    [("ce_type", b"t"), ("ls_due", b"9" * 19)],
)
COMES_FROM_NOWHERE = [("ce_id", b"x"), ("ce_type", b"t"), ("ls_timeout", b"60000"), ("ls_partition", b"99")]


async def test_an_executor_is_not_stopped_by_what_is_no_delivery(on_kafka):
    place = Kafka(on_kafka.connection.bootstrap, TOPICS.prefix)
    executor = Executor(place, group=TOPICS.prefix + "odd", grace="5s")
    executed = []
    executor.on("t")(lambda context: executed.append((context.id, context.attempt, context.due)))
    async with asyncio.timeout(LONG_S), running(on_kafka):
        for headers in (*NO_DELIVERY, COMES_FROM_NOWHERE):
            await send(on_kafka, TOPICS.deliveries, b"", headers)
        await send(on_kafka, TOPICS.events, b'{"id":"good","in":"1ms","type":"t","timeout":"1m"}')
        work = asyncio.create_task(executor.run())
        while not work.done() and len(executed) < 2:  # noqa: ASYNC110 -- both have to be executed
            await asyncio.sleep(0.05)
        executor.stop()
        await work
    assert sorted(id for id, _, _ in executed) == ["", "good"], "what comes from nowhere is executed, and not reported"


async def test_kafkas_own_topics_are_none_to_deliver_to(on_kafka):
    async with running(on_kafka) as node:
        for number, topic in enumerate(("__consumer_offsets", "__transaction_state")):
            event = b'{"id":"%d","in":"1ms","topics":["%b"]}' % (number, topic.encode())
            await send(on_kafka, TOPICS.events, event)
        await send(on_kafka, TOPICS.events, b'{"id":"good","in":"1ms"}')
        assert await delivered(node, 1) == ["good"]
        assert all("Kafka's own topics" in letter for letter in await put_aside(node))
