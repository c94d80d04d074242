"""Does order hold per key, and only there?"""

from lightsched.executor.lanes import Lanes
from tests.unit.executor.make import taken


def drained(lanes):
    return [each.offset for each in lanes.ready]


def test_one_of_a_key_waits_for_the_one_before_it():
    lanes = Lanes()
    a, b, c = taken("x", offset=1), taken("x", offset=2), taken("y", offset=3)
    for each in (a, b, c):
        lanes.put(each)
    assert drained(lanes) == [1, 3]
    lanes.ready.clear()
    lanes.done(c)
    assert drained(lanes) == []
    lanes.done(a)
    assert drained(lanes) == [2]
    lanes.ready.clear()
    lanes.done(b)
    d = taken("x", offset=4)
    lanes.put(d)
    assert drained(lanes) == [4]


def test_what_is_dropped_holds_nobody_up():
    lanes = Lanes()
    here, there = ("topic", 0), ("topic", 1)
    first, second = taken("x", offset=1, place=here), taken("x", offset=2, place=there)
    third, fourth = taken("x", offset=3, place=here), taken("y", offset=4, place=here)
    for each in (first, second, third, fourth):
        lanes.put(each)
    assert set(lanes.drop(lambda each: each.place == here)) == {first, third, fourth}
    assert drained(lanes) == [2]
    lanes.done(second)
    lanes.put(taken("x", offset=5))
    assert drained(lanes) == [2, 5]
