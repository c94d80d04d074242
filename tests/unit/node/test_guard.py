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


class TestComparedWithAnotherClock:
    """On Kafka there is the broker's time."""

    @pytest.fixture
    def clocks(self):
        clocks = Clocks()
        clocks.guard = ClockGuard(clocks.wall, clocks.monotonic, compared=True)
        return clocks

    def test_nothing_is_believed_before_the_other_clock_is_heard(self, clocks):
        assert clocks.pass_(60_000) == (60_000, False)
        clocks.guard.tell(clocks.wall, clocks.monotonic)
        assert clocks.look() == (60_000, True)
        assert clocks.guard.errors == 0

    @pytest.mark.parametrize("jump", [5_001, DAY, -5_001, -DAY])
    def test_a_clock_that_differs_is_not_believed_however_steady_it_is(self, clocks, jump):
        clocks.guard.tell(START, clocks.monotonic)
        clocks.wall += jump
        assert clocks.look() == (0, False)
        assert clocks.pass_(60_000) == (60_000, False), "the other clock goes on"
        assert (clocks.guard.errors, clocks.guard.skew_ms) == (1, jump)

    def test_it_is_believed_as_soon_as_it_agrees_again(self, clocks):
        clocks.guard.tell(START, clocks.monotonic)
        assert clocks.pass_(1_000, wall=DAY) == (1_000, False)
        assert clocks.pass_(1_000, wall=2_000 - DAY) == (2_000, True)
        assert clocks.guard.errors == 1

    def test_a_machine_that_slept_waits_for_the_next_word(self, clocks):
        clocks.guard.tell(START, clocks.monotonic)
        assert clocks.pass_(0, wall=3_600_000) == (0, False), "monotonic time stood still"
        clocks.guard.tell(START + 3_600_000, clocks.monotonic)
        assert clocks.look() == (3_600_000, True)

    def test_in_small_steps_back_time_stands_still(self, clocks):
        clocks.guard.tell(START, clocks.monotonic)
        assert clocks.pass_(1_000) == (1_000, True)
        assert clocks.pass_(100, wall=-500) == (1_000, True)
        assert clocks.pass_(1_000) == (1_500, True)
