"""What becomes of occurrences that were missed, while paused or because the worker was not there?"""

from msgspec import structs

from lightsched.engine.draft import Draft
from lightsched.engine.state import State
from lightsched.event.identity import Identity
from lightsched.event.model import Event
from lightsched.event.schedule import plan_of
from lightsched.event.status import Signal, Status
from lightsched.timing import catch_up, parse_duration

_AS_LAST_RUN = {Status.SUCCESS: Signal.SUCCEEDED, Status.FATAL_FAILURE: Signal.GAVE_UP}


def catch_up_with(
    draft: Draft, name: Identity, state: State, event: Event, *, missed_before_ms: int, reason: str
) -> State:
    """Let `catch_up` decide which of the missed occurrences of a recurrence is due now, if any."""
    assert state.due_ms is not None
    plan = plan_of(event, name, state.appended_ms)
    # An event that was forgotten and comes again would otherwise repeat runs of which nobody knows any more.
    look_back_ms = min(parse_duration(event.look_back), draft.rules.limits.keep_ms - 1)
    caught = catch_up(plan, state.due_ms, missed_before_ms, draft.now_ms, event.catch_up, look_back_ms)
    if caught.missed:
        draft.miss(reason, caught.missed)
        state = draft.note(state, f"missed_{reason}", str(caught.missed))
    return next_due(draft, state, caught.due_ms)


def next_due(draft: Draft, state: State, due_ms: int | None, *, dead: bool = False) -> State:
    """The recurrence goes on then; None: it has no further occurrence, and ends as its last run did."""
    if due_ms is None and not state.runs:
        signal = Signal.EXPIRED if state.last_status is None else _AS_LAST_RUN.get(state.last_status, Signal.EXPIRED)
        return draft.end(state, signal, dead=dead)
    return state if due_ms == state.due_ms else structs.replace(state, due_ms=due_ms)
