"""What becomes of occurrences that were missed, while paused or because the worker was not there?"""

from msgspec import structs

from lightsched.engine.draft import Draft
from lightsched.engine.state import State
from lightsched.event.identity import Identity
from lightsched.event.model import Event
from lightsched.event.schedule import plan_of
from lightsched.event.status import Status
from lightsched.timing import catch_up, parse_duration


def catch_up_with(
    draft: Draft, name: Identity, state: State, event: Event, missed_before_ms: int, reason: str
) -> State:
    """Let `catch_up` decide which of the missed occurrences of a recurrence is due now, if any."""
    assert state.due_ms is not None
    plan = plan_of(event, name, state.appended_ms)
    look_back_ms = parse_duration(event.look_back)
    caught = catch_up(plan, state.due_ms, missed_before_ms, draft.now_ms, event.catch_up, look_back_ms)
    if caught.missed:
        draft.miss(reason, caught.missed)
        state = draft.note(state, f"missed_{reason}", str(caught.missed))
    return next_due(draft, state, caught.due_ms)


def next_due(draft: Draft, state: State, due_ms: int | None) -> State:
    """The recurrence goes on then; None: it has no further occurrence, and ends with its last run."""
    if due_ms is None and not state.runs:
        return draft.end(state, Status.SUCCESS if state.fired else Status.EXPIRED)
    return structs.replace(state, due_ms=due_ms)
