"""The parts of the API that can be looked at without a server."""

import asyncio
import gc
import json
from contextlib import asynccontextmanager
from itertools import chain

import pytest

from lightsched.api import body as body_module
from lightsched.api.batch import Batch
from lightsched.api.body import elements, is_array, is_ndjson, lines
from lightsched.api.cursor import read_cursor, write_cursor
from lightsched.api.deliveries import _poll
from lightsched.api.face import Face
from lightsched.api.prepare import Asked
from lightsched.api.problem import Refusal
from lightsched.api.submit import _all_of, _many
from lightsched.event.model import Event
from lightsched.log.errors import NotAppended
from lightsched.node.node import Node
from lightsched.node.settings import Settings

MOST = 1024 * 1024
"""Bytes of an element."""


@pytest.mark.parametrize("value", [b"", b"a\0b\0c", b"\xff" * 600])
def test_a_cursor_comes_back_as_it_was(value):
    assert read_cursor("e", write_cursor("e", value), bytes) == value


@pytest.mark.parametrize("change", [lambda text: text[:-1], lambda text: text + "A", lambda text: "x" + text[1:]])
def test_a_cursor_that_was_changed_is_refused(change):
    text = write_cursor("d", ("topic", {0: 17}))
    with pytest.raises(Refusal):
        read_cursor("d", change(text), tuple[str, dict[int, int]])


def taken_apart(array):
    return [bytes(item) for item in chain.from_iterable(elements(array, MOST))]


@pytest.mark.parametrize("at_once", [1, 2, 3, 7, 1_000])
def test_lines_are_the_same_however_many_are_taken_at_once(monkeypatch, at_once):
    monkeypatch.setattr(body_module, "LINES_AT_ONCE", at_once)
    body = b'\n{"a": 1}\r\n\n  \n{"b": "' + b"x" * 20 + b'"}\n1\n2'
    expected = [line.strip() for line in body.split(b"\n") if line.strip()]
    assert [line for line in chain.from_iterable(lines(body)) if line] == expected


def test_what_was_sent_is_recognised():
    assert is_array(b" \n\t[1]")
    assert not is_array(b"")
    assert not is_array(b'{"a": []}')
    assert is_ndjson(b"", b"application/x-ndjson; charset=utf-8")
    assert is_ndjson(b"{}\n{}", b"application/json")
    assert not is_ndjson(b"{}\n\n", b"application/json")
    assert not is_ndjson(b'{\n"id": 1}', b"application/json")
    assert [*chain.from_iterable(lines(b"a\r\n\n b \nc"))] == [b"a", b"", b"b", b"c"]
    assert taken_apart(b'[1, {"a": [2, 3]} , "x"]') == [b"1", b'{"a": [2, 3]}', b'"x"']


@asynccontextmanager
async def running(settings):
    """A node that runs in this process, as the endpoints see it."""
    node = await Node.open(settings)
    task = asyncio.create_task(node.run())
    await node.wait_ready()
    yield Face(node)
    node.stop()
    await task


@pytest.fixture
async def face(tmp_path):
    async with running(Settings.load(data=tmp_path)) as face:
        yield face


async def test_a_large_batch_lets_others_have_their_turn(face):
    """While it is taken in, the event loop goes round many times: it is not held from beginning to end."""
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    body = json.dumps([{"id": f"e{i}", "in": "1h", "payload": "x" * 1_000} for i in range(5000)]).encode()
    assert len(body) > body_module.ARRAY_AT_ONCE
    counting = asyncio.create_task(count())
    async with face.long_work.turns() as slices:
        found = await _all_of(elements(body, MOST), 5000, slices)
    assert turns > 2
    response = await _many(face, [found], Asked())
    counting.cancel()
    assert response.status_code == 201
    assert turns > 20


async def test_what_is_refused_holds_on_to_nothing(face):
    """Memory is free when the answer is sent, and not only when somebody has looked for garbage."""
    nonsense = [b'{"id": 1}'] * 100
    assert (await _many(face, [nonsense], Asked())).status_code == 207
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        await _many(face, [nonsense], Asked())
        gc.collect()
        assert [each for each in gc.garbage if isinstance(each, Exception | Batch)] == []
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


async def fire(face, topic):
    event = {"in": "1ms", "topics": [topic]}
    response = await _many(face, [[json.dumps(event).encode()]], Asked())
    assert response.status_code == 201


async def test_a_group_has_one_reader_at_a_time(face):
    """A second poll of the same group waits for the first to be answered, for as long as it may."""
    await fire(face, "other")
    await fire(face, "work")
    (delivered,) = await _poll(face, ("work", "g"), None, {}, 10, 30)
    await face.node.log.acknowledge("work", "g", {0: delivered.offset + 1})
    first = asyncio.create_task(_poll(face, ("work", "g"), None, {}, 10, 30))
    await asyncio.sleep(0)
    assert face.readers["work", "g"].locked()
    assert await _poll(face, ("work", "g"), None, {}, 10, 0) == []
    assert len(await _poll(face, ("work", "another"), None, {}, 10, 30)) == 1
    second = asyncio.create_task(_poll(face, ("work", "g"), None, {}, 10, 30))
    await asyncio.sleep(0)
    await fire(face, "work")
    assert await first == await second
    assert len(first.result()) == 1


