"""What has become of an event? Its runs, and the decisions about it in words."""

from heapq import merge
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from msgspec import Meta, Raw
from pydantic import Field

from lightsched.api.cursor import read_cursor, write_cursor
from lightsched.api.documents import described, refusals
from lightsched.api.face import Face, Running
from lightsched.api.parameters import BASE, EventId, Which
from lightsched.api.shapes import AttemptShown, Explanation, ReasonShown, Runs, RunShown, answer
from lightsched.api.shown import shown_time
from lightsched.api.target import found, not_found
from lightsched.engine.explain import explain
from lightsched.engine.state import Attempt, FinishedRun, Run
from lightsched.event.identity import Identity
from lightsched.event.model import decoder
from lightsched.event.schedule import plan_of, words_of
from lightsched.store.store import Store
from lightsched.timing import LAST_MS, format_utc

router = APIRouter(prefix=BASE + "/events/{id}", tags=["events"])

MOST_BYTES = 4 * 1024 * 1024  # of runs on one page, roughly
_READ_AT_ONCE = 20
_EXPLAINED = 20
_CURSOR = "r"
_Number = Annotated[int, Meta(ge=0, le=(1 << 32) - 1)]
_Instant = Annotated[int, Meta(ge=0, le=LAST_MS)]
_Place = tuple[_Instant, _Number]
"""Due and revision: where a run stands among those of its event."""


class RunParameters(Which):
    """Which runs."""

    limit: Annotated[int, Field(description="At most so many", ge=1, le=1_000)] = 100
    cursor: Annotated[str | None, Field(description="The `cursor` of the page before")] = None


@router.get(
    "/runs",
    operation_id="list_runs",
    summary="The runs of an event",
    responses={**described(200, "Its runs, newest first", Runs), **refusals(400, 403, 404, 409, 503)},
)
async def list_runs(id: EventId, face: Running, asked: Annotated[RunParameters, Query()]) -> Response:
    """Unfinished ones included. History is kept for a while (`history.keep`)."""
    _, store, name, state = await found(face, id, asked.tenant, asked.key)
    before: _Place | None = None if asked.cursor is None else read_cursor(_CURSOR, asked.cursor, _Place)
    finished, complete = await _history(face, store, name, before, asked.limit + 1)
    unfinished = sorted(((run.due_ms, run.revision), _unfinished(run)) for run in state.runs)
    waiting = [(place, run) for place, run in reversed(unfinished) if before is None or place < before]
    page = list(merge(finished, waiting, key=_place, reverse=True))
    limit = asked.limit
    if not complete:
        limit = min(limit, page.index(finished[-1]) + 1)
    cursor = write_cursor(_CURSOR, page[limit - 1][0]) if len(page) > limit or not complete else None
    return answer(Runs([run for _, run in page[:limit]], cursor))


async def _history(
    face: Face, store: Store, name: Identity, before: _Place | None, limit: int
) -> tuple[list[tuple[_Place, RunShown]], bool]:
    """Finished runs, some at a time, and whether these are all that were asked for: results may be large."""
    read: list[tuple[_Place, RunShown]] = []
    size = 0
    async with face.long_work.turns() as turns:
        while len(read) < limit:
            if size >= MOST_BYTES:
                return read, False
            some = store.runs_of(name, before, min(_READ_AT_ONCE, limit - len(read)))
            if not some:
                break
            for (_, due_ms, revision), run in some:
                before = due_ms, revision
                size += len(run.result) + len(run.error) + 200 * len(run.attempts)
                read.append((before, RunShown(**run_fields(due_ms, revision, run))))
            if turns.over():
                await turns.rest()
    return read, True


@router.get(
    "/explain",
    operation_id="explain",
    summary="Why it fired, or did not",
    responses={**described(200, "The decisions, in words", Explanation), **refusals(400, 403, 404, 409, 503)},
)
async def explain_event(id: EventId, face: Running, which: Annotated[Which, Query()]) -> Response:
    """The story of an event, oldest first; what holds at present is at the end, without a time."""
    target, store, name, state = await found(face, id, which.tenant, which.key)
    definition = store.definition(name)
    if definition is None:
        raise not_found(target)
    event = decoder.decode(definition)
    runs = [(due_ms, run) for (_, due_ms, _), run in store.runs_of(name, None, _EXPLAINED)]
    words = words_of(event, plan_of(event, name, state.appended_ms))
    reasons = [ReasonShown(reason.at, reason.text) for reason in explain(state, event, runs, words)]
    return answer(Explanation(target.id, target.tenant, target.key, state.status, reasons))


def _place(placed: tuple[_Place, RunShown]) -> _Place:
    return placed[0]


def run_fields(due_ms: int, revision: int, run: FinishedRun) -> dict[str, Any]:
    """A finished run, as it is shown."""
    return {
        "due": format_utc(due_ms),
        "revision": revision,
        "delivered_at": shown_time(run.attempts[-1].delivered_ms if run.attempts else None),
        "finished_at": format_utc(run.finished_ms),
        "status": run.status,
        "attempt": run.attempt,
        "attempts": [_attempt(attempt) for attempt in run.attempts],
        "result": Raw(run.result) if run.result else None,
        "error": run.error,
    }


def _unfinished(run: Run) -> RunShown:
    return RunShown(
        due=format_utc(run.due_ms),
        revision=run.revision,
        delivered_at=shown_time(run.attempts[-1].delivered_ms if run.attempts else None),
        finished_at=None,
        status=run.status,
        attempt=run.attempt,
        attempts=[_attempt(attempt) for attempt in run.attempts],
        result=None,
        error=run.attempts[-1].error if run.attempts else "",
    )


def _attempt(attempt: Attempt) -> AttemptShown:
    return AttemptShown(
        attempt.attempt, format_utc(attempt.delivered_ms), attempt.status, attempt.executor, attempt.error
    )
