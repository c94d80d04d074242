"""Does a chain make sense, and what comes next in it?"""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched_chain.letters import Letters
from lightsched_chain.plan import BadChain, Chain, filled_in, planned
from lightsched_chain.state import LARGEST, Failed, Letter, State, advance

NOW = 1_790_000_000_000
EVENT = {"type": "x"}


def plan(*stages, **more):
    return planned(msgspec.convert({"stages": list(stages), **more}, Chain), NOW)


def begun(*stages, ends_ms=NOW + 1_000_000):
    """The state after the first look."""
    return advance(State("c", plan(*stages).stages, ends_ms), {}, NOW).state


def test_a_list_is_a_sequence():
    stages = plan({"name": "a", "event": EVENT}, {"name": "b", "event": EVENT}, {"name": "c", "event": EVENT}).stages
    assert [stage.after for stage in stages] == [(), ("a",), ("b",)]


@pytest.mark.parametrize(
    ("stages", "why"),
    [
        ([], "it has 0 stages"),
        ([{"name": f"s{n}", "event": EVENT} for n in range(41)], "it has 41 stages"),
        ([{"name": "a/b", "event": EVENT}], "'a/b' is no name of a stage"),
        ([{"name": "a", "event": EVENT}, {"name": "a", "event": EVENT}], "two stages have the name 'a'"),
        ([{"name": "a", "event": EVENT, "after": ["b"]}], "stage 'a' comes after 'b', which is no stage"),
        ([{"name": "a", "event": EVENT, "after": ["a"]}], "wait for each other: a → a"),
        ([{"name": "a", "after": ["b"]}, {"name": "b", "after": ["a"]}], "wait for each other"),
        ([{"name": "a", "event": {"type": "x", "cron": "* * * * *"}}], "stage 'a': `cron` is not for the event"),
        ([{"name": "a", "event": {"type": "x", "id": "i"}}], "`id` is not for"),
        ([{"name": "a", "event": {"type": "x", "wheel": 1}}], "stage 'a': wheel"),
        ([{"name": "a", "event": {"type": "x", "priority": 11}}], "stage 'a': priority"),
        ([{"name": "a", "event": {"type": "x", "in": "soon"}}], "stage 'a': in:"),
        ([{"name": "a", "timeout": "soon"}], "stage 'a': timeout"),
        ([{"name": "a", "event": {"payload": {"$result": "b"}}}], "'b' is no stage that comes before it"),
        ([{"name": "a"}, {"name": "b", "after": [], "event": {"payload": [{"$result": "a/x"}]}}], "'a/x' is no stage"),
    ],
)
def test_what_makes_no_sense_is_named(stages, why):
    with pytest.raises(BadChain) as raised:
        plan(*stages)
    assert why in str(raised.value)


def test_results_stand_where_they_are_asked_for():
    payload = {"all": {"$result": "a"}, "part": [{"$result": "a/list/1/n"}], "plain": {"$result": 1}, "x": "$result"}
    filled = filled_in(payload, {"a": {"list": [0, {"n": 7}]}})
    assert filled == {"all": {"list": [0, {"n": 7}]}, "part": [7], "plain": {"$result": 1}, "x": "$result"}


def test_a_part_that_is_not_there_fails_the_chain():
    state = begun({"name": "a", "event": EVENT}, {"name": "b", "event": {"payload": {"$result": "a/n"}}})
    with pytest.raises(Failed, match=r"stage 'b': .* the result of 'a' has no 'n'"):
        advance(state, {"a": Letter("a", "SUCCESS", {"m": 1})}, NOW)


def test_a_stage_that_fails_fails_the_chain():
    with pytest.raises(Failed, match="stage 'a' failed: no"):
        advance(begun({"name": "a", "event": EVENT}), {"a": Letter("a", "FATAL_FAILURE", error="no")}, NOW)


