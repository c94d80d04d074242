"""When is a clock believed?"""

import pytest

from lightsched.node.guard import ClockGuard

START = 1_772_445_600_000
DAY = 86_400_000


class Clocks:
    """A wall clock and a monotonic one under a guard."""

    def __init__(self):
        self.wall, self.monotonic = START, 5_000
        self.guard = ClockGuard(self.wall, self.monotonic)

    def pass_(self, ms, *, wall=None):
        """Time passes; the wall clock may show another amount."""
        self.monotonic += ms
        self.wall += ms if wall is None else wall
        return self.look()

    def look(self):
        reading = self.guard.look(self.wall, self.monotonic)
        assert reading.trusted == self.guard.trusted
        return reading.now_ms - START, reading.trusted


@pytest.fixture
def clocks():
    return Clocks()


def test_a_clock_that_keeps_pace_is_believed(clocks):
    assert clocks.look() == (0, True)
    assert clocks.pass_(1000) == (1000, True)
    assert clocks.pass_(DAY) == (1000 + DAY, True)


@pytest.mark.parametrize("drift", [-900, -1, 1, 900, 5_000])
def test_a_clock_that_is_steered_is_believed(clocks, drift):
    assert clocks.pass_(60_000, wall=60_000 + drift) == (60_000 + drift, True)
    assert clocks.guard.errors == 0


@pytest.mark.parametrize("jump", [5_001, DAY, -6_000, -DAY])
def test_a_jump_is_not_believed_at_first(clocks, jump):
    assert clocks.pass_(1000, wall=1000 + jump) == (1000, False), "monotonic time goes on"
    assert clocks.pass_(1000) == (2000, False)
    assert clocks.guard.errors == 1


@pytest.mark.parametrize("jump", [5_001, DAY, -6_000, -DAY])
def test_a_jump_that_holds_for_five_seconds_is_believed_whatever_it_says(clocks, jump):
    clocks.pass_(1000, wall=1000 + jump)
    assert clocks.pass_(4_999) == (5_999, False)
    assert clocks.pass_(1) == (6_000 + jump, True)
    assert clocks.pass_(1000) == (7_000 + jump, True)
    assert clocks.guard.errors == 1


def test_a_clock_that_was_wrong_for_a_second_is_as_if_nothing_had_been(clocks):
    assert clocks.pass_(1000, wall=1000 + DAY) == (1000, False)
    assert clocks.pass_(1000, wall=1000 - DAY) == (2000, False)
    assert clocks.pass_(4_999) == (6_999, False), "the second jump starts the five seconds anew"
    assert clocks.pass_(1) == (7_000, True)
    assert clocks.guard.errors == 1


@pytest.mark.parametrize("back", [1, 500, 1000])
def test_a_small_step_back_makes_time_stand_still(clocks, back):
    assert clocks.pass_(10_000) == (10_000, True)
    assert clocks.pass_(0, wall=-back) == (10_000, True)
    assert clocks.pass_(back) == (10_000, True)
    assert clocks.pass_(1) == (10_001, True)
    assert clocks.guard.errors == 0


def test_small_steps_back_that_add_up_are_noticed(clocks):
    clocks.pass_(10_000)
    assert clocks.pass_(10, wall=-700) == (10_000, True)
    assert clocks.pass_(10, wall=-700) == (10_010, False)


def test_time_never_goes_back_while_the_clock_is_in_doubt(clocks):
    seen = [clocks.pass_(100, wall=wall) for wall in (100, -DAY, 2 * DAY, 100, -7_000, 100)]
    times = [now for now, _ in seen]
    assert times == sorted(times)
