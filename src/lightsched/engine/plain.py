"""How does the commonest event fire? A one-shot that nobody reports on, in one go.

What `occur` → `start` → `deliver` → `record` → `settle` do in steps that each make a new state comes, for such an
event, to one fixed result; here it is made at once. A test holds both side by side.
"""

from lightsched.engine.draft import Draft
from lightsched.engine.runs import topics_of
from lightsched.engine.state import State
from lightsched.engine.step import Transition
from lightsched.event.identity import Identity
from lightsched.event.model import Event
from lightsched.event.status import Status

_NOT_STARTED, _SUCCESS = Status.NOT_STARTED, Status.SUCCESS


def is_plain(state: State, event: Event) -> bool:
    """Nothing to wait for, nothing to repeat, nothing before it."""
    return (
        event.at is not None
        and event.window is None
        and event.expires_in is None
        and not event.tracked
        and not state.runs
        and state.oldest_run_ms is None
        and state.status is _NOT_STARTED
    )


def fire_plain(draft: Draft, name: Identity, state: State, event: Event) -> bool:
    """Deliver it and end it. False: it cannot be delivered, and nothing was done."""
    due_ms, now_ms, step, totals = state.due_ms, draft.now_ms, draft.step, draft.totals
    assert due_ms is not None
    delivery = draft.emitter.emit(name, state.revision, due_ms, 1, event, topics_of(draft, name, event))
    if draft.rules.refuse(delivery):
        return False
    draft.meta.seq += 1
    draft.bytes += delivery.size
    step.deliveries.append(delivery)
    step.ended.append((name, _SUCCESS, due_ms))
    tenant, key, id_ = name.decode().split("\0")
    step.audit.append(
        Transition(
            draft.at,
            "deliver",
            tenant,
            key,
            id_,
            "",
            "",
            state.revision,
            _NOT_STARTED,
            _SUCCESS,
            due_ms,
            1,
            delivery.id,
        )
    )
    totals.pending -= 1
    totals.fired += 1
    step.states[name] = State(
        state.revision,
        _SUCCESS,
        state.created_ms,
        state.appended_ms,
        state.fingerprint,
        state.seq,
        state.priority,
        None,
        False,
        (),
        state.fired + 1,
        state.failures,
        state.counted + 1,
        now_ms,
        due_ms,
        None,
        draft.forget_ms,
        state.trail,
        state.last_status,
        True,
        state.heard,
        state.size,
        state.marks,
    )
    return True
