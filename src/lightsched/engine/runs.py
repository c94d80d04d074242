"""How does a run live? It is started when it is due, reported on, tried again, and ends; then the event goes on.

Runs are started in two places only, both after the inputs of a step: when they are due (`lightsched.engine.firing`) and
when a slot is free (`lightsched.engine.slots`). Whatever else lets a run go (a trigger, the end of the run before it,
the end of a pause) makes it due: so no input delivers anything by itself, and deliveries are bounded and in order.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import structs

from lightsched.engine.draft import Draft, moved
from lightsched.engine.missed import next_due
from lightsched.engine.rules import LATE_MS
from lightsched.engine.state import Attempt, FinishedRun, Phase, Run, State, told_run
from lightsched.engine.step import DeadLetter
from lightsched.event.identity import Identity, tenant_of
from lightsched.event.model import Event
from lightsched.event.schedule import expiry_of, retries_of, timeout_of, window_of
from lightsched.event.status import FINAL, Signal, Status
from lightsched.timing import format_duration, format_utc

MAX_ATTEMPTS_KEPT = 50
"""Of the unfinished runs of an event, together, but the last one of each: a state is small."""
MAX_KEPT = 200
"""Characters of an error, of each attempt. The history has the last one in full."""
MAX_TEXT_KEPT = 80_000
"""Bytes of the errors of all unfinished runs, of one attempt each; and of the names of their executors."""
_RUNS_DROPPED_AT_ONCE = 200
_RUNS_DROPPED_IN_A_STEP = 5_000
"""Of all events: thousands that began together have their old runs dropped in the same minute."""


class Ended(NamedTuple):
    """How a run ended."""

    revision: int
    signal: Signal
    status: Status
    dead: bool = False


def new_run(draft: Draft, state: State, event: Event, due_ms: int) -> Run:
    """An occurrence."""
    return Run(
        due_ms=due_ms,
        revision=state.revision,
        seq=draft.seq(),
        phase=Phase.RETRY,
        at_ms=due_ms,
        timeout_ms=timeout_of(event) if event.tracked else 0,
        expires_ms=expiry_of(event, due_ms),
    )


def is_free(draft: Draft, name: Identity, state: State) -> Callable[[int], bool]:
    """Asks of a time whether no other run of this revision is or was due then. After `newest_due_ms` there is none."""
    unfinished = {run.due_ms for run in state.runs if run.revision == state.revision}

    def free(due_ms: int) -> bool:
        if due_ms > state.newest_due_ms:
            return True
        key = name, due_ms, state.revision
        return not (due_ms in unfinished or key in draft.step.runs or draft.view.ran(*key))

    return free


def start(draft: Draft, name: Identity, state: State, event: Event, run: Run) -> tuple[State, Ended | None]:
    """Deliver a run whose time has come, or let it wait: for the window, the previous run's end, or a slot."""
    now_ms = draft.now_ms
    if run.at_ms > now_ms:  # it waited for a slot, and the clock was put back meanwhile: nothing goes early
        return with_run(state, structs.replace(run, phase=Phase.RETRY)), None
    if run.expires_ms and now_ms >= run.expires_ms:
        return record(draft, name, state, run, Signal.EXPIRED, error="it expired before it could be delivered")
    if event.window is not None and now_ms - run.at_ms > LATE_MS:
        open_ms = window_of(event.window, event.timezone).open_at(now_ms)
        if open_ms > now_ms:
            state = draft.note(state, "moved_into_window", format_utc(open_ms))
            return with_run(state, structs.replace(run, phase=Phase.RETRY, at_ms=open_ms)), None
    if event.overlap == "queue" and state.runs and state.runs[0].seq != run.seq:
        return with_run(state, structs.replace(run, phase=Phase.QUEUED)), None
    if event.tracked and not draft.has_slot(tenant_of(name)):
        return with_run(state, structs.replace(run, phase=Phase.WAITING)), None
    return deliver(draft, name, state, event, run)


