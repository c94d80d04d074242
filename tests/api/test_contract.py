"""Does everything that the document promises occur? Every call, with every status, in the shape that is written there.

What can be made from the document is (foreign hosts, unknown parameters, bodies that are too large, a node that does
not run); the rest is a story for each tenant, told below. A promise that nobody can bring about is no promise: then it
does not belong into the document.
"""

import asyncio
import json
import os
import uuid
from contextlib import asynccontextmanager

import httpx
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

import lightsched
from lightsched.api.app import face_of, make_app
from lightsched.event.record import Record
from lightsched.log.embedded.log import EmbeddedLog
from lightsched.node.node import Node
from lightsched.node.settings import Settings
from tests.api.contract import Contract

HERE = "here"
BODY = 200_000
NDJSON = {"content-type": "application/x-ndjson"}
BASE = "/api/v1"


@asynccontextmanager
async def running(contract, settings):
    """A node in this process, and a client whose answers are checked."""
    async with lightsched.asgi(settings) as app:
        gate = await app.start()
        transport = httpx.ASGITransport(app)
        hooks = {"response": [contract.check]}
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HERE}", event_hooks=hooks) as client:
            yield client, face_of(gate).node


@asynccontextmanager
async def asleep(contract, settings):
    """A node that does not run."""
    node = await Node.open(settings)
    try:
        transport = httpx.ASGITransport(make_app(node))
        hooks = {"response": [contract.check]}
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HERE}", event_hooks=hooks) as client:
            yield client
    finally:
        await node.log.close()


def settings_in(folder, **more):
    return Settings.load(
        data=folder,
        http={"hosts": [HERE], "polls": 1},
        limits={"body": BODY, "payload": 10_000},
        **({"log": "embedded", "embedded": {"partitions": 3}} | more),
    )


async def test_everything_that_is_promised_occurs(tmp_path, kafka, monkeypatch):
    settings = settings_in(tmp_path / "data")
    contract = Contract(await document(tmp_path / "document"))
    async with asleep(contract, settings_in(tmp_path / "asleep")) as client:
        for call in contract.calls.values():
            await client.request(**call.request())
    async with running(contract, settings) as (client, node):
        await generated(contract, client)
        for story in (scheduling, asking, commanding, changing, tasks, delivering, letters, tenants):
            await story(client, node)
        await on_the_way(client, node, monkeypatch)
    await too_large_for_its_topic(contract, kafka, tmp_path / "kafka")
    assert sorted(contract.promised - contract.seen.keys()) == []


async def document(folder):
    async with asleep(Contract({"paths": {}}), settings_in(folder)) as client:
        client.event_hooks = {}
        return (await client.get("/openapi.json")).json()


async def generated(contract, client):
    """What follows from the document alone."""
    for call in contract.calls.values():
        await client.request(**call.request(headers={"host": "elsewhere"}))
        if call.can(400):
            response = await client.request(**call.request(params={"no-such": "1"}))
            if response.status_code != 400:  # it has no parameters: then it has a body, or a name
                await client.request(**call.request(content="{", **dict.fromkeys(("id", "name"), "NO SUCH NAME")))
        if call.can(413):
            await client.request(**call.request(content=b" " * (6 * BODY)))


async def post(client, body, path="/events", **more):
    return await client.post(BASE + path, content=json.dumps(body), **more)


async def scheduling(client, _node):
    one = {"id": "one", "in": "1h"}
    assert (await post(client, one)).status_code == 201
    assert (await post(client, {"id": "one", "at": "2036-01-01T00:00:00Z"})).status_code == 201
    assert (await post(client, {"id": "one", "at": "2036-01-01T00:00:00Z"})).status_code == 200
    assert (await post(client, one, headers={"prefer": "respond-async"})).status_code == 202
    assert (await post(client, [one, {"id": "two"}])).status_code == 207
    assert (await post(client, [one, {"id": "two", "in": "1h"}])).status_code == 201
    lines = '{"id": "one", "in": "2h"}\n{"id": "two", "in": "2h"}'
    assert (await client.post(f"{BASE}/events", content=lines, headers=NDJSON)).status_code == 201
    assert (await post(client, {"op": "cancel", "id": "none"})).status_code == 404
    assert (await post(client, {**one, "on_conflict": "reject"})).status_code == 409
    assert (await post(client, {**one, "if_revision": 77})).status_code == 412
    key = {"idempotency-key": "k"}
    assert (await post(client, {"in": "1h"}, headers=key)).status_code == 201
    assert (await post(client, {"in": "2h"}, headers=key)).status_code == 422


