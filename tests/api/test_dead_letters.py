import asyncio

import httpx
import msgspec
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

import lightsched
from lightsched.api.dead_letters import _shown
from lightsched.engine.step import Answer, DeadLetter
from lightsched.event.murmur2 import partition_of
from lightsched.event.record import Appended, Record
from lightsched.log.records import CUT, dead_letter
from lightsched.node.peers import Submitted, encode
from lightsched.node.settings import Settings
from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem

ON_KAFKA = pytest.mark.parametrize("server", ["kafka"], indirect=True, scope="session")


@pytest.fixture
def topic(prefix):
    """The events topic."""
    return prefix + "events"


PARTITIONS = 3


def put(api, topic, value, *headers, home=-1):
    """A record as a foreign producer sends it, on the first partition but its home where it makes no sense. It is put
    aside, which Kafka shows a moment later.
    """
    before = ids(api)
    partition = put_in(api, topic, value, *headers, home=home)
    eventually(lambda: ids(api) - before)
    return partition


def ids(api):
    return {letter["id"] for letter in letters(api, limit=200)["dead_letters"]}


def put_in(api, topic, value, *headers, home=-1):
    for partition in set(range(PARTITIONS)) - {home}:
        body = encode(Submitted(topic, [(partition, Record(None, value, headers))]))
        response = api.post("/internal/submit", content=body, headers={"x-lightsched-hop": "1"})
        if response.status_code == 200:
            (answer,) = msgspec.msgpack.decode(response.content, type=list[Answer])
            if answer.outcome == "INVALID":
                return partition
    pytest.fail("no partition here answers INVALID")


def letters(api, **parameters):
    response = api.get("/dead-letters", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


@ON_BOTH_LOGS
def test_what_makes_no_sense_is_listed_with_its_reason(api, name, topic):
    partition = put(api, topic, f"nonsense {name}".encode(), ("who", b"me"))
    letter = letters(api)["dead_letters"][0]
    assert (letter["reason"], letter["topic"], letter["partition"]) == ("INVALID", topic, partition)
    assert letter["value_base64"]
    assert letter["headers"] == {"who": "me"}
    assert "JSON" in letter["detail"]
    assert api.get(f"/dead-letters/{letter['id']}").json() == letter


@ON_BOTH_LOGS
def test_pages_of_dead_letters_follow_each_other_newest_first(api, name, topic):
    for n in range(6):
        put(api, topic, f'{{"bad": "{name} {n}"}}'.encode())
    found, cursor = [], {}
    while cursor is not None:
        page = letters(api, limit=2, reason="INVALID", **cursor)
        found += page["dead_letters"]
        cursor = page["cursor"] and {"cursor": page["cursor"]}
    mine = [letter["value"]["bad"] for letter in found if name in str(letter.get("value"))]
    assert mine == [f"{name} {n}" for n in reversed(range(6))]
    assert [letter["at"] for letter in found] == sorted((letter["at"] for letter in found), reverse=True)
    assert letters(api, reason="NOTHING")["dead_letters"] == []


@ON_BOTH_LOGS
def test_an_event_that_is_sent_again_twice_is_there_once(api, name, topic):
    """It has no id of its own, and was put aside because nodes disagreed about where it lives."""
    event = msgspec.json.encode({"in": "1h", "tenant": name, "key": name})
    put(api, topic, event, ("ls_hops", b"9"), home=partition_of(name, PARTITIONS))
    id = letters(api)["dead_letters"][0]["id"]
    for _ in range(2):
        again = api.post(f"/dead-letters/{id}/redrive")
        assert again.status_code == 200, again.text
        assert (again.json()["outcome"], again.json()["topics"]) == ("FORWARDED", [topic])

    def there():
        return api.get("/events", params={"tenant": name}).json()["events"]

    (one,) = eventually(there)
    assert (one["id"], one["revision"]) == (f"auto:dead-{id}", 1)
    api.post("/events", json={"id": "after", "in": "1h", "key": name}, params={"tenant": name})
    assert len(there()) == 2


@ON_BOTH_LOGS
@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("events", b"nonsense", ("not valid JSON", "POST /events")),
        ("events", b'{"id": "x", "in": "soon"}', ("in: ", "POST /events")),
        ("reports", b'{"delivery": "nobody\'s"}', ("is missing", "POST /reports")),
    ],
)
def test_what_still_makes_no_sense_is_409_and_put_aside_once(api, prefix, kind, value, said):
    put(api, prefix + kind, value)
    before = letters(api)["dead_letters"]
    for _ in range(2):
        detail = is_problem(api.post(f"/dead-letters/{before[0]['id']}/redrive"), 409, outcome="INVALID")["detail"]
        assert all(words in detail for words in said), detail
    assert letters(api)["dead_letters"] == before