async def test_a_reader_that_leaves_makes_room_for_the_next(face):
    await fire(face, "work")
    (delivered,) = await _poll(face, ("work", "g"), None, {}, 10, 30)
    await face.node.log.acknowledge("work", "g", {0: delivered.offset + 1})
    first = asyncio.create_task(_poll(face, ("work", "g"), None, {}, 10, 30))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.create_task(_poll(face, ("work", "g"), None, {}, 10, 30))
    await fire(face, "work")
    assert len(await second) == 1
    del first, second
    assert not face.readers


async def test_reading_a_topic_does_not_make_it(face):
    assert await _poll(face, ("nothing-here", "g"), None, {}, 10, 0) == []
    assert "nothing-here" not in face.node.log.catalogue.names


VALUES = [
    *([], {}, 0, -1.5e300, 10**30, "", "x", None, True, "]},[{", '\\"', "é日本\U0001f600", {"a": [{"b": "\\\\"}, []]}),
    *([[]], "\n\t", {"": None}, [1, [2, [3]]], "x" * 10_000, {"k" * 5_000: ["]"] * 50}),
]


@pytest.mark.parametrize("indent", [None, 3])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_long_array_is_taken_apart_as_a_short_one(monkeypatch, indent, ascii_only):
    body = json.dumps([*VALUES, VALUES, *VALUES], indent=indent, ensure_ascii=ascii_only).encode()
    short = taken_apart(body)
    monkeypatch.setattr(body_module, "ARRAY_AT_ONCE", 0)
    assert taken_apart(body) == short
    assert [json.loads(item) for item in short] == [*VALUES, VALUES, *VALUES]
    for empty in (b"[]", b" [ \n ] "):
        assert taken_apart(empty) == []


@pytest.mark.parametrize(
    "body",
    [
        *(b"[", b"[1", b"[1,", b"[1,]", b"[,1]", b"[1 2]", b"[1]]", b"[1] x", b'["x]', b"[{]", b"[nope]", b"[1,,2]"),
        *(b"[" * 100_000, b"[" + b"9" * 100, b'["\n"]', b"[01]", b"[[1}]", b"["),
    ],
)
def test_a_long_array_that_is_no_json_is_refused_as_a_short_one(monkeypatch, body):
    with pytest.raises(Refusal):
        list(elements(body, MOST))
    monkeypatch.setattr(body_module, "ARRAY_AT_ONCE", 0)
    with pytest.raises(Refusal):
        list(elements(body, MOST))


def test_an_element_that_is_larger_than_any_event_is_refused(monkeypatch):
    monkeypatch.setattr(body_module, "ARRAY_AT_ONCE", 0)
    found = elements(b'[1, "' + b"x" * MOST + b'", 2]', MOST)
    assert [*map(bytes, next(found))] == [b"1"]
    with pytest.raises(Refusal) as refused:
        next(found)
    assert refused.value.kind.status == 413


def home_of(face, id):
    return face.home(Event(id=id, key=id))


def results_of(response):
    return json.loads(response.body)["results"]


@pytest.fixture
async def three(tmp_path):
    """As `face`, with three partitions."""
    async with running(Settings.load(data=tmp_path, embedded={"partitions": 3})) as face:
        yield face


async def test_where_a_partition_fails_the_others_keep_their_outcome(three):
    """More than go to the node together, a bad one and a trigger among them; sent again, all is there once."""
    sent = [{"id": f"e{number}", "at": three.now_ms + 86_400_000} for number in range(600)]
    sent[7] = {"id": "e7"}
    sent[8] = {"op": "trigger", "id": "e8"}
    items = [json.dumps(event).encode() for event in sent]
    worker = three.node.workers[1]

    async def fail(step):
        worker.partition.write = write
        raise OSError("the disk is full")

    write, worker.partition.write = worker.partition.write, fail
    response = await _many(three, [items], Asked())
    assert response.status_code == 207
    results = results_of(response)
    assert [result.get("id", "e7") for result in results] == [event["id"] for event in sent]
    unknown = [result for result in results if result["outcome"] is None]
    assert unknown
    assert {home_of(three, result["id"]) for result in unknown} == {1}
    for result in unknown:
        assert result["id"] == f"e{result['index']}"
        assert result["error"].startswith("It is not known whether this was accepted.")
        assert ("Sending it again with this id is safe." in result["error"]) == (result["id"] != "e8")
    outcomes = {result["outcome"] for result in results if result.get("id") not in {each["id"] for each in unknown}}
    assert outcomes <= {"SCHEDULED", "INVALID", "NOT_FOUND"}
    assert results[7]["outcome"] == "INVALID"
    await three.node.wait_ready()
    again = results_of(await _many(three, [[*items[:7], *items[9:]]], Asked()))
    assert {result["outcome"] for result in again} <= {"SCHEDULED", "UNCHANGED"}
    assert sum(worker.partition.store.pending() for worker in three.node.workers.values()) == 598


async def test_what_could_not_be_made_durable_is_said_of_each(three):
    append = three.node.log.append

    async def fail(topic, partition, records):
        if partition == 2:
            raise NotAppended(topic=topic, why="the broker is away")
        return await append(topic, partition, records)

    three.node.log.append = fail
    items = [json.dumps({"id": f"e{number}", "in": "1h"}).encode() for number in range(30)]
    response = await _many(three, [items], Asked(later=True))
    assert response.status_code == 202
    for number, taken in enumerate(results_of(response)):
        if home_of(three, f"e{number}") == 2:
            assert (taken["index"], "the broker is away" in taken["error"]) == (number, True)
        else:
            assert taken == {"id": f"e{number}", "tenant": "default"}
