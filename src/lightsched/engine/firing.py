"""What fires now? Whatever the due index holds with due ≤ now, however late, in the order of the index."""

from collections.abc import Iterator, Sequence

from msgspec import structs

from lightsched.engine.draft import Draft
from lightsched.engine.missed import catch_up_with, next_due
from lightsched.engine.plain import fire_plain, is_plain
from lightsched.engine.rules import LATE_MS
from lightsched.engine.runs import is_free, new_run, settle, start
from lightsched.engine.state import State, is_due
from lightsched.engine.view import Entry
from lightsched.event.identity import Identity
from lightsched.event.model import Event
from lightsched.event.schedule import expiry_of, plan_of, window_of
from lightsched.timing import format_utc
from lightsched.timing.catch_up import MOST_COUNTED

READ_BYTES = 4 * 1024 * 1024
"""Of definitions, at a time."""
_UNKNOWN_BYTES = 16 * 1024


def fire_due(draft: Draft) -> None:
    """Fire what is due, as far as a step may go."""
    rules = draft.rules
    entries = draft.due(rules.step_fires)
    draft.load(entry.identity for entry in entries)
    for some in _portions(draft, entries):
        draft.load_events([entry.identity for entry in some])
        for entry in some:
            if draft.bytes >= rules.step_bytes:
                draft.step.more = True
                return
            fire(draft, entry)
    draft.step.more = draft.step.more or len(entries) == rules.step_fires


def _portions(draft: Draft, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """As many at a time as may be read together: many at once are cheaper, and payloads may be large."""
    some: list[Entry] = []
    size = 0
    for entry in entries:
        state = draft.state(entry.identity)
        size += _UNKNOWN_BYTES if state is None else state.size or _UNKNOWN_BYTES
        some.append(entry)
        if size >= READ_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def fire(draft: Draft, entry: Entry) -> None:
    """Fire one entry, unless this step has already made it void."""
    name = entry.identity
    state = draft.state(name)
    if state is None:
        return
    if state.due_ms == entry.due_ms and state.seq == entry.seq:
        if not state.paused:
            event = draft.event(name)
            if not (is_plain(state, event) and fire_plain(draft, name, state, event)):
                draft.put(name, occur(draft, name, state, event))
        return
    for run in state.runs:
        if run.seq == entry.seq and run.at_ms == entry.due_ms and is_due(state, run):
            state, ended = start(draft, name, state, draft.event(name), run)
            draft.put(name, settle(draft, name, state, ended))
            return


def occur(draft: Draft, name: Identity, state: State, event: Event) -> State:
    """The next occurrence of an event is due: make a run of it, and look for the one after."""
    due_ms = state.due_ms
    assert due_ms is not None
    if draft.now_ms - due_ms > LATE_MS:
        state = _late(draft, name, state, event)
        due_ms = state.due_ms
        if due_ms is None or due_ms > draft.now_ms:
            return state
    following_ms = None
    if event.repeats:
        following_ms = plan_of(event, name, state.appended_ms).after(due_ms)
        if state.runs and event.overlap == "skip":
            return _skip(draft, state, "overlap", due_ms, following_ms)
        if len(state.runs) >= draft.rules.active_runs:
            return _skip(draft, state, "active_runs", due_ms, following_ms)
        if event.max_runs is not None and state.counted + 1 >= event.max_runs:
            following_ms = None
    run = new_run(draft, state, event, due_ms)
    state = structs.replace(
        state, due_ms=following_ms, counted=state.counted + 1, newest_due_ms=max(due_ms, state.newest_due_ms)
    )
    state, ended = start(draft, name, state, event, run)
    return settle(draft, name, state, ended)


def _late(draft: Draft, name: Identity, state: State, event: Event) -> State:
    """It is long past its time: `catch_up` decides about a recurrence, then the window about all that is still late."""
    late_before_ms = draft.now_ms - LATE_MS
    if event.repeats:
        state = catch_up_with(draft, name, state, event, missed_before_ms=late_before_ms, reason="late")
    due_ms = state.due_ms
    if due_ms is None or due_ms >= late_before_ms or event.window is None:
        return state
    open_ms = window_of(event.window, event.timezone).open_at(draft.now_ms)
    if open_ms == draft.now_ms:
        return state
    expires_ms = expiry_of(event, due_ms)
    if expires_ms and open_ms >= expires_ms:  # it must not begin anew: its run waits, and expires
        return state
    free = is_free(draft, name, state)
    while not free(open_ms):
        open_ms += 1
    plan = plan_of(event, name, state.appended_ms)
    if plan.ends_ms is not None and open_ms > plan.ends_ms:
        draft.miss("window", plan.count(due_ms, late_before_ms, MOST_COUNTED))
        state = draft.note(state, "missed_window", format_utc(plan.ends_ms))
        return next_due(draft, state, plan.after(late_before_ms - 1))
    return structs.replace(draft.note(state, "moved_into_window", format_utc(open_ms)), due_ms=open_ms)


def _skip(draft: Draft, state: State, reason: str, due_ms: int, following_ms: int | None) -> State:
    draft.miss(reason)
    return next_due(draft, draft.note(state, f"skipped_{reason}", format_utc(due_ms)), following_ms)
