"""Long work goes in slices; those of all requests together leave room for the workers."""

import asyncio
import json

import pytest
from starlette.requests import ClientDisconnect

from lightsched.api import turns as module
from lightsched.api.lengthy import AT_ONCE, lengthy_answer
from lightsched.api.turns import LongWork, note_client


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    """Every slice is over at once."""
    monkeypatch.setattr(module, "SLICE_S", 0.0)


async def test_however_many_there_are_one_goes_on_in_each_turn_of_the_loop():
    work, done, most = LongWork(20), [], 0

    async def long(name):
        async with work.turns() as turns:
            for _ in range(10):
                await turns.rest()
                done.append(name)

    tasks = [asyncio.create_task(long(name)) for name in range(20)]
    while not all(task.done() for task in tasks):
        before = len(done)
        await asyncio.sleep(0)
        most = max(most, len(done) - before)
    assert (most, len(done)) == (1, 200)
    assert set(done[:40]) == set(range(20)), "nobody waits for long"


async def test_no_more_than_some_are_under_way():
    work, under_way, most = LongWork(3), 0, 0

    async def long():
        nonlocal under_way, most
        async with work.turns() as turns:
            under_way += 1
            most = max(most, under_way)
            await turns.rest()
            under_way -= 1

    await asyncio.gather(*(long() for _ in range(30)))
    assert most == 3


async def test_it_goes_on_after_a_wait_for_something_else():
    work = LongWork(1)
    async with asyncio.timeout(60), work.turns() as turns:
        await asyncio.sleep(0.01)
        await turns.rest()


async def test_one_that_is_cancelled_leaves_its_place():
    work = LongWork(1)
    async with work.turns() as turns:
        resting = asyncio.create_task(turns.rest())
        await asyncio.sleep(0)
        resting.cancel()
        async with asyncio.timeout(60):
            await turns.rest()
    async with asyncio.timeout(60), work.turns():
        pass


async def test_nobody_is_worked_for_who_has_left():
    class Client:
        disconnected = True

        async def receive(self):
            """Never called: that would take the client's message."""

    work = LongWork(1)
    note_client(Client().receive)
    for _ in range(2):  # and the place is free again
        with pytest.raises(ClientDisconnect):
            async with work.turns():
                pytest.fail("it was worked for")


@pytest.mark.parametrize("count", [0, 1, AT_ONCE, 10 * AT_ONCE + 1])
async def test_a_long_answer_is_written_in_slices(count):
    items = [{"id": f"e-{n}"} for n in range(count)]
    work, turned = LongWork(1), 0
    async with work.turns() as turns:
        for more in ({}, {"cursor": None, "total": 3}):
            writing = asyncio.create_task(lengthy_answer(turns, "events", items, 207, {"x-a": "b"}, more))
            while not writing.done():
                await asyncio.sleep(0)
                turned += 1
            response = writing.result()
            assert json.loads(response.body) == {"events": items, **more}
            assert (response.status_code, response.headers["x-a"]) == (207, "b")
    assert turned > 2 * count / AT_ONCE
