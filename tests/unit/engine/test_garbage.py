"""Whatever the records hold, the engine answers each of them and never fails."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from lightsched.event.record import Appended, Record
from lightsched.event.status import Outcome
from tests.unit.engine.scheduler import EVENTS, REPORTS, Scheduler

NAMES = st.sampled_from(["id", "op", "at", "in", "cron", "every", "key", "tenant", "window", "retry", "then", "status"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(), inner, max_size=6),
    max_leaves=12,
)
EVENTS_ALMOST = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["schedule", "cancel", "pause", "resume", "trigger", "??"]),
        "id": st.sampled_from(["a", "b"]) | st.text(max_size=5),
        "key": st.text(max_size=5),
        "tenant": st.sampled_from(["default", "acme", "UPPER"]),
        "at": st.integers(0, 2_000_000_000_000) | st.text(max_size=10) | st.just("2026-03-02T10:00:00Z"),
        "in": st.sampled_from(["1ms", "1m", "1h", "0s", "-1s", "x"]),
        "cron": st.sampled_from(["* * * * *", "0 0 31 2 *", "*/0 * * * *", "@daily", "x"]),
        "every": st.sampled_from(["1s", "10m", "1ms", "99y"]),
        "window": st.fixed_dictionaries({}, optional={"from": st.just("09:00"), "to": st.just("09:30"), "days": JSON}),
        "retry": st.sampled_from([{"attempts": 3}, {"delays": ["1m"]}, {"delays": []}, {}]),
        "overlap": st.sampled_from(["skip", "queue", "allow"]),
        "max_runs": st.integers(-1, 3),
        "priority": st.integers(-1, 10),
        "payload": JSON,
        "expires_in": st.sampled_from(["1s", "1h"]),
    },
)
VALUES = st.one_of(
    st.none(),
    st.binary(max_size=60),
    JSON.map(msgspec.json.encode),
    EVENTS_ALMOST.map(msgspec.json.encode),
    EVENTS_ALMOST.map(msgspec.json.encode),
)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["ls_at", "ls_in", "ls_id", "ls_op", "ls_window", "ls_labels", "ls_x", "ls_assigned", "x"]),
        st.binary(max_size=12) | st.sampled_from([b"1m", b"cancel", b"{}", b"[[[", b"1772445600000"]),
    ),
    max_size=4,
).map(tuple)
RECORDS = st.builds(Record, st.none() | st.binary(max_size=6), VALUES, st.just(()) | HEADERS)


@given(st.lists(st.tuples(st.sampled_from([EVENTS, REPORTS]), RECORDS), max_size=8), st.integers(0, 3))
def test_every_record_has_an_answer(records, hours):
    scheduler = Scheduler(partitions=2, active_runs=5)
    inputs = [Appended(topic, 0, offset, scheduler.now_ms, record) for offset, (topic, record) in enumerate(records)]
    step = scheduler.step(*inputs)
    assert [answer.offset for answer in step.answers] == list(range(len(records)))
    assert sum(answer.outcome is Outcome.INVALID for answer in step.answers) == len(step.dead_letters)
    for _ in range(hours):
        scheduler.now_ms += 3_600_000
        for _ in range(20):
            scheduler.step()
