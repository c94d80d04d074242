"""What does a command do, and what is the answer? Each function below is one command; the answer is definite.

`TOO_LATE` is the answer where the command came after what it wanted to prevent: a one-shot that is out at an executor,
or an event that is over. A command that asks for what is already so gets the answer it would have got the first time.
"""

from dataclasses import replace

from msgspec import structs

from lightsched.engine.changes import MOST_BYTES, changed
from lightsched.engine.conditions import changed_meanwhile, heard_before, in_progress, remember, too_late
from lightsched.engine.draft import Draft, moved
from lightsched.engine.missed import catch_up_with
from lightsched.engine.runs import drop_runs, go_on, is_free, new_run, write_run
from lightsched.engine.state import Phase, Run, State
from lightsched.engine.step import Follow
from lightsched.event.command import ASSIGNED, HOPS, IDLE, ONCE, WHO, Command, definition_of
from lightsched.event.identity import Identity
from lightsched.event.marks import marks_of
from lightsched.event.model import Event, Op, encoder
from lightsched.event.record import Record
from lightsched.event.schedule import first_due, next_due, plan_of
from lightsched.event.status import FINAL, Outcome, Signal, Status
from lightsched.timing import parse_delay

_HEADER_BYTES = 800  # of a name of 200 characters; what is longer is not read


def apply(draft: Draft, command: Command) -> None:
    """Carry out one command, or send it home."""
    if command.home != draft.rules.partition:
        forward(draft, command)
    elif not command.once and command.event.if_revision is None:
        _COMMANDS[command.op](draft, command)
    elif not heard_before(draft, command) and not changed_meanwhile(draft, command):
        _COMMANDS[command.op](draft, command)
        remember(draft, command)


def forward(draft: Draft, command: Command) -> None:
    """The command landed in another partition than its event lives in: append it there, with its identity fixed.

    Durations count from the first append, so `in` becomes `at` here.
    """
    event = command.event
    if event.in_ is not None and event.op is Op.SCHEDULE:
        event.at = command.appended_ms + parse_delay(event.in_)
        event.in_ = None
    headers = (
        (ASSIGNED, b"1"),
        (HOPS, b"%d" % (command.hops + 1)),
        *((name, value[:_HEADER_BYTES]) for name, value in command.record.headers if name in (WHO, ONCE, IDLE)),
    )
    record = Record(event.key.encode(), encoder.encode(event), headers)
    draft.step.follows.append(Follow(draft.rules.limits.names.events, command.home, record))
    draft.answer(command, Outcome.FORWARDED, None, None)


def schedule(draft: Draft, command: Command) -> None:
    """Accept an event: new, in place of another definition, or not at all."""
    name, event = command.identity, command.event
    on_conflict = event.on_conflict
    old = draft.state(name)
    definition, fingerprint = definition_of(event, command.appended_ms)
    if old is None or old.status is Status.CANCELLED:
        outcome = Outcome.SCHEDULED
    elif old.fingerprint == fingerprint or on_conflict == "keep":
        return draft.answer(command, Outcome.UNCHANGED, old, old)
    elif on_conflict == "reject":
        error = "an event with this identity exists: cancel it first, or send on_conflict `replace`"
        return draft.answer(command, Outcome.REJECTED, old, old, error)
    else:
        outcome = Outcome.REPLACED
    state = _accepted(draft, command, old, fingerprint, len(definition))
    draft.define(name, definition, event)
    return draft.answer(command, outcome, draft.put(name, state), old)


def _accepted(draft: Draft, command: Command, old: State | None, fingerprint: bytes, size: int) -> State:
    name, event, appended_ms = command.identity, command.event, command.appended_ms
    if old is None or old.status is Status.CANCELLED:
        due_ms = first_due(event, name, appended_ms)
    else:
        due_ms = next_due(event, name, appended_ms, old.created_ms, old.due_ms)
    state = State(
        *(1, Status.NOT_STARTED, appended_ms, appended_ms, fingerprint, draft.seq(), event.priority, due_ms),
        size=size,
        marks=marks_of(event),
    )
    if old is not None:
        why = f"revision {old.revision + 1} has taken its place"
        old = drop_runs(draft, name, write_run(draft, name, old), why)
        state = structs.replace(
            state,
            revision=old.revision + 1,
            status=moved(old.status, Signal.REPLACED),
            created_ms=old.created_ms,
            paused=old.paused,
            runs=old.runs,
            fired=old.fired,
            failures=old.failures,
            last_ms=old.last_ms,
            oldest_run_ms=old.oldest_run_ms,
            trail=old.trail,
            heard=old.heard,
        )
        state = draft.note(state, "replaced", f"revision {state.revision}{_changes(draft, name, old, event)}")
    if old is None or old.status in FINAL:
        draft.begin()
    if due_ms is None:
        return draft.note(draft.end(state, Signal.EXPIRED), "never_due")
    if not event.repeats and due_ms <= appended_ms - draft.rules.limits.keep_ms:
        return draft.note(draft.end(state, Signal.EXPIRED), "too_old")
    return state


def _changes(draft: Draft, name: Identity, old: State, event: Event) -> str:
    if not 0 < old.size <= MOST_BYTES:
        return ""
    names = changed(draft.event(name), event)
    return f" (changed: {names})" if names else ""


