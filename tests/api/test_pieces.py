"""The parts of the API that can be looked at without a server."""

import asyncio
import json

import pytest

from lightsched.api.body import elements, is_array, is_ndjson, lines
from lightsched.api.cursor import read_cursor, write_cursor
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
    assert is_ndjson(b"", "application/x-ndjson; charset=utf-8")
    assert is_ndjson(b"{}\n{}", "application/json")
    assert not is_ndjson(b"{}\n\n", "application/json")
    assert not is_ndjson(b'{\n"id": 1}', "application/json")
    assert list(lines(b"a\r\n\n b \nc")) == [b"a", b"", b"b", b"c"]
    assert [bytes(raw) for raw in elements(b'[1, {"a": [2, 3]} , "x"]')] == [b"1", b'{"a": [2, 3]}', b'"x"']


async def test_a_large_batch_lets_others_have_their_turn(tmp_path):
    """While it is taken in, the event loop goes round many times: it is not held from beginning to end."""
    node = await Node.open(Settings.load(data=tmp_path))
    running = asyncio.create_task(node.run())
    await node.wait_ready()
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    events = [
        json.dumps({"id": f"e{i}", "at": "2027-01-01T00:00:00Z", "payload": "x" * 500}).encode() for i in range(5000)
    ]
    response = await _many(Face(node), events, "", later=False)
    counting.cancel()
    assert response.status_code == 201
    assert turns > 20
    node.stop()
    await running