def test_a_stage_may_be_resumed_before_it_waits_but_not_be_done_before_it_began():
    state = begun({"name": "a", "event": EVENT}, {"name": "wait"}, {"name": "c", "event": EVENT, "after": ["wait"]})
    early = advance(state, {"wait": Letter("wait", "SUCCESS", 1), "c": Letter("c", "SUCCESS", 2)}, NOW)
    assert (early.state.done, [stage.name for stage, _ in early.begin]) == ({"wait": 1}, ["c"])


@pytest.mark.parametrize("on_timeout", ["fail", "continue"])
def test_a_timeout_fails_or_goes_on(on_timeout):
    state = begun({"name": "wait", "timeout": "10s", "on_timeout": on_timeout}, {"name": "b", "event": EVENT})
    before = advance(state, {}, NOW + 9_999)
    assert (before.begin, before.wake_ms) == ([], NOW + 10_000)
    if on_timeout == "fail":
        with pytest.raises(Failed, match="stage 'wait' was not done within 10s"):
            advance(state, {}, NOW + 10_000)
    else:
        after = advance(state, {}, NOW + 10_000)
        assert after.state.done == {"wait": {"timed_out": True}}
        assert [stage.name for stage, _ in after.begin] == ["b"]


def test_a_chain_does_not_wait_for_ever():
    state = begun({"name": "a", "event": EVENT}, {"name": "b"}, ends_ms=NOW + 5)
    assert advance(state, {}, NOW + 4).wake_ms == NOW + 5
    with pytest.raises(Failed, match="it waited for a"):
        advance(state, {}, NOW + 5)


def test_a_look_that_finds_nothing_new_gives_another_state_all_the_same():
    state = begun({"name": "a", "event": EVENT})
    again = advance(state, {}, NOW)
    assert (again.begin, again.state.begun, again.state.done) == ([], state.begun, state.done)
    assert msgspec.json.encode(again.state) != msgspec.json.encode(state)


def test_results_that_are_too_large_fail_the_chain():
    state = begun({"name": "a", "event": EVENT}, {"name": "b", "event": EVENT})
    with pytest.raises(Failed, match="let stages return less"):
        advance(state, {"a": Letter("a", "SUCCESS", "x" * LARGEST)}, NOW)


@st.composite
def graphs(draw):
    names = [f"s{n}" for n in range(draw(st.integers(1, 8)))]
    return [
        {"name": name, "event": EVENT, "after": draw(st.lists(st.sampled_from(names[:n]), unique=True)) if n else []}
        for n, name in enumerate(names)
    ]


@given(graphs(), st.integers(0, 2**32))
def test_each_stage_begins_once_and_after_all_that_it_needs(stages, seed):
    """Letters come in any order, several times, and are lost from memory at any time, until they are taken in.

    What an executor makes of the state counts only if its report does, and there may be two executors at work: one that
    the group goes on without does not know it yet.
    """
    after = {stage["name"]: set(stage["after"]) for stage in stages}
    state, executors = State("c", plan(*stages).stages, NOW + 1_000_000), [Letters(), Letters()]
    random, under_way, written, order = Random(seed), [], set(), []
    for _ in range(500):
        letters = random.choice(executors)
        letters.take_in("c", frozenset(state.done))
        following = advance(state, letters.of("c"), NOW)
        if random.random() < 0.7:  # otherwise its report is lost, or comes too late
            state = following.state
            for stage, _ in following.begin:
                assert after[stage.name] <= state.done.keys()
                order.append(stage.name)
                under_way.append(stage.name)
            if following.over:
                break
        if under_way and random.random() < 0.7:
            written.add(under_way.pop(random.randrange(len(under_way))))
        if random.random() < 0.3:
            executors[random.randrange(2)] = Letters()  # the executor died
        for name in random.sample(sorted(written), random.randint(0, len(written))):
            letters = random.choice(executors)
            if letters.settled("c", name):
                written.discard(name)  # it does not come again
            else:
                letters.put("c", Letter(name, "SUCCESS", name))
    assert sorted(order) == sorted(after)
    assert state.done == {name: name for name in after}
