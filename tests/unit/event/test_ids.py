from random import getrandbits

from lightsched.event.ids import Ids


def test_ids_grow_whatever_the_clock_does():
    ids = Ids(getrandbits)
    made = [ids.next(now_ms) for now_ms in (1000, 1000, 1001, 1001, 999, 5, 1002, *[1002] * 1000)]
    assert made == sorted(set(made))
    assert all(len(id) == 32 and id[12] == "7" and id[16] in "89ab" for id in made)


def test_ids_carry_over_when_a_millisecond_is_full():
    ids = Ids(getrandbits)
    first = ids.next(1000)
    ids._tail = (1 << 74) - 1
    second = ids.next(1000)
    assert first < second
    assert ids._ms == 1001


def test_ids_of_two_processes_differ():
    assert len({Ids(getrandbits).next(1) for _ in range(1000)}) == 1000