def deliver(draft: Draft, name: Identity, state: State, event: Event, run: Run) -> tuple[State, Ended | None]:
    """Emit the next attempt of a run."""
    now_ms = draft.now_ms
    attempt = run.attempt + 1
    topics = topics_of(draft, name, event)
    delivery = draft.emitter.emit(name, run.revision, run.due_ms, attempt, event, topics, run.timeout_ms)
    draft.bytes += delivery.size  # also where it goes to the dead letters
    if why := draft.rules.refuse(delivery):
        draft.step.dead_letters.append(
            DeadLetter(
                "UNDELIVERABLE", why, delivery.record, ",".join(delivery.topics), partition=draft.rules.partition
            )
        )
        draft.miss("undeliverable")
        state, ended = record(draft, name, state, run, Signal.GAVE_UP, error=why)
        return state, ended._replace(dead=True)
    draft.step.deliveries.append(delivery)
    signal = Signal.DELIVERED if event.tracked else Signal.DONE
    status = moved(run.status, signal)
    draft.log("deliver", name, run.revision, run.status, status, due=run.due_ms, attempt=attempt, delivery=delivery.id)
    before = max(MAX_ATTEMPTS_KEPT // max(len(state.runs), 1), 1) - 1
    attempts = (*run.attempts[max(len(run.attempts) - before, 0) :], Attempt(attempt, now_ms, status))
    state = structs.replace(state, fired=state.fired + (attempt == 1), last_ms=now_ms)
    if signal is Signal.DONE:
        return record(draft, name, state, structs.replace(run, attempt=attempt, attempts=attempts), signal)
    draft.flew(name, +1)
    run = structs.replace(
        run,
        phase=Phase.DELIVERED,
        at_ms=now_ms + run.timeout_ms,
        status=status,
        attempt=attempt,
        attempts=attempts,
        timed_out=False,
        triggered=False,
    )
    return with_run(state, run), None


def topics_of(draft: Draft, name: Identity, event: Event) -> tuple[str, ...]:
    """Where it goes: its own topics, its tenant's, or the default one."""
    if event.topics:
        return event.topics
    rules = draft.rules
    own = rules.tenant(tenant_of(name)).topics if rules.tenants else ()
    return own or rules.default_topics


def fail(
    draft: Draft,
    name: Identity,
    state: State,
    run: Run,
    *,
    error: str,
    executor: str = "",
    retry_in_ms: int | None = None,
    timed_out: bool = False,
) -> State:
    """The attempt that is out has failed: try again, inside the window, or give up."""
    why_not = ""
    delay_ms = None
    event = draft.event(name)
    if state.status in FINAL:
        why_not = "the event is over"
    elif run.revision != state.revision:
        why_not = f"revision {state.revision} has taken its place"
    else:
        delay_ms = retries_of(event).delay_after(run.attempt, f"{run.due_ms}/{run.attempt}/{name.decode()}")
    if delay_ms is None:
        text = f"{error} (not tried again: {why_not})" if why_not else error
        return finish(draft, name, state, run, Signal.GAVE_UP, error=text, executor=executor)
    at_ms = draft.now_ms + (delay_ms if retry_in_ms is None else retry_in_ms)
    if event.window is not None:
        open_ms = window_of(event.window, event.timezone).open_at(at_ms)
        if open_ms != at_ms:
            state = draft.note(state, "retry_moved", f"{format_utc(at_ms)} → {format_utc(open_ms)}")
        at_ms = open_ms
    status = moved(run.status, Signal.FAILED)
    draft.log("fail", name, run.revision, run.status, status, due=run.due_ms, attempt=run.attempt, reason=error)
    draft.flew(name, -1)
    run = structs.replace(
        run,
        phase=Phase.RETRY,
        at_ms=at_ms,
        status=status,
        attempts=_closed(draft, state, run, status, executor=executor, error=error),
        timed_out=timed_out,
    )
    return with_run(state, run)


def timed_out(draft: Draft, name: Identity, state: State, run: Run) -> State:
    """The lease of a delivery has run out."""
    error = f"no report or heartbeat for {format_duration(run.timeout_ms)}"
    return fail(draft, name, state, run, error=error, timed_out=True)


def finish(
    draft: Draft,
    name: Identity,
    state: State,
    run: Run,
    signal: Signal,
    *,
    error: str = "",
    result: bytes = b"",
    executor: str = "",
) -> State:
    """A run is over, and the event goes on."""
    state, ended = record(draft, name, state, run, signal, error=error, result=result, executor=executor)
    return settle(draft, name, state, ended)


def settle(draft: Draft, name: Identity, state: State, ended: Ended | None) -> State:
    """What becomes of an event when a run has ended: it ends too, or goes on, perhaps with the next in its queue."""
    if ended is None or state.status in FINAL:
        return state
    event = draft.event(name)
    if ended.revision == state.revision:
        if not event.repeats:
            return draft.end(state, ended.signal, dead=ended.dead)
        if event.until == "success" and ended.status is Status.SUCCESS:
            state = drop_runs(draft, name, state, "the recurrence has succeeded")
            return draft.note(draft.end(state, ended.signal), "until_success")
        state = structs.replace(state, last_status=ended.status)
    state = go_on(state, event)
    return next_due(draft, state, state.due_ms, dead=ended.dead) if event.repeats else state


def go_on(state: State, event: Event) -> State:
    """The queue goes on: its first run is due now if nothing is before it (without `overlap: queue`, all of them).

    Under a pause only a run that was triggered since goes on.
    """
    candidates = state.runs[:1] if event.overlap == "queue" else state.runs
    ready = tuple(
        structs.replace(run, phase=Phase.RETRY)
        if run.phase is Phase.QUEUED and (run.triggered or not state.paused)
        else run
        for run in candidates
    )
    return state if ready == candidates else structs.replace(state, runs=(*ready, *state.runs[len(candidates) :]))


def record(
    draft: Draft,
    name: Identity,
    state: State,
    run: Run,
    signal: Signal,
    *,
    error: str = "",
    result: bytes = b"",
    executor: str = "",
) -> tuple[State, Ended]:
    """Move a run from the event's unfinished ones to its history."""
    status = _write(draft, name, state, run, signal, error=error, result=result, executor=executor)
    return _without(draft, name, state, (run,), failures=status is Status.FATAL_FAILURE), Ended(
        run.revision, signal, status
    )


def _write(
    draft: Draft,
    name: Identity,
    state: State,
    run: Run,
    signal: Signal,
    *,
    error: str,
    result: bytes = b"",
    executor: str = "",
) -> Status:
    """A run is over: in the history, on the audit, and not in flight any more. How it ended."""
    status = moved(run.status, signal)
    if run.phase is Phase.DELIVERED:
        draft.flew(name, -1)
    draft.step.runs[name, run.due_ms, run.revision] = FinishedRun(
        status=status,
        finished_ms=draft.now_ms,
        attempt=run.attempt,
        attempts=_closed(draft, state, run, status, executor=executor, error=error)
        if run.phase is Phase.DELIVERED
        else run.attempts,
        error=error,
        result=result,
    )
    draft.step.ended.append((name, status, run.due_ms))
    if signal is not Signal.DONE:  # that is one with its delivery, also on the audit
        draft.log("finish", name, run.revision, run.status, status, due=run.due_ms, attempt=run.attempt, reason=error)
    return status


def _without(draft: Draft, name: Identity, state: State, over: Sequence[Run], *, failures: int = 0) -> State:
    """The state without runs that are in the history now."""
    now_ms, keep_ms = draft.now_ms, draft.rules.limits.keep_ms
    oldest_ms = min(run.due_ms for run in over)
    if state.oldest_run_ms is not None:
        oldest_ms = min(oldest_ms, state.oldest_run_ms)
    if oldest_ms < now_ms - keep_ms - keep_ms // 8:
        oldest_ms = _drop_old_runs(draft, name, oldest_ms, now_ms - keep_ms)
    gone = {run.seq for run in over}
    runs = tuple(other for other in state.runs if other.seq not in gone)
    return structs.replace(
        state,
        runs=runs,
        failures=state.failures + failures,
        oldest_run_ms=oldest_ms,
        forget_ms=draft.forget_ms if state.status in FINAL and not runs else state.forget_ms,
    )


def write_run(draft: Draft, name: Identity, state: State) -> State:
    """The run that a state tells by itself goes to the history, before another state takes its place."""
    told = told_run(state)
    if told is None:
        return state
    due_ms, run = told
    draft.step.runs[name, due_ms, state.revision] = run
    return structs.replace(state, tells_run=False, oldest_run_ms=due_ms)


def _drop_old_runs(draft: Draft, name: Identity, oldest_ms: int, before_ms: int) -> int:
    """History is bounded by retention: forget old runs, and say which may be the oldest now."""
    if draft.runs_dropped >= _RUNS_DROPPED_IN_A_STEP:
        return oldest_ms
    old = draft.view.runs_before(name, before_ms, _RUNS_DROPPED_AT_ONCE)
    draft.runs_dropped += len(old)
    for key in old:
        draft.step.runs.setdefault(key, None)
    return oldest_ms if len(old) == _RUNS_DROPPED_AT_ONCE else before_ms


def drop_runs(draft: Draft, name: Identity, state: State, why: str) -> State:
    """Runs that are not out at an executor will not go: cancelled, replaced, or no longer needed."""
    dropped = [run for run in state.runs if run.phase is not Phase.DELIVERED]
    for run in dropped:
        _write(draft, name, state, run, Signal.CANCELLED, error=why)
    return _without(draft, name, state, dropped) if dropped else state


def with_run(state: State, run: Run) -> State:
    """The state with a run added or changed; unfinished runs stay in the order in which they were due."""
    for i, other in enumerate(state.runs):
        if other.seq == run.seq:
            return structs.replace(state, runs=(*state.runs[:i], run, *state.runs[i + 1 :]))
    return structs.replace(state, runs=(*state.runs, run))


def _closed(draft: Draft, state: State, run: Run, status: Status, *, executor: str, error: str) -> tuple[Attempt, ...]:
    """The attempt that was out is over."""
    last = run.attempts[-1]
    executor, error = kept(state, executor) or last.executor, kept(state, error)
    over = structs.replace(last, status=status, executor=executor, error=error, ended_ms=draft.now_ms)
    return (*run.attempts[:-1], over)


def kept(state: State, text: str) -> str:
    """What a state keeps of a text about one of its runs: it has to go into one record, whatever the letters."""
    text, most = text[:MAX_KEPT], MAX_TEXT_KEPT // max(len(state.runs), 1)
    return text if len(text) * 4 <= most else text.encode()[:most].decode(errors="ignore")
