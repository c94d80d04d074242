"""Why did it fire, or why did it not? The decisions about an event, in words, oldest first."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

import msgspec

from lightsched.engine.state import Attempt, FinishedRun, Phase, State
from lightsched.event.model import Event
from lightsched.event.status import FINAL, Status
from lightsched.timing import format_utc

WORDS = {
    "replaced": "A new definition took the place of the old one: {}.",
    "too_old": "It was older than the history when it arrived, so it expired at once.",
    "never_due": "It has no time to fire at, so it expired at once.",
    "cancelled": "It was cancelled. {}",
    "paused": "It was paused. {}",
    "resumed": "It was resumed. {}",
    "triggered": "It was triggered by hand. {}",
    "until_success": "It stopped at its first success, as `until` says.",
    "moved_into_window": "It was due outside its window and was moved to the next opening, {}.",
    "retry_moved": "The retry fell outside the window and was moved: {}.",
    "missed_paused": "{} occurrence(s) fell into the pause and were dropped, as `catch_up` says.",
    "missed_late": "{} occurrence(s) were more than a minute late and were dropped, as `catch_up` says.",
    "missed_window": "An occurrence could not go before the recurrence ended at {}: the window was closed.",
    "skipped_overlap": "The occurrence of {} was skipped: the previous run was not over, and `overlap` is `skip`.",
    "skipped_active_runs": "The occurrence of {} was skipped: too many runs of this event are unfinished.",
}
"""What the trail of a state remembers, in words."""

_WAITING_FOR = {
    Phase.DELIVERED: "is out at an executor; without a word it times out at {at}",
    Phase.RETRY: "goes at {at}",
    Phase.WAITING: "waits for a slot of its tenant",
    Phase.QUEUED: "waits for the previous run to end",
}


class Reason(msgspec.Struct, frozen=True):
    """One decision, in words."""

    at: str | None  # None: it holds at present
    text: str


def explain(state: State, event: Event, runs: Sequence[tuple[int, FinishedRun]], words: str) -> list[Reason]:
    """The story of an event: `runs` are its last finished runs by due, `words` say when its last revision fires."""
    first = f"It was scheduled: {words}." if state.revision == 1 else "It was scheduled."
    story: list[tuple[int, str]] = [(state.created_ms, first)]
    for step in state.trail:
        is_last = step.what == "replaced" and f"{step.detail} ".startswith(f"revision {state.revision} ")
        detail = f"{step.detail}, {words}" if is_last else step.detail
        story.append((step.at_ms, WORDS[step.what].format(detail).strip()))
    for due_ms, run in runs:
        story.extend(_attempts(due_ms, run.attempts))
        if run.status is not Status.SUCCESS or event.tracked:
            why = f": {run.error}" if run.error else ""
            story.append((run.finished_ms, f"The run due {format_utc(due_ms)} ended {run.status}{why}."))
    for out in state.runs:
        again_ms = out.at_ms if out.phase is Phase.RETRY and not state.paused else None
        story.extend(_attempts(out.due_ms, out.attempts, again_ms))
    story.sort(key=lambda line: line[0])
    reasons = [Reason(format_utc(at_ms), text) for at_ms, text in story]
    return [*reasons, *(Reason(None, text) for text in _now(state))]


def _now(state: State) -> list[str]:
    lines = [
        f"The run due {format_utc(run.due_ms)} {_WAITING_FOR[run.phase].format(at=format_utc(run.at_ms))}."
        for run in state.runs
    ]
    if state.status in FINAL:
        lines.append(f"It is over: {state.status}.")
    elif state.paused:
        lines.append("It is paused: nothing fires until it is resumed.")
    elif state.due_ms is not None:
        lines.append(f"It fires next at {format_utc(state.due_ms)}.")
    return lines


def _attempts(due_ms: int, attempts: Sequence[Attempt], again_ms: int | None = None) -> Iterator[tuple[int, str]]:
    """What became of each attempt but the one that ended the run; `again_ms`: when the next one goes."""
    for attempt, after in zip_longest(attempts, attempts[1:]):
        yield attempt.delivered_ms, _delivered(due_ms, attempt)
        if attempt.status is Status.RETRIABLE_FAILURE:
            when = ""
            if after is not None:
                when = f"; it was tried again at {format_utc(after.delivered_ms)}"
            elif again_ms is not None:
                when = f"; it is tried again at {format_utc(again_ms)}"
            yield attempt.ended_ms or attempt.delivered_ms, _failed(due_ms, attempt) + when + "."


def _failed(due_ms: int, attempt: Attempt) -> str:
    where = f" at {attempt.executor}" if attempt.executor else ""
    return f"Attempt {attempt.attempt} of the run due {format_utc(due_ms)} failed{where}: {attempt.error}"


def _delivered(due_ms: int, attempt: Attempt) -> str:
    nth = f" (attempt {attempt.attempt})" if attempt.attempt > 1 else ""
    late_ms = attempt.delivered_ms - due_ms
    late = f", {late_ms / 1000:.1f} s after its time" if late_ms >= 1000 and attempt.attempt == 1 else ""
    return f"The run due {format_utc(due_ms)} was delivered{nth}{late}."
