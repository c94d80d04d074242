"""May a command be carried out now? Only once, only while nothing has changed or runs, not too late.

A command may bring a name (`once`): the event remembers the last few that it has heard, and what came of them. One that
comes again gets the same answer and does nothing; the same name for something else is refused. What came to nothing is
not remembered and may come again, but not after what followed it in its request and was carried out.

A command may say which revision it is about (`if_revision`): if the event has another one by now it is refused,
and a new definition is too late for an event that is over or out at an executor.

A cancel may be meant only for an event that is idle (`idle`): then it is too late while a run of it is out.
"""

from msgspec import structs

from lightsched.engine.draft import Draft
from lightsched.engine.state import Heard, Phase, State
from lightsched.event.command import Command
from lightsched.event.model import Op
from lightsched.event.status import FINAL, Outcome

MOST_HEARD = 8
REVISION, NAME, AT_REST = "revision", "once", "idle"
"""Conditions that an answer may say were not met."""
_NAME_BYTES = 8
_REQUEST_BYTES = 5
"""Of a name: of its request; the rest is its place there."""
_NOT_DONE = frozenset({Outcome.REJECTED, Outcome.TOO_LATE, Outcome.NOT_FOUND, Outcome.QUOTA, Outcome.INVALID})


def heard_before(draft: Draft, command: Command) -> bool:
    """Was it carried out before, or its name used for something else? Then it is answered."""
    state = draft.state(command.identity)
    if state is None or not command.once:
        return False
    for heard in state.heard:
        if heard.once == command.once:
            draft.answer(command, heard.outcome, state, state)
            return True
        if heard.once[:_NAME_BYTES] == command.once[:_NAME_BYTES]:
            _reject(draft, command, state, NAME, "the same key came with another body before: use a new key")
            return True
    if any(_follows(heard.once, command.once) for heard in state.heard):
        error = "it came to nothing before, and what followed it under the same key was carried out"
        draft.answer(command, Outcome.TOO_LATE, state, state, error)
        return True
    return False


def _follows(heard: bytes, name: bytes) -> bool:
    """Of the same request, and after it there."""
    same = heard[:_REQUEST_BYTES] == name[:_REQUEST_BYTES] and heard[_NAME_BYTES:] == name[_NAME_BYTES:]
    return same and heard[_REQUEST_BYTES:_NAME_BYTES] > name[_REQUEST_BYTES:_NAME_BYTES]


def remember(draft: Draft, command: Command) -> None:
    """It was carried out: not again."""
    outcome, state = draft.step.answers[-1].outcome, draft.state(command.identity)
    if command.once and state is not None and outcome is not None and outcome not in _NOT_DONE:
        heard = (*state.heard[-(MOST_HEARD - 1) :], Heard(command.once, outcome))
        draft.put(command.identity, structs.replace(state, heard=heard))


def changed_meanwhile(draft: Draft, command: Command) -> bool:
    """Does it come after a change that its sender did not know of? Then it is answered."""
    state, wanted = draft.state(command.identity), command.event.if_revision
    revision = 0 if state is None else state.revision
    if wanted is None:
        return False
    if wanted != revision:
        is_ = f"its revision is {revision}" if revision else "there is no such event"
        _reject(draft, command, state, REVISION, f"{is_}, and the command is about {wanted or 'none'}: look again")
        return True
    if state is not None and command.op is Op.SCHEDULE and (error := too_late(draft, command, state)):
        draft.answer(command, Outcome.TOO_LATE, state, state, error)
        return True
    return False


def too_late(draft: Draft, command: Command, state: State) -> str:
    """Why nothing can be changed about an event any more; empty: it can."""
    if state.status in FINAL:
        return f"the event is over: {state.status}"
    out = any(run.phase is Phase.DELIVERED and run.revision == state.revision for run in state.runs)
    if out and not draft.event(command.identity).repeats:
        return "it is delivered and running"
    return ""


def in_progress(draft: Draft, command: Command, state: State) -> bool:
    """Is a run out, of an event that had to be idle? Then it is answered."""
    if not command.idle or all(run.phase is not Phase.DELIVERED for run in state.runs):
        return False
    draft.answer(command, Outcome.TOO_LATE, state, state, "a run of it is in progress")
    draft.step.answers[-1].unmet = AT_REST
    return True


def _reject(draft: Draft, command: Command, state: State | None, condition: str, error: str) -> None:
    draft.answer(command, Outcome.REJECTED, state, state, error)
    draft.step.answers[-1].unmet = condition
