"""How much does a step emit? At most `step_bytes`, and what the last one has more, wherever it goes."""

from lightsched.engine.step import Step
from lightsched.event.record import Record
from tests.unit.engine.scheduler import Scheduler

KB = 1024
STEP = 1024 * KB


def size_of(record: Record) -> int:
    return len(record.value or b"") + sum(len(name) + len(value) for name, value in record.headers)


def steps_of(scheduler: Scheduler) -> list[Step]:
    """Those that do what is due now."""
    before = len(scheduler.steps)
    scheduler.settle()
    return scheduler.steps[before:]


def test_deliveries_that_cannot_be_made_are_put_aside_some_at_a_time():
    scheduler = Scheduler(refuse=lambda _delivery: "no such topic", step_bytes=STEP)
    scheduler.post(*({"id": f"e{n}", "in": "1m", "payload": "x" * 200 * KB} for n in range(20)))
    steps = steps_of(scheduler.jump("10:01"))
    put_aside = [sum(size_of(letter.record) for letter in step.dead_letters) for step in steps]
    assert max(put_aside) <= STEP + 210 * KB
    assert sum(len(step.dead_letters) for step in steps) == 20


def test_headers_count_on_every_topic():
    scheduler = Scheduler(step_bytes=STEP)
    topics = [f"topic-{n}" for n in range(10)]
    headers = {"large": "x" * 15 * KB}
    scheduler.post(*({"id": f"e{n}", "in": "1m", "headers": headers, "topics": topics} for n in range(40)))
    steps = steps_of(scheduler.jump("10:01"))
    emitted = [sum(size_of(each.record) * len(each.topics) for each in step.deliveries) for step in steps]
    assert max(emitted) <= STEP + 200 * KB
    assert len(scheduler.deliveries) == 40