def cancel(draft: Draft, command: Command) -> None:
    """Fire no more. What is out at an executor goes on."""
    state = draft.state(command.identity)
    if state is None:
        return draft.answer(command, Outcome.NOT_FOUND, None, None)
    if state.status is Status.CANCELLED:
        return draft.answer(command, Outcome.CANCELLED, state, state)
    if error := too_late(draft, command, state):
        return draft.answer(command, Outcome.TOO_LATE, state, state, error)
    if in_progress(draft, command, state):
        return None
    old = state
    state = drop_runs(draft, command.identity, state, "the event was cancelled")
    state = draft.note(draft.end(state, Signal.CANCELLED), "cancelled", command.reason)
    return draft.answer(command, Outcome.CANCELLED, draft.put(command.identity, state), old)


def pause(draft: Draft, command: Command) -> None:
    """Fire nothing until resumed. What is out at an executor goes on."""
    state = draft.state(command.identity)
    if state is None:
        return draft.answer(command, Outcome.NOT_FOUND, None, None)
    if state.paused:
        return draft.answer(command, Outcome.PAUSED, state, state)
    if error := too_late(draft, command, state):
        return draft.answer(command, Outcome.TOO_LATE, state, state, error)
    old = state
    runs = tuple(_held(run) for run in state.runs)
    state = structs.replace(state, paused=True, status=moved(state.status, Signal.PAUSED), runs=runs)
    state = draft.note(state, "paused", command.reason)
    return draft.answer(command, Outcome.PAUSED, draft.put(command.identity, state), old)


def _held(run: Run) -> Run:
    """It waits for the end of the pause: not for a slot any more, nor was it triggered under this pause."""
    phase = Phase.QUEUED if run.phase is Phase.WAITING else run.phase
    return structs.replace(run, phase=phase, triggered=False) if run.triggered or phase is not run.phase else run


def resume(draft: Draft, command: Command) -> None:
    """Go on after a pause; `catch_up` says what becomes of the occurrences that were missed meanwhile."""
    name = command.identity
    state = draft.state(name)
    if state is None:
        return draft.answer(command, Outcome.NOT_FOUND, None, None)
    if state.status in FINAL:
        return draft.answer(command, Outcome.TOO_LATE, state, state, "the event is over")
    if not state.paused:
        return draft.answer(command, Outcome.RESUMED, state, state)
    old = state
    event = draft.event(name)
    state = structs.replace(state, paused=False, status=moved(state.status, Signal.RESUMED))
    state = draft.note(state, "resumed", command.reason)
    if event.repeats and state.due_ms is not None and state.due_ms <= draft.now_ms:
        state = catch_up_with(draft, name, state, event, missed_before_ms=draft.now_ms + 1, reason="paused")
    return draft.answer(command, Outcome.RESUMED, draft.put(name, go_on(state, event)), old)


def trigger(draft: Draft, command: Command) -> None:
    """Run now: a recurrence once more, a one-shot instead of later. The window does not hold for it, the rest does."""
    name = command.identity
    state = draft.state(name)
    if state is None:
        return draft.answer(command, Outcome.NOT_FOUND, None, None)
    if error := too_late(draft, command, state):
        return draft.answer(command, Outcome.TOO_LATE, state, state, error)
    old = state
    event = draft.event(name)
    if not event.repeats:
        state = _sooner(draft, state, event)
    elif event.overlap == "skip" and state.runs:
        error = "the previous run is not over, and overlap is `skip`"
        return draft.answer(command, Outcome.TOO_LATE, state, state, error)
    elif len(state.runs) >= draft.rules.active_runs:
        return draft.answer(command, Outcome.QUOTA, state, state, "too many runs of this event are unfinished")
    else:
        state = _once_more(draft, name, state, event)
    state = draft.note(state, "triggered", command.reason)
    return draft.answer(command, Outcome.TRIGGERED, draft.put(name, state), old)


def _sooner(draft: Draft, state: State, event: Event) -> State:
    """What a one-shot waits for, its time or that of a retry, is now; so the window does not hold it back either."""
    now_ms = draft.now_ms
    status = moved(state.status, Signal.RESUMED) if state.paused else state.status
    due_ms = None if state.due_ms is None else now_ms
    runs = tuple(run if run.phase is Phase.DELIVERED else structs.replace(run, at_ms=now_ms) for run in state.runs)
    return go_on(structs.replace(state, status=status, due_ms=due_ms, paused=False, runs=runs), event)


def _once_more(draft: Draft, name: Identity, state: State, event: Event) -> State:
    """One more run of a recurrence, due now, or as soon after as no other run of it is, was or will be due."""
    begins_ms = state.appended_ms if state.due_ms is None else min(state.appended_ms, state.due_ms - 1)
    plan = replace(plan_of(event, name, state.appended_ms), not_before_ms=begins_ms)
    due_ms = draft.now_ms
    if due_ms < draft.meta.clock_ms - draft.rules.limits.keep_ms:  # put back so far that history has forgotten it
        due_ms = max(due_ms, state.newest_due_ms + 1)
    fires_ms = plan.after(due_ms - 1)
    free = is_free(draft, name, state)
    while due_ms in (state.due_ms, fires_ms) or not free(due_ms):
        due_ms += 1
        if fires_ms is not None and fires_ms < due_ms:
            fires_ms = plan.after(due_ms - 1)
    run = structs.replace(new_run(draft, state, event, due_ms), triggered=True)
    return structs.replace(state, newest_due_ms=max(due_ms, state.newest_due_ms), runs=(*state.runs, run))


_COMMANDS = {
    Op.SCHEDULE: schedule,
    Op.CANCEL: cancel,
    Op.PAUSE: pause,
    Op.RESUME: resume,
    Op.TRIGGER: trigger,
}
