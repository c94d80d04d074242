from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import offset
from tests.unit.timing.oracle import untimed


@untimed
@given(st.text(), st.integers(1, 10**12))
def test_an_offset_lies_within_the_jitter_and_never_changes(identity, jitter_ms):
    assert 0 <= offset(identity, jitter_ms) < jitter_ms
    assert offset(identity, jitter_ms) == offset(identity, jitter_ms)


def test_an_offset_is_the_same_in_every_version():
    assert offset("default/order-1/reminder", 60_000) == 17_711


def test_without_jitter_there_is_no_offset():
    assert offset("default/order-1/reminder", 0) == 0


def test_offsets_are_spread_evenly():
    tenths = [0] * 10
    for number in range(10_000):
        tenths[offset(f"event-{number}", 60_000) // 6_000] += 1
    assert all(900 < count < 1_100 for count in tenths)
