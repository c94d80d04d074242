"""How far is a chain, and what comes next? Pure: the state, the letters that came and the time give what to do.

The state is the payload of one event. It changes only when that event is executed, and lightsched accepts one report
for each of its deliveries: so there is one state after another, however many executors try, and a stage begins once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from lightsched.timing import parse_duration
from lightsched_chain.plan import BadChain, Stage, filled_in

LARGEST = 200 * 1024
"""Bytes of a state: it travels as the payload of an event."""


class Letter(msgspec.Struct):
    """What became of a stage, as its executor or somebody outside says it."""

    stage: str
    status: str
    result: Any = None
    error: str = ""

    @property
    def succeeded(self) -> bool:
        """Or it failed for good."""
        return self.status == "SUCCESS"


class State(msgspec.Struct, omit_defaults=True):
    """How far a chain is."""

    chain: str
    stages: tuple[Stage, ...]
    ends_ms: int
    begun: dict[str, int] = {}  # stage → when its event was scheduled, or it began to wait
    done: dict[str, Any] = {}  # stage → its result
    looks: int = 0  # no two are the same: an event that is scheduled again unchanged, after it fired, does not fire


class Failed(Exception):
    """The chain has failed."""


class Next(msgspec.Struct):
    """What to do: stages to begin, and when to look again at the latest."""

    state: State
    begin: list[tuple[Stage, Any]]  # with the payload of its event
    over: bool

    @property
    def wake_ms(self) -> int:
        """The next timeout."""
        return min([self.state.ends_ms, *(ms for _, ms in _deadlines(self.state))])


def advance(state: State, letters: Mapping[str, Letter], now_ms: int) -> Next:
    """The next state. Raises `Failed`."""
    done = dict(state.done)
    begun = dict(state.begun)
    for stage in state.stages:
        letter = letters.get(stage.name)
        # One may be resumed before it begins to wait; a reply can only come after its event was scheduled.
        if letter is None or stage.name in done or (stage.event is not None and stage.name not in begun):
            continue
        if not letter.succeeded:
            raise Failed(f"stage {stage.name!r} failed: {letter.error or 'without a reason'}")
        done[stage.name] = letter.result
    for stage, deadline_ms in _deadlines(msgspec.structs.replace(state, done=done)):
        if deadline_ms <= now_ms:
            if stage.on_timeout == "fail":
                raise Failed(f"stage {stage.name!r} was not done within {stage.timeout}")
            done[stage.name] = {"timed_out": True}
    begin = []
    for stage in state.stages:
        if stage.name not in begun and stage.after is not UNSET and all(each in done for each in stage.after):
            begun[stage.name] = now_ms
            if stage.event is not None:
                begin.append((stage, _payload(stage, done)))
    over = len(done) == len(state.stages)
    if not over and now_ms >= state.ends_ms:
        waiting = ", ".join(stage.name for stage in state.stages if stage.name in begun and stage.name not in done)
        raise Failed(f"the chain was not done in time: it waited for {waiting}")
    changed = msgspec.structs.replace(state, begun=begun, done=done, looks=state.looks + 1)
    if not over and (size := len(msgspec.json.encode(changed))) > LARGEST:
        raise Failed(f"stages and results are {size} bytes, the limit is {LARGEST}: let stages return less")
    return Next(changed, begin, over)


def _payload(stage: Stage, done: dict[str, Any]) -> Any:
    assert stage.event is not None
    try:
        return filled_in(stage.event.get("payload", UNSET), done)
    except BadChain as error:
        raise Failed(f"stage {stage.name!r}: {error.why}") from None


def _deadlines(state: State) -> Sequence[tuple[Stage, int]]:
    """Stages that are under way and may not be for ever."""
    return [
        (stage, state.begun[stage.name] + parse_duration(stage.timeout))
        for stage in state.stages
        if stage.timeout is not None and stage.name in state.begun and stage.name not in state.done
    ]
