"""What does a node do about its workers?"""

import asyncio

import msgspec
import pytest

from lightsched.event.model import RetrySpec, WindowSpec
from lightsched.event.record import Record
from lightsched.event.status import Outcome
from lightsched.event.tenant import Defaults, Tenant, TenantLimits
from lightsched.log.embedded.partition import EmbeddedPartition
from lightsched.node import node as module
from lightsched.node.node import Node
from lightsched.node.settings import Settings
from lightsched.node.submitting import NodeStopped

EVENT = Record(None, b'{"id":"e","in":"1h"}')


@pytest.fixture
async def node(tmp_path):
    node = await Node.open(Settings.load(data=tmp_path / "data"))
    running = asyncio.create_task(node.run())
    yield node
    node.stop()
    await running


async def test_a_worker_that_does_nothing_for_long_is_given_up_and_its_partition_taken_again(node, monkeypatch):
    monkeypatch.setattr(module, "_STALLED_S", 0.2)
    monkeypatch.setattr(module, "_WATCH_EVERY_S", 0.02)
    monkeypatch.setattr(module, "_RETAKE_FIRST_S", 0.01)
    read, hung = EmbeddedPartition.read, asyncio.Event()

    async def hang_once(self, limit, wait_s):
        if not hung.is_set():
            hung.set()
            await asyncio.Event().wait()
        return await read(self, limit, wait_s)

    monkeypatch.setattr(EmbeddedPartition, "read", hang_once)
    await node.wait_ready()
    await hung.wait()
    first = node.workers[0]
    while node.workers.get(0) in (first, None):  # noqa: ASYNC110 -- nobody tells
        await asyncio.sleep(0.01)
    (answer,) = await node.commands.submit(node.log.topics.events, [(0, EVENT)])
    assert answer.outcome == "SCHEDULED"
    assert node.metrics.registry.get_sample_value("lightsched_retakes_total", {"partition": "0"}) == 1


async def test_a_node_that_is_not_heard_yet_can_be_stopped(tmp_path, monkeypatch):
    node = await Node.open(Settings.load(data=tmp_path / "data"))
    announcing = asyncio.Event()

    async def hang(_own):
        announcing.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(node.log, "announce", hang)
    running = asyncio.create_task(node.run())
    await announcing.wait()
    assert not node.reachable
    node.stop()
    await running


async def test_rules_of_a_tenant_that_a_newer_node_has_shared_are_followed_as_far_as_they_are_known(node):
    await node.wait_ready()
    newer = {
        "rule": "tenant",
        "new": 1,
        "limits": {"pending": 5, "new": {"a": 1}},
        "window": {"from": "08:00", "to": "18:00", "new": None},
        "defaults": {"retry": {"attempts": 3, "new": []}, "headers": {"new": "kept"}},
    }
    await node.log.share("tenant/acme", msgspec.json.encode(newer))
    assert node.tenants["acme"] == Tenant(
        rule="tenant",
        limits=TenantLimits(pending=5),
        window=WindowSpec(from_="08:00", to="18:00"),
        defaults=Defaults(retry=RetrySpec(attempts=3), headers={"new": "kept"}),
    )


@pytest.mark.parametrize("rules", [b'{"rule":"by the moon"}', b"[]", b"{", b'{"limits":{"pending":0}}'])
async def test_rules_of_a_tenant_that_are_not_known_at_all_are_not_followed(node, rules, caplog):
    await node.wait_ready()
    await node.log.share("tenant/acme", rules)
    assert "acme" not in node.tenants
    assert "of another version" in caplog.text


async def test_a_node_that_is_stopping_appends_nothing_and_says_so(node):
    await node.wait_ready()
    before = await node.log.ends(node.log.topics.events)
    node.commands.stopping = True
    with pytest.raises(NodeStopped):
        await node.commands.submit_all(node.log.topics.events, [(0, EVENT)])
    assert await node.log.ends(node.log.topics.events) == before


async def test_what_is_appended_when_the_node_stops_is_on_its_way(node, monkeypatch):
    await node.wait_ready()
    append_all = node.log.append_all

    async def append_and_stop(topic, placed):
        firsts = await append_all(topic, placed)
        node.stop()
        return firsts

    monkeypatch.setattr(node.log, "append_all", append_and_stop)
    (answer,) = await node.commands.submit_all(node.log.topics.events, [(0, EVENT)])
    assert answer.outcome in {Outcome.SCHEDULED, Outcome.FORWARDED}
