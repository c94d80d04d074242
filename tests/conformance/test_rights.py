"""What if a delivery topic is denied? That is known before the transaction, or soon after; the partition goes on."""

import asyncio

import pytest

from tests.broker.local import LocalCluster
from tests.broker.rights import DESCRIBE, DESCRIBE_CONFIGS, WITH_RIGHTS, deny_writing
from tests.conformance.adapters import KafkaAdapter
from tests.conformance.make import LONG_S, TOPICS
from tests.conformance.test_errors import delivered, post, running


@pytest.fixture(scope="module")
def brokers(tmp_path_factory):
    cluster = LocalCluster(tmp_path_factory.mktemp("with-rights"), more=WITH_RIGHTS)
    yield cluster.bootstrap
    cluster.close()


@pytest.fixture
async def on_kafka(tmp_path, brokers):
    made = KafkaAdapter(tmp_path / "data", brokers)
    yield made
    await made.close()


async def dead(node, count):
    """Key and detail of so many dead letters, and no more."""
    found, position = [], 0
    async with asyncio.timeout(LONG_S):
        while len(found) < count:
            for each in await node.log.fetch(TOPICS.dead_letter, {0: position}, 100, 1):
                position = each.offset + 1
                headers = dict(each.record.headers)
                assert headers["ls_reason"] == b"UNDELIVERABLE"
                found.append((each.record.key.decode(), headers["ls_detail"].decode()))
    return found


@pytest.mark.parametrize("allowed", [(DESCRIBE, DESCRIBE_CONFIGS), (DESCRIBE,), ()], ids=["seen", "dimly", "hidden"])
async def test_a_delivery_to_a_topic_that_is_denied_stops_nobody_else(on_kafka, allowed):
    denied = TOPICS.prefix + "denied"
    await on_kafka.create(denied)
    async with on_kafka.admin() as admin:
        assert await deny_writing(admin, denied, allowed)
    async with running(on_kafka) as node:
        for n in range(3):
            await post(node, id=f"lost {n}", topics=[denied], **{"in": "1ms"})
            await post(node, id=f"half lost {n}", topics=[TOPICS.deliveries, denied], **{"in": "1ms"})
            await post(node, id=f"innocent {n}", **{"in": "1ms"})
        assert await delivered(node, 3) == [f"innocent {n}" for n in range(3)]
        found = await dead(node, 6)
        assert {key for key, _ in found} == {f"{which} {n}" for which in ("lost", "half lost") for n in range(3)}
        assert all(detail.startswith(f"{denied}: ") for _, detail in found)
        assert node.metrics.registry.get_sample_value("lightsched_retakes_total", {"partition": "0"}) in {None, 0}


async def test_a_topic_that_is_denied_later_stops_nobody_for_long(on_kafka):
    denied = TOPICS.prefix + "denied"
    await on_kafka.create(denied)
    async with running(on_kafka) as node:
        await post(node, id="in time", topics=[denied, TOPICS.deliveries], **{"in": "1ms"})
        assert await delivered(node, 1) == ["in time"]
        async with on_kafka.admin() as admin:
            assert await deny_writing(admin, denied, (DESCRIBE, DESCRIBE_CONFIGS))
        await post(node, id="too late", topics=[denied, TOPICS.deliveries], **{"in": "1ms"})
        await post(node, id="innocent", **{"in": "1ms"})
        assert await delivered(node, 2) == ["in time", "innocent"]
        assert [key for key, _ in await dead(node, 1)] == ["too late"]
