"""Does everyone get the answers to what they asked, and nobody else's?"""

import asyncio

import pytest

from lightsched.engine.step import Answer
from lightsched.event.status import Outcome
from lightsched.node.answers import Answers

EVENTS, REPORTS = "lightsched.events", "lightsched.reports"


def answers(*offsets, topic=EVENTS):
    return [Answer(topic, offset, Outcome.SCHEDULED) for offset in offsets]


def offsets(future):
    return [answer.offset for answer in future.result()]


async def test_a_batch_is_answered_in_its_order():
    waiting = Answers()
    batch = waiting.expect(EVENTS, 0, first=5, count=3)
    waiting.resolve(0, answers(5, 6, 7))
    assert offsets(batch) == [5, 6, 7]


async def test_a_batch_may_be_answered_by_several_steps():
    waiting = Answers()
    batch = waiting.expect(EVENTS, 0, first=5, count=3)
    waiting.resolve(0, answers(5))
    waiting.resolve(0, answers(6))
    assert not batch.done()
    waiting.resolve(0, answers(7))
    assert offsets(batch) == [5, 6, 7]


async def test_batches_do_not_mix():
    waiting = Answers()
    first = waiting.expect(EVENTS, 0, first=0, count=2)
    second = waiting.expect(EVENTS, 0, first=3, count=1)
    elsewhere = waiting.expect(EVENTS, 1, first=0, count=2)
    reports = waiting.expect(REPORTS, 0, first=0, count=1)
    waiting.resolve(0, answers(0, 1, 2, 3))
    assert (offsets(first), offsets(second)) == ([0, 1], [3])
    assert not elsewhere.done()
    assert not reports.done()
    waiting.resolve(0, answers(0, topic=REPORTS))
    assert offsets(reports) == [0]


async def test_answers_nobody_waits_for_are_dropped():
    waiting = Answers()
    waiting.resolve(0, answers(0, 1, 2))
    batch = waiting.expect(EVENTS, 0, first=3, count=1)
    waiting.resolve(0, answers(3))
    assert offsets(batch) == [3]


async def test_whoever_has_left_is_no_obstacle():
    waiting = Answers()
    left = waiting.expect(EVENTS, 0, first=0, count=1)
    stays = waiting.expect(EVENTS, 0, first=1, count=1)
    left.cancel()
    waiting.resolve(0, answers(0, 1))
    assert offsets(stays) == [1]


async def test_when_a_worker_is_gone_those_who_wait_for_it_are_told():
    waiting = Answers()
    lost = waiting.expect(EVENTS, 0, first=0, count=2)
    other = waiting.expect(EVENTS, 1, first=0, count=1)
    waiting.resolve(0, answers(0))
    waiting.fail(0, RuntimeError("gone"))
    with pytest.raises(RuntimeError, match="gone"):
        await lost
    assert not other.done()
    again = waiting.expect(EVENTS, 0, first=2, count=1)
    waiting.resolve(0, answers(1, 2))
    assert offsets(again) == [2]


async def test_one_future_serves_a_batch_however_large():
    waiting = Answers()
    batch = waiting.expect(EVENTS, 0, first=0, count=10_000)
    for start in range(0, 10_000, 1000):
        waiting.resolve(0, answers(*range(start, start + 1000)))
    assert len(await asyncio.wait_for(batch, 1)) == 10_000
