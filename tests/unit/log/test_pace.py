"""When does a partition wait between two steps?"""

import pytest

from lightsched.log.kafka.pace import BUSY_PER_S, PACE_S, Pace


def test_nothing_waits_while_it_is_quiet():
    pace = Pace()
    for n in range(BUSY_PER_S):
        assert pace.wait_s(n - 1, n) == 0
        pace.committed(n)


def test_while_it_is_busy_a_partition_waits_since_its_own_last_commit():
    pace = Pace()
    for n in range(BUSY_PER_S):
        pace.committed(n / BUSY_PER_S / 2)
    assert pace.wait_s(0.5, 0.5) == pytest.approx(PACE_S)
    assert 0 < pace.wait_s(0.5, 0.5 + PACE_S / 2) < PACE_S
    assert pace.wait_s(0.0, 0.5) == 0, "it has waited long enough"
    assert pace.wait_s(2.0, 2.0) == 0, "it is quiet again"