def node_with(folder, payload):
    settings = Settings.load(data=folder, log="embedded", embedded={"partitions": 3}, limits={"payload": payload})
    return lightsched.asgi(settings)


def asking(app):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://a/api/v1")


async def put_aside(client, *then):
    """The dead letters of the `then` of a report, in a tenant of its own."""
    await client.post("/events", json={"id": "parent", "tenant": "acme", "in": "1ms", "timeout": "1h"})
    page = (await client.get("/deliveries/deliveries", params={"group": "g", "wait": "20s"})).json()
    (delivery,) = page["deliveries"]
    report = {"delivery": delivery["delivery"], "token": delivery["token"], "status": "SUCCESS", "then": then}
    assert (await client.post("/reports", json=report)).status_code == 204
    return (await client.get("/dead-letters", params={"reason": "INVALID_THEN"})).json()["dead_letters"][::-1]


@pytest.mark.parametrize("named", [{"id": "child"}, {}], ids=["named", "nameless"])
async def test_a_then_that_was_put_aside_is_scheduled_once_it_makes_sense(tmp_path, named):
    """In its parent's tenant, and once, however often it is sent again."""
    async with node_with(tmp_path, "1KiB") as app, asking(app) as client:
        (letter,) = await put_aside(client, {"in": "1h", "payload": "x" * 2_000, **named})
        refused = is_problem(await client.post(f"/dead-letters/{letter['id']}/redrive"), 409, outcome="INVALID")
        assert "payload" in refused["detail"]
        assert "POST /events" in refused["detail"]
        assert len((await client.get("/dead-letters")).json()["dead_letters"]) == 1
    async with node_with(tmp_path, "10KiB") as app, asking(app) as client:
        again = [(await client.post(f"/dead-letters/{letter['id']}/redrive")).json() for _ in range(2)]
        assert [each["outcome"] for each in again] == ["SCHEDULED", "SCHEDULED"]
        events = (await client.get("/events", params={"tenant": "acme"})).json()["events"]
        (child,) = [event for event in events if event["id"] != "parent"]
        assert (child["id"] == "child") is bool(named)
        assert (child["revision"], child["payload"]) == (1, "x" * 2_000)


async def test_a_then_that_can_never_make_sense_says_what_to_do(own):
    client, log = own
    letters = await put_aside(client, {"in": "soon"}, {"in": "1h", "tenant": "other"})
    assert {letter["topic"] for letter in letters} == {log.topics.reports}
    for letter, field in zip(letters, ("in", "tenant"), strict=True):
        again = await client.post(f"/dead-letters/{letter['id']}/redrive")
        assert f"{field}: " in is_problem(again, 409, outcome="INVALID")["detail"]


async def test_a_then_of_an_earlier_version_says_what_to_do(own):
    client, log = own
    older = DeadLetter("INVALID_THEN", "then[0] of 0:default//x/1/2#1: bad", Record(b"k", b'{"in": "1h"}'))
    await log.append(log.topics.dead_letter, 0, [dead_letter(older)])
    assert "POST /events" in is_problem(await client.post("/dead-letters/0-0/redrive"), 409)["detail"]


@ON_KAFKA
def test_a_delivery_goes_where_it_was_to_go_once_there_is_such_a_topic(api, name, kafka):
    api.post("/events", json={"id": name, "in": "1ms", "topics": [name], "payload": {"a": 1}})
    eventually(lambda: api.get(f"/events/{name}").json()["status"] == "FATAL_FAILURE")
    letter = eventually(lambda: undeliverable(api, name))  # Kafka shows it a moment later
    assert (letter["topic"], letter["headers"]["ls_id"], letter["value"]) == (name, name, {"a": 1})
    assert name in is_problem(api.post(f"/dead-letters/{letter['id']}/redrive"), 409)["detail"]
    asyncio.run(create(kafka, name))
    again = api.post(f"/dead-letters/{letter['id']}/redrive")
    assert (again.status_code, again.json()["topics"]) == (200, [name])
    page = api.get(f"/deliveries/{name}", params={"group": "g", "wait": "20s"}).json()
    assert [each["id"] for each in page["deliveries"]] == [name]