async def ambiguous(client, id_, tenant="default"):
    for key in ("a", "b"):
        await post(client, {"id": id_, "key": key, "every": "1h", "tenant": tenant})


async def asking(client, _node):
    await post(client, {"id": "asked", "cron": "0 9 * * *"})
    await ambiguous(client, "both")
    for call in ("", "/runs", "/explain"):
        for id_, status in (("asked", 200), ("none", 404), ("both", 409)):
            assert (await client.get(f"{BASE}/events/{id_}{call}")).status_code == status
    for path in (
        *("/events", "/runs", "/recent", "/upcoming", "/forecast", "/preview?cron=@daily", "/tasks"),
        *("/dead-letters", "/tenants", "/tenants/acme", "/partitions", "/nodes", "/deliveries/deliveries"),
    ):
        assert (await client.get(BASE + path)).status_code == 200
    for path in ("/healthz", "/readyz", "/metrics"):
        assert (await client.get(path)).status_code == 200


async def commanding(client, node):
    async def command(name, id_, **more):
        method, path = ("DELETE", "") if name == "cancel" else ("POST", f"/{name}")
        return (await client.request(method, f"{BASE}/events/{id_}{path}", **more)).status_code

    for name in ("trigger", "pause", "resume", "cancel"):
        await post(client, {"id": "told", "every": "1h"})
        assert [await command(name, id_) for id_ in ("told", "none", "both")] == [200, 404, 409]
    await post(client, {"id": "told", "every": "1h"})
    for name in ("trigger", "pause", "resume", "cancel"):
        assert await command(name, "told", headers={"if-match": "77"}) == 412
    for name in ("trigger", "pause", "resume"):
        key = {"idempotency-key": f"contract-{name}"}
        assert await command(name, "told", headers=key) == 200
        assert await command(name, "told", headers=key, json={"reason": "another"}) == 422
    await post(client, {"id": "busy", "every": "1h", "track": True})
    trigger = {"op": "trigger", "id": "busy"}
    assert (await post(client, [trigger] * node.settings.rules(0, 3).active_runs)).status_code == 201
    assert await command("trigger", "busy") == 429
    assert (await post(client, trigger)).status_code == 429
    bulk = {"action": "pause", "filter": {"prefix": "told"}}
    assert (await post(client, bulk, "/events/bulk")).status_code == 200


async def changing(client, _node):
    async def patch(id_, change, **more):
        return (await client.patch(f"{BASE}/events/{id_}", content=json.dumps(change), **more)).status_code

    await post(client, {"id": "changed", "every": "1h"})
    assert await patch("changed", {"every": "2h"}) == 200
    assert await patch("changed", {"every": "3h"}, headers={"if-match": "77"}) == 412
    assert [await patch(id_, {"every": "3h"}) for id_ in ("none", "both")] == [404, 409]


async def tasks(client, _node):
    task = {"user_id": "acme", "task_blob": 1, "schedule": "1h", "is_recurring": False}
    made = (await post(client, task, "/schedule")).json()["task_id"]
    await ambiguous(client, "both", "acme")
    for method in ("GET", "DELETE"):
        for id_, status in ((made, 200), ("none", 404), ("both", 409)):
            params = {"task": id_, "user_id": "acme"}
            assert (await client.request(method, f"{BASE}/", params=params)).status_code == status


async def delivered(client, event, topic):
    """Schedule it, and wait for the delivery."""
    assert (await post(client, {**event, "topics": [topic]})).status_code == 201
    page = await client.get(f"{BASE}/deliveries/{topic}", params={"group": "g", "wait": "60s"})
    assert page.status_code == 200
    return page.json()


async def delivering(client, _node):
    page = await delivered(client, {"id": "out", "in": "1ms", "track": True}, "work")
    (delivery,) = page["deliveries"]
    ack = {"group": "g", "cursor": page["cursor"]}
    assert (await post(client, ack, "/deliveries/work/ack")).status_code == 204
    report = {"delivery": delivery["delivery"], "token": delivery["token"], "status": "SUCCESS"}
    assert (await post(client, {**report, "token": "x" * 32}, "/reports")).status_code == 403
    assert (await post(client, report, "/reports")).status_code == 204
    assert (await post(client, report, "/reports")).status_code == 409
    assert (await post(client, [report], "/reports")).status_code == 200
    one = {"group": "g", "reader": "one"}
    assert (await client.get(f"{BASE}/deliveries/work", params=one)).status_code == 200
    assert (await client.delete(f"{BASE}/deliveries/work", params=one)).status_code == 204
    waiting = asyncio.create_task(client.get(f"{BASE}/deliveries/work", params={"group": "g", "wait": "60s"}))
    await until(lambda: face_polls(client))
    assert (await client.get(f"{BASE}/deliveries/work", params={"wait": "60s"})).status_code == 503  # one at a time
    await post(client, {"id": "again", "in": "1ms", "topics": ["work"]})
    assert (await waiting).status_code == 200


