import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import LAST_MS, At, Every, TimingError
from tests.unit.timing.oracle import untimed

instants = st.integers(0, 2_000)


@untimed
@given(st.integers(1, 300), instants, st.booleans(), instants, instants)
def test_every_is_its_multiples(interval_ms, anchor_ms, from_anchor, at_ms, other_ms):
    every = Every(interval_ms, anchor_ms, from_anchor=from_anchor)
    times = range(anchor_ms if from_anchor else anchor_ms + interval_ms, 10_000, interval_ms)
    assert every.after(at_ms) == min(time for time in times if time > at_ms)
    assert every.before(at_ms) == max((time for time in times if time <= at_ms), default=None)
    assert every.count(at_ms, other_ms) == sum(at_ms <= time < other_ms for time in times)


def test_the_anchor_itself_fires_only_when_it_is_the_start():
    assert Every(1_000, 5_000).after(0) == 6_000
    assert Every(1_000, 5_000, from_anchor=True).after(0) == 5_000
    assert Every(1_000, 5_000).before(5_999) is None


def test_every_ends_with_the_year_9999():
    every = Every(86_400_000, 0)
    assert every.after(LAST_MS) is None
    assert every.after(10**30) is None
    assert every.before(10**30) == every.before(LAST_MS)
    assert every.before(LAST_MS) <= LAST_MS
    assert every.count(LAST_MS - 86_400_000, 10**30) == 1


@pytest.mark.parametrize("interval_ms", [0, -1])
def test_an_interval_that_never_moves_on_is_refused(interval_ms):
    with pytest.raises(TimingError, match="at least 1ms"):
        Every(interval_ms, 0)


def test_a_one_shot_has_one_fire_time():
    once = At(1_000)
    assert once.after(999) == 1_000
    assert once.after(1_000) is None
    assert once.before(999) is None
    assert once.before(1_000) == 1_000
    assert [once.count(*bounds) for bounds in ((0, 1_000), (0, 1_001), (1_000, 1_001), (1_001, 2_000))] == [0, 1, 1, 0]
