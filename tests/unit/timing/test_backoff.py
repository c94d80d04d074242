import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import Backoff, TimingError
from tests.unit.timing.oracle import untimed

MINUTE_MS = 60_000


def minutes(backoff: Backoff) -> list[float]:
    delays = [backoff.delay_after(attempt, "") for attempt in range(1, backoff.attempts)]
    return [delay / MINUTE_MS for delay in delays if delay is not None]


def test_delays_double_from_a_minute_to_an_hour_unless_told_otherwise():
    assert minutes(Backoff.parse(attempts=9)) == [1, 2, 4, 8, 16, 32, 60, 60]


def test_delays_grow_by_the_factor_up_to_the_maximum():
    assert minutes(Backoff.parse(attempts=6, delay="2m", factor=3, max="30m")) == [2, 6, 18, 30, 30]
    assert minutes(Backoff.parse(attempts=4, delay="2m", factor=1)) == [2, 2, 2]


def test_a_list_of_n_delays_means_n_plus_1_attempts():
    backoff = Backoff.parse(delays=["1m", "2m", "4m", "16m", "256m"])
    assert backoff.attempts == 6
    assert minutes(backoff) == [1, 2, 4, 16, 256]
    assert backoff.delay_after(6, "") is None


def test_attempts_count_the_first_one():
    assert Backoff.parse(attempts=1).delay_after(1, "") is None
    assert Backoff.parse(attempts=2).delay_after(1, "") == MINUTE_MS
    assert Backoff.parse(attempts=2).delay_after(2, "") is None
    assert Backoff.parse(attempts=2).delay_after(10**9, "") is None


def test_a_delay_longer_than_the_usual_maximum_is_kept():
    assert minutes(Backoff.parse(attempts=3, delay="2h")) == [120, 120]


@untimed
@given(st.floats(0, 1), st.text(), st.integers(1, 8))
def test_jitter_spreads_a_delay_in_both_directions_but_not_beyond_the_maximum(jitter, seed, attempt):
    backoff = Backoff.parse(attempts=9, jitter=jitter)
    plain = Backoff.parse(attempts=9).delay_after(attempt, seed)
    delay = backoff.delay_after(attempt, seed)
    assert delay == backoff.delay_after(attempt, seed)
    assert max(1, plain * (1 - jitter) - 1) <= delay <= min(plain * (1 + jitter) + 1, 60 * MINUTE_MS)


def test_jitter_differs_between_events_and_between_attempts():
    backoff = Backoff.parse(delays=["10m"] * 5, jitter=0.5)
    delays = {backoff.delay_after(attempt, seed) for attempt in range(1, 6) for seed in ("a", "b", "c")}
    assert len(delays) == 15
    assert min(delays) < 10 * MINUTE_MS < max(delays)


@untimed
@given(
    st.integers(1, 1000),
    st.floats(1, 1.7e308),
    st.integers(0, 10**12).map(lambda delay_ms: f"{delay_ms}ms"),
    st.integers(1, 2000),
)
def test_no_factor_and_no_attempt_overflow(attempts, factor, delay, attempt):
    backoff = Backoff.parse(attempts=attempts, delay=delay, factor=factor)
    found = backoff.delay_after(attempt, "seed")
    assert found is None if attempt >= attempts else backoff.delay_ms <= found <= backoff.max_ms


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "neither 'attempts' nor 'delays'"),
        ({"delay": "1m"}, "neither 'attempts' nor 'delays'"),
        ({"attempts": 0}, "'attempts' is '0': write a whole number from 1 to 1,000"),
        ({"attempts": 1001}, "from 1 to 1,000"),
        ({"attempts": True}, "from 1 to 1,000"),
        ({"attempts": 2.0}, "from 1 to 1,000"),
        ({"attempts": 5, "max": "0s"}, "retry 'max': the duration '0s' is zero"),
        ({"attempts": 5, "max": "x"}, "retry 'max': 'x' is not a duration"),
        ({"attempts": 5, "delay": "2h", "max": "1h"}, "'delay' .2h. is longer than 'max' .1h."),
        ({"attempts": 5, "factor": 0.5}, "'factor' is '0.5': write a number of 1 or more"),
        ({"attempts": 5, "factor": math.inf}, "'factor'"),
        ({"attempts": 5, "factor": math.nan}, "'factor'"),
        ({"attempts": 5, "factor": True}, "'factor'"),
        ({"attempts": 5, "jitter": 1.1}, "'jitter' is '1.1': write a number from 0 to 1"),
        ({"attempts": 5, "jitter": -0.1}, "'jitter'"),
        ({"attempts": 5, "jitter": math.nan}, "'jitter'"),
        ({"delays": []}, "'delays' has 0 entries"),
        ({"delays": ["1m"] * 1000}, "'delays' has 1000 entries: write 1 to 999"),
        ({"delays": ["1m", "-1m"]}, "retry 'delays': the duration '-1m' is negative"),
        ({"delays": ["1m"], "attempts": 2}, "has 'delays' and 'attempts'"),
        ({"delays": ["1m"], "delay": "1m", "factor": 2.0, "max": "1h"}, "has 'delays' and 'delay', 'factor', 'max'"),
    ],
)
def test_a_wrong_backoff_is_refused_with_the_remedy(arguments, says):
    Backoff.parse(attempts=1)  # must not be what True finds in the cache
    with pytest.raises(TimingError, match=says):
        Backoff.parse(**arguments)


def test_another_attempt_may_follow_at_once():
    assert Backoff.parse(attempts=3, delay="0s", jitter=0.5).delay_after(2, "seed") == 0
    assert Backoff.parse(delays=["0s", "1m"]).delay_after(1, "seed") == 0


def test_a_factor_that_is_too_large_for_a_float_is_refused():
    with pytest.raises(TimingError, match="factor"):
        Backoff.parse(attempts=3, factor=10**400)
