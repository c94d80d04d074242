"""What does a partition remember of an event? Its definition as sent, and this: small, and rewritten when it fires.

Everything that is indexed (next due, retries, waiting runs, leases, the time to forget it) is in the state, so the
indexes of a store are derived from the states alone (`lightsched.store.index`) and can be rebuilt from them.
States and runs are frozen: a step holds the state before and the state after.
"""

from enum import IntEnum

import msgspec
from msgspec import structs

from lightsched.event.members import plain_members
from lightsched.event.status import FINAL, Outcome, Status


@plain_members
class Phase(IntEnum):
    """What an unfinished run is waiting for."""

    DELIVERED = 0  # a report; `at_ms` is the deadline of its lease
    RETRY = 1  # its next attempt, or its first if it had to wait; `at_ms` is when, in the due index
    WAITING = 2  # a free slot of its tenant, in the waiting index
    QUEUED = 3  # the end of the event's previous run (`overlap: queue`); in no index


class Attempt(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One delivery of a run, and what came of it."""

    attempt: int
    delivered_ms: int
    status: Status
    executor: str = ""
    error: str = ""
    ended_ms: int = 0  # when it was reported, or its lease ran out; 0: not known, it was written by an earlier version


class Run(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An unfinished run of an event. `(event, revision, due_ms)` is its identity."""

    due_ms: int
    revision: int
    seq: int
    phase: Phase
    at_ms: int
    status: Status = Status.NOT_STARTED
    attempt: int = 0  # deliveries so far
    timeout_ms: int = 0
    expires_ms: int = 0  # 0: never
    attempts: tuple[Attempt, ...] = ()
    timed_out: bool = False  # the last attempt ended by its lease
    triggered: bool = False  # not yet delivered, and goes although the event is paused


class FinishedRun(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What history keeps of a run. Its due and revision are in its key."""

    status: Status
    finished_ms: int
    attempt: int
    attempts: tuple[Attempt, ...] = ()
    error: str = ""
    result: bytes = b""  # JSON as the executor sent it, bounded


class Decision(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Something worth explaining later: why it fired at another time, or did not."""

    at_ms: int
    what: str  # a key of lightsched.engine.explain.WORDS
    detail: str = ""


class Heard(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A command that was to be carried out once, and was."""

    once: bytes  # see lightsched.event.command.ONCE
    outcome: Outcome


class State(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What changes about an event."""

    revision: int
    status: Status
    created_ms: int  # when the first revision was appended
    appended_ms: int  # when this revision was appended
    fingerprint: bytes
    seq: int  # order of arrival in its partition
    priority: int
    due_ms: int | None = None  # the next occurrence, in the due index unless paused
    paused: bool = False
    runs: tuple[Run, ...] = ()  # unfinished ones, oldest first
    fired: int = 0  # runs delivered, over all revisions
    failures: int = 0  # runs that ended in FATAL_FAILURE
    counted: int = 0  # runs of this revision that count towards max_runs
    last_ms: int | None = None  # when it was last delivered
    newest_due_ms: int = 0  # the latest due of a run so far: no two runs of a revision share one
    oldest_run_ms: int | None = None  # due of the oldest finished run that history still holds
    forget_ms: int | None = None  # when a finished event leaves the history
    trail: tuple[Decision, ...] = ()  # the last few decisions out of the ordinary
    last_status: Status | None = None  # how the last run of this revision ended
    tells_run: bool = False  # a one-shot that nobody reports on: its state says all about its only run (`told_run`)
    heard: tuple[Heard, ...] = ()  # the last few commands that are not to be carried out again
    size: int = 0  # bytes of its definition; 0: not known, it was written by an earlier version
    marks: int = 0  # of its type and labels (`lightsched.event.marks`); 0: not known, likewise


def shown(state: State) -> State:
    """A live event shows the status of its newest run that went out, between runs NOT_STARTED; a pause covers all."""
    if state.status in FINAL:
        return state
    status = Status.PAUSED if state.paused else Status.NOT_STARTED
    if state.runs and not state.paused:
        for run in reversed(state.runs):
            if run.attempt and run.revision == state.revision:
                status = run.status
                break
    return state if status is state.status else structs.replace(state, status=status)


def told_run(state: State) -> tuple[int, FinishedRun] | None:
    """The run that a state tells by itself, with its due: delivered once, and done with that."""
    if not state.tells_run or state.last_ms is None:
        return None
    at_ms = state.last_ms
    return state.newest_due_ms, FinishedRun(Status.SUCCESS, at_ms, 1, (Attempt(1, at_ms, Status.SUCCESS),))


def is_due(state: State, run: Run) -> bool:
    """Is an unfinished run in the due index? A pause keeps it out, unless it was triggered under it."""
    return run.phase is Phase.RETRY and (not state.paused or run.triggered)


def next_ms(state: State) -> int | None:
    """When an event will fire next, a retry included; None while it is paused or over."""
    if state.paused:
        return None
    if not state.runs:
        return state.due_ms
    times = [run.at_ms for run in state.runs if run.phase is Phase.RETRY]
    if state.due_ms is not None:
        times.append(state.due_ms)
    return min(times, default=None)