async def face_polls(client):
    mounted = client._transport.app
    return face_of(await mounted.start()).polls


async def put_aside(client):
    return (await client.get(f"{BASE}/dead-letters")).json()["dead_letters"]


async def until(look, within_s=60):
    """Look again until there is something."""
    async with asyncio.timeout(within_s):
        while True:
            if found := await look():
                return found
            await asyncio.sleep(0.01)


async def letters(client, node):
    await node.log.append(node.log.topics.events, 0, [Record(b"k", b'{"id": "cut"', ())])
    (letter,) = await until(lambda: put_aside(client))
    path = f"{BASE}/dead-letters"
    assert (await client.get(f"{path}/{letter['id']}")).status_code == 200
    assert (await client.get(f"{path}/0-99999")).status_code == 404
    assert (await client.post(f"{path}/{letter['id']}/redrive")).status_code == 409
    assert (await client.post(f"{path}/0-99999/redrive")).status_code == 404
    headers = (("ls_reason", b"UNDELIVERABLE"), ("ls_detail", b""), ("ls_topic", b"work"))
    headers += (("ls_partition", b"0"), ("ls_offset", b"-1"))
    offset = await node.log.append(node.log.topics.dead_letter, 1, [Record(b"k", b"1", headers)])
    assert (await client.post(f"{path}/1-{offset}/redrive")).status_code == 200


async def tenants(client, _node):
    async def put(name, **rules):
        return (await client.put(f"{BASE}/tenants/{name}", content=json.dumps(rules))).status_code

    assert await put("roomy", rule="tenant") == 200
    assert await put("default", rule="tenant") == 409  # it has events
    assert (await client.get(f"{BASE}/tenants")).json()["tenants"]


async def on_the_way(client, node, monkeypatch):
    """Commands to a partition whose worker has left after the request had looked at it."""
    await post(client, {"id": "left", "every": "1h"})
    await post(client, {"id": "left", "every": "1h", "tenant": "acme"})
    (delivery,) = (await delivered(client, {"id": "late", "in": "1ms", "track": True}, "left"))["deliveries"]
    report = {"delivery": delivery["delivery"], "token": delivery["token"], "status": "SUCCESS"}
    task = {"user_id": "acme", "task_blob": 1, "schedule": "1h", "is_recurring": False}
    monkeypatch.setattr(EmbeddedLog, "keeps_submitted", True)  # as on Kafka, where another node takes it over
    monkeypatch.setattr(node.commands, "_workers", {})
    one = f"{BASE}/events/left"
    for method, path, body in (
        ("POST", f"{BASE}/events", {"id": "left", "in": "1h"}),
        ("PATCH", one, {"every": "2h"}),
        *(("POST", f"{one}/{name}", None) for name in ("pause", "resume", "trigger")),
        ("DELETE", one, None),
        ("POST", f"{BASE}/schedule", task),
        ("DELETE", f"{BASE}/?task=left&user_id=acme", None),
        ("POST", f"{BASE}/reports", report),
    ):
        content = None if body is None else json.dumps(body)
        assert (await client.request(method, path, content=content)).status_code == 202


async def too_large_for_its_topic(contract, bootstrap, folder):
    """A topic of the user's that takes little: what is put aside for that cannot be sent there either."""
    prefix = f"contract-{uuid.uuid4().hex[:8]}."
    topic = f"{prefix}small"
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"max.message.bytes": "2000"})])
    finally:
        await admin.close()
    place = {"bootstrap": bootstrap, "prefix": prefix, "group": prefix + "group", "partitions": 1}
    async with running(contract, settings_in(folder, log="kafka", kafka=place)) as (client, _):
        event = {"id": "large", "in": "1ms", "topics": [topic], "payload": os.urandom(3_000).hex()}
        assert (await post(client, event)).status_code == 201
        (letter,) = await until(lambda: put_aside(client))
        assert letter["reason"] == "UNDELIVERABLE"
        assert (await client.post(f"{BASE}/dead-letters/{letter['id']}/redrive")).status_code == 413
