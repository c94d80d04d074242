"""The parts of the API that can be looked at without a server."""

import asyncio
import json

import pytest

from lightsched.api.body import elements, is_array, is_ndjson, lines
from lightsched.api.cursor import read_cursor, write_cursor
from lightsched.api.deliveries import _poll
from lightsched.api.face import Face
from lightsched.api.ids import Ids
from lightsched.api.problem import Refusal
from lightsched.api.submit import _many
from lightsched.node.node import Node
from lightsched.node.settings import Settings


def test_ids_grow_whatever_the_clock_does():
    ids = Ids()
    made = [ids.next(now_ms) for now_ms in (1000, 1000, 1001, 1001, 999, 5, 1002, *[1002] * 1000)]
    assert made == sorted(set(made))
    assert all(len(id) == 32 and id[12] == "7" and id[16] in "89ab" for id in made)


def test_ids_carry_over_when_a_millisecond_is_full():
    ids = Ids()
    first = ids.next(1000)
    ids._tail = (1 << 74) - 1
    second = ids.next(1000)
    assert first < second
    assert ids._ms == 1001


def test_ids_of_two_processes_differ():
    assert len({Ids().next(1) for _ in range(1000)}) == 1000


@pytest.mark.parametrize("value", [b"", b"a\0b\0c", b"\xff" * 600])
def test_a_cursor_comes_back_as_it_was(value):
    assert read_cursor("e", write_cursor("e", value), bytes) == value


@pytest.mark.parametrize("change", [lambda text: text[:-1], lambda text: text + "A", lambda text: "x" + text[1:]])
def test_a_cursor_that_was_changed_is_refused(change):
    text = write_cursor("d", ("topic", {0: 17}))
    with pytest.raises(Refusal):
        read_cursor("d", change(text), tuple[str, dict[int, int]])


def test_what_was_sent_is_recognised():
    assert is_array(b" \n\t[1]")
    assert not is_array(b"")
    assert not is_array(b'{"a": []}')
    assert is_ndjson(b"", b"application/x-ndjson; charset=utf-8")
    assert is_ndjson(b"{}\n{}", b"application/json")
    assert not is_ndjson(b"{}\n\n", b"application/json")
    assert not is_ndjson(b'{\n"id": 1}', b"application/json")
    assert list(lines(b"a\r\n\n b \nc")) == [b"a", b"", b"b", b"c"]
    assert [bytes(raw) for raw in elements(b'[1, {"a": [2, 3]} , "x"]')] == [b"1", b'{"a": [2, 3]}', b'"x"']


@pytest.fixture
async def face(tmp_path):
    """A node that runs in this process, as the endpoints see it."""
    node = await Node.open(Settings.load(data=tmp_path))
    running = asyncio.create_task(node.run())
    await node.wait_ready()
    yield Face(node)
    node.stop()
    await running


async def test_a_large_batch_lets_others_have_their_turn(face):
    """While it is taken in, the event loop goes round many times: it is not held from beginning to end."""
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    events = [json.dumps({"id": f"e{i}", "in": "1h", "payload": "x" * 500}).encode() for i in range(5000)]
    response = await _many(face, events, "", later=False)
    counting.cancel()
    assert response.status_code == 201
    assert turns > 20


async def fire(face, topic):
    event = {"in": "1ms", "topics": [topic]}
    response = await _many(face, [json.dumps(event).encode()], "", later=False)
    assert response.status_code == 201


async def test_a_group_has_one_reader_at_a_time(face):
    """A second poll of the same group waits for the first to be answered, for as long as it may."""
    await fire(face, "other")
    await fire(face, "work")
    (delivered,) = await _poll(face, "work", "g", 10, 30)
    await face.node.log.acknowledge("work", "g", {0: delivered.offset + 1})
    first = asyncio.create_task(_poll(face, "work", "g", 10, 30))
    await asyncio.sleep(0)
    assert face.readers["work", "g"].locked()
    assert await _poll(face, "work", "g", 10, 0) == []
    assert len(await _poll(face, "work", "another", 10, 30)) == 1
    second = asyncio.create_task(_poll(face, "work", "g", 10, 30))
    await asyncio.sleep(0)
    await fire(face, "work")
    assert await first == await second
    assert len(first.result()) == 1


async def test_a_reader_that_leaves_makes_room_for_the_next(face):
    await fire(face, "work")
    (delivered,) = await _poll(face, "work", "g", 10, 30)
    await face.node.log.acknowledge("work", "g", {0: delivered.offset + 1})
    first = asyncio.create_task(_poll(face, "work", "g", 10, 30))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.create_task(_poll(face, "work", "g", 10, 30))
    await fire(face, "work")
    assert len(await second) == 1
    del first, second
    assert not face.readers


async def test_reading_a_topic_does_not_make_it(face):
    assert await _poll(face, "nothing-here", "g", 10, 0) == []
    assert "nothing-here" not in face.node.log.catalogue.names
