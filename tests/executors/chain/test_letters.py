"""Is a letter kept until the chain's state is known to have it? An executor's report may be lost, or be too late."""

import msgspec
import pytest

from lightsched import Context, Fatal
from lightsched_chain.executor import Chains, End, Said
from lightsched_chain.plan import Chain, planned
from lightsched_chain.state import State, advance
from tests.unit.executor.make import taken

NOW = 1_790_000_000_000
JOIN = [
    {"name": "a", "event": {"type": "x"}, "after": []},
    {"name": "b", "event": {"type": "x"}, "after": []},
    {"name": "join", "event": {"type": "x"}, "after": ["a", "b"]},
]


def context(id):
    async def beat(taken): ...

    return Context(taken("c", timeout_ms=60_000, ls_id=id), beat)


@pytest.fixture
def state():
    """Both branches have begun."""
    stages = planned(msgspec.convert({"stages": JOIN}, Chain), NOW).stages
    return advance(State("c", stages, 2**43), {}, NOW).state


def ids(then):
    return [event["id"] for event in then.events if event.get("op") != "cancel"]


async def receive(chains, stage, status="SUCCESS"):
    return await chains.receive(Said(status=status, error="no"), context(f"c/{stage}/done"))


async def test_letters_stay_until_a_state_that_has_them_is_delivered(state):
    chains = Chains()
    assert ids(await receive(chains, "a")) == ids(await receive(chains, "a")) == ["c/state", "c/a/done"]
    await receive(chains, "b")
    first = await chains.go_on(state, context("c/state"))
    assert ids(first) == ["c/join", "c/state"]
    assert await receive(chains, "b") is not None, "the report on it was lost, so it comes again"
    assert ids(await chains.go_on(state, context("c/state"))) == ids(first), "and so does the state"
    after = next(event["payload"] for event in first.events if event["id"] == "c/state")
    await chains.go_on(after, context("c/state"))
    assert await receive(chains, "b") is None


@pytest.mark.parametrize("status", ["SUCCESS", "FATAL_FAILURE"])
async def test_letters_stay_until_the_end_is_delivered(state, status):
    chains = Chains()
    state = msgspec.structs.replace(state, done={"a": 1, "b": 1}, begun={**state.begun, "join": NOW})
    await receive(chains, "join", status)
    first = await chains.go_on(state, context("c/state"))
    assert ids(first) == ["c"]
    assert await receive(chains, "join", status) is not None
    assert ids(await chains.go_on(state, context("c/state"))) == ["c"]
    with pytest.raises(Fatal):
        await chains.end(End(error="no"), context("c"))
    assert await receive(chains, "join", status) is None
