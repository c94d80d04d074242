"""The short way of the commonest event comes to the same as the long one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from lightsched.engine import firing
from lightsched.engine.engine import Engine
from lightsched.engine.state import told_run
from lightsched.event import check
from lightsched.event.command import ONCE
from lightsched.event.model import Event
from lightsched.event.tenant import Tenant
from tests.unit.engine.scheduler import Scheduler
from tests.unit.event.reading import NOW, read

PLAIN = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", "c", "ä/#", "x y"])},
    optional={
        "key": st.sampled_from(["k", "l"]),
        "tenant": st.sampled_from(["default", "acme"]),
        "at": st.integers(NOW - 8 * 86_400_000, NOW + 3_600_000),
        "in": st.sampled_from(["1ms", "1m", "1h"]),
        "cron": st.sampled_from(["* * * * *", "0 0 31 2 *"]),
        "every": st.sampled_from(["1m", "1ms"]),
        "timezone": st.sampled_from(["Europe/Paris", "Mars"]),
        "type": st.sampled_from(["event", "other", ""]),
        "topics": st.sampled_from([[], ["a"], ["a", "b"], ["a b"]]),
        "headers": st.sampled_from([{}, {"x": "y"}, {"traceparent": "t"}, {"ls_x": ""}]),
        "labels": st.sampled_from([{}, {"l": "m"}]),
        "payload": st.none() | st.text() | st.just("x" * 300_000),
        "payload_base64": st.sampled_from(["AA==", "", "?"]),
        "priority": st.integers(4, 10),
        "expires_in": st.sampled_from(["1s", "1d"]),
        "window": st.sampled_from([{"from": "09:00", "to": "12:00"}, {"from": "13:00"}, {}]),
        "jitter": st.just("1m"),
        "track": st.booleans(),
        "timeout": st.just("1m"),
        "retry": st.just({"attempts": 2}),
        "overlap": st.sampled_from(["allow", "queue"]),
        "look_back": st.sampled_from(["60m", "1h", "x"]),
        "catch_up": st.sampled_from(["latest", "all"]),
        "starts_at": st.just(NOW),
        "ends_at": st.just(NOW),
        "max_runs": st.integers(0, 2),
        "until": st.just("success"),
        "on_conflict": st.sampled_from(["replace", "keep", "reject"]),
    },
)
MOSTLY_PLAIN = st.builds(
    lambda event, names: {name: value for name, value in event.items() if name in names},
    PLAIN,
    st.sets(
        st.sampled_from(["at", "in", "key", "tenant", "topics", "headers", "payload", "type", "priority", "track"]),
        max_size=6,
    ).map(lambda names: names | {"id"}),
)
COMMANDS = st.lists(
    MOSTLY_PLAIN
    | st.fixed_dictionaries(
        {"op": st.sampled_from(["cancel", "pause", "resume", "trigger"]), "id": st.sampled_from("abc")}
    ),
    max_size=6,
)


def scheduler():
    return Scheduler(
        tenants={"acme": Tenant(topics=("acme.work",))}, refuse=lambda d: "no" if "b" in d.topics else "", step_fires=4
    )


@given(COMMANDS, st.booleans(), st.integers(0, 7_200_000))
def test_every_step_is_the_same_with_and_without_the_short_way(commands, named, later_ms):
    short, long = scheduler(), scheduler()
    names = [((ONCE, b"%016d" % n),) if named else () for n in range(len(commands))]
    commands = [short.command(command, headers=name) for command, name in zip(commands, names, strict=True)]
    for inputs, now_ms in [(commands, NOW), ([], NOW), *[([], NOW + later_ms)] * 4]:
        taken = short.engine.step(short.view, inputs, now_ms)
        is_plain, firing.is_plain = firing.is_plain, lambda state, event: False
        try:
            expected = Engine(long.rules).step(long.view, inputs, now_ms)
        finally:
            firing.is_plain = is_plain
        for name, state in taken.states.items():  # the short way tells the run in the state, the long one writes it
            if state is not None and (told := told_run(state)) is not None:
                due_ms, run = told
                taken.runs[name, due_ms, state.revision] = run
                taken.states[name] = structs.replace(state, tells_run=False, oldest_run_ms=due_ms)
        assert taken == expected
        short.view.apply(taken)
        long.view.apply(expected)


@pytest.mark.parametrize("headers", [(), ((ONCE, bytes(16)),)], ids=["without a name", "with a name"])
def test_a_plain_one_shot_does_take_the_short_way(monkeypatch, headers):
    taken = []
    fire_plain = firing.fire_plain
    monkeypatch.setattr(firing, "fire_plain", lambda *args: taken.append(args[1]) or fire_plain(*args))
    plain = scheduler()
    plain.post({"id": "a", "in": "1m", "payload": 1}, {"id": "b", "in": "1m", "track": True}, headers=headers)
    plain.advance("1m")
    assert set(taken) == {plain.name("a")}


@given(MOSTLY_PLAIN | PLAIN)
def test_every_check_is_the_same_with_and_without_the_short_way(event):
    short = read(event)
    is_plain, check.is_plain = check.is_plain, lambda event: False
    try:
        long = read(event)
    finally:
        check.is_plain = is_plain
    assert type(short) is type(long)
    assert getattr(short, "problems", None) == getattr(long, "problems", None)


@pytest.mark.parametrize(
    "wrong", [{"at": "x"}, {"at": NOW * 2}, {"at": NOW, "payload": "x" * 300_000}], ids=lambda e: str(e)[:40]
)
def test_a_plain_event_that_is_wrong_is_refused_on_the_short_way(wrong):
    assert check.is_plain(Event(at=wrong["at"]))
    assert read(wrong).problems


def test_the_run_that_a_state_tells_is_written_when_another_revision_takes_its_place():
    plain = scheduler()
    plain.post({"id": "a", "in": "1m", "payload": 1})
    plain.advance("1m")
    told = plain.history("a")
    assert [run.status for run in told] == ["SUCCESS"]
    assert not plain.view.runs
    plain.post({"id": "a", "in": "5m", "payload": 2})
    assert plain.history("a") == list(plain.view.runs.values()) == told
    plain.advance("5m")
    assert plain.history("a")[:1] == told
    assert plain.ended("a") == ["SUCCESS", "SUCCESS"]