def undeliverable(api, topic):
    found = letters(api, reason="UNDELIVERABLE", limit=200)["dead_letters"]
    return next((letter for letter in found if letter["topic"] == topic), None)


async def create(bootstrap, topic):
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 3, 1)])
    await admin.close()


@ON_BOTH_LOGS
@pytest.mark.parametrize("id", ["0-999999999", "99-0"])
def test_a_dead_letter_that_is_not_there_is_404(api, id):
    is_problem(api.get(f"/dead-letters/{id}"), 404)
    is_problem(api.post(f"/dead-letters/{id}/redrive"), 404)


@ON_BOTH_LOGS
@pytest.mark.parametrize("id", ["x", "1", "1-x", "-1-2", "1-2-3"])
def test_a_name_that_is_none_is_refused(api, id):
    is_problem(api.get(f"/dead-letters/{id}"), 400)


@ON_BOTH_LOGS
@pytest.mark.parametrize(("parameters", "field"), [({"limit": 0}, "limit"), ({"cursor": "x"}, "cursor")])
def test_a_parameter_that_makes_no_sense_is_refused(api, parameters, field):
    assert fields_of(is_problem(api.get("/dead-letters", params=parameters), 400)) == {field}


async def test_letters_that_come_meanwhile_do_not_hide_others(own, monkeypatch):
    client, log = own
    dead, ends = log.topics.dead_letter, log.ends
    await log.append(dead, 1, [Record(None, b"1")] * 5)

    async def ends_before_more_come(topic):
        found = await ends(topic)
        await log.append(dead, 0, [Record(None, b"0")])
        return found

    monkeypatch.setattr(log, "ends", ends_before_more_come)
    assert (await client.get("/dead-letters/1-0")).status_code == 200
    listed = (await client.get("/dead-letters")).json()["dead_letters"]
    assert [each["id"] for each in listed if each["id"].startswith("1-")] == ["1-4", "1-3", "1-2", "1-1", "1-0"]


@pytest.mark.parametrize("last", [True, False])
async def test_a_letter_that_was_cut_says_so_and_is_not_sent_again(own, last):
    client, log = own
    whole = Record(b"k", b'{"id": "x", "in": "1h", "payl', (("who", b"me"),))
    letter = dead_letter(DeadLetter("INVALID", "too large", whole, log.topics.events, offset=7, partition=0))
    cut = (CUT, b"2000000")
    headers = (*letter.headers, cut) if last else (cut, *letter.headers)
    await log.append(log.topics.dead_letter, 0, [Record(letter.key, letter.value, headers)])
    (shown,) = (await client.get("/dead-letters")).json()["dead_letters"]
    assert (shown["cut_from"], shown["reason"], shown["offset"]) == (2_000_000, "INVALID", 7)
    assert shown["headers"] == {"who": "me"}
    assert "2,000,000 bytes" in is_problem(await client.post("/dead-letters/0-0/redrive"), 409)["detail"]


@pytest.mark.parametrize("odd", ["²", "9" * 5000, "-1", ""])
def test_a_place_that_makes_no_sense_is_not_known(odd):
    headers = (("ls_reason", b"INVALID"), ("ls_detail", b""), ("ls_topic", b"t"), ("ls_partition", odd.encode()))
    shown = _shown(Appended("dead-letter", 0, 0, 0, Record(None, b"", (*headers, ("ls_offset", odd.encode())))))
    assert (shown.partition, shown.offset) == (-1, -1)


@pytest.mark.parametrize(
    "topic", ["__consumer_offsets", "lightsched.changelog", "lightsched.deliveries,__transaction_state"]
)
async def test_what_was_for_a_topic_that_is_nobody_elses_is_not_sent_there(own, topic):
    client, log = own
    letter = dead_letter(DeadLetter("UNDELIVERABLE", "it is not allowed", Record(b"k", b"v"), topic, 0, 0))
    await log.append(log.topics.dead_letter, 0, [letter])
    refused = is_problem(await client.post("/dead-letters/0-0/redrive"), 409)
    assert "keeps for itself" in refused["detail"]
    assert (await log.ends(log.topics.deliveries))[0] == (0, 0)


@pytest.mark.parametrize("path", ["/dead-letters/foo", "/dead-letters/0-"])
def test_an_id_that_is_none_is_told_what_one_looks_like(api, path):
    for problem in (is_problem(api.get(path), 400), is_problem(api.post(f"{path}/redrive"), 400)):
        assert problem["detail"] == "id: is no dead letter's: that is a partition and an offset, as in `0-17`"
