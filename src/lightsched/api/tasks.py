"""How are events reached as tasks? Four calls, over the same events: a user is a tenant, a task is an event.

What they do not say is left to the other calls, which work on tasks as well.
"""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response
from msgspec import Raw
from pydantic import Field

from lightsched.api.body import read_body
from lightsched.api.documents import TASK_BODY, described, refusals
from lightsched.api.events import events_page
from lightsched.api.face import Face, Running
from lightsched.api.listing import MOST_LISTED, Listed
from lightsched.api.outcomes import address, refuse_outcome
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.prepare import record_of
from lightsched.api.problem import CONFLICT, Refusal, invalid_field
from lightsched.api.shapes import NewTask, Task, TaskCancelled, TaskId, Tasks, answer
from lightsched.api.shown import shown_time
from lightsched.api.target import found, not_found, target_of
from lightsched.engine.conditions import AT_REST
from lightsched.engine.state import next_ms
from lightsched.event.check import check
from lightsched.event.command import IDLE
from lightsched.event.errors import InvalidEvent, Problem, invalid
from lightsched.event.model import Event, Op
from lightsched.event.record import Record
from lightsched.event.status import Outcome
from lightsched.event.words import refused
from lightsched.timing import TimingError, parse_duration

router = APIRouter(prefix=BASE, tags=["tasks"])

_decode = msgspec.json.Decoder(NewTask).decode
_CRON_FIELDS = (5, 6)
_SCHEDULES = "give a time (RFC 3339), a duration such as `5m`, or a cron expression"
_FIELDS = {"tenant": "user_id", "payload": "task_blob"} | dict.fromkeys(("at", "in", "cron", "every"), "schedule")
"""What an event's fields are called here."""


class WhichTask(Parameters):
    """Which task, whose."""

    task: Annotated[str, Field(description="The task's id", examples=["tea"])]
    user_id: Annotated[str, Field(description="Whose", examples=["default"])] = "default"


class ListedTasks(Parameters):
    """Whose tasks."""

    user_id: Annotated[str, Field(description="Whose", examples=["default"])] = "default"
    limit: Annotated[int, Field(description="At most so many", ge=1, le=MOST_LISTED)] = 100
    cursor: Annotated[str | None, Field(description="The `cursor` of the page before")] = None


@router.post(
    "/schedule",
    operation_id="schedule_task",
    summary="Schedule a task",
    status_code=201,
    responses={
        **described(201, "Scheduled, under this id", TaskId),
        **described(202, "Durable, and carried out when its partition has an owner again", TaskId),
        **refusals(400, 403, 413, 503),
    },
    openapi_extra={"requestBody": TASK_BODY},
)
async def schedule_task(face: Running, request: Request) -> Response:
    """`schedule` is a time (RFC 3339), a duration from now or between two runs, or a cron expression."""
    body = await read_body(request, face.limits.record)
    try:
        body.decode()
        task = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        found = refused(error, NewTask.__struct_fields__, {}, body)
        (problem,) = found.problems
        if problem.field == "schedule" and problem.message.startswith("must be"):
            raise invalid("schedule", f"{problem.message}: {_SCHEDULES}") from None
        raise found from None
    event = Event(tenant=task.user_id, payload=Raw(task.task_blob), **_schedule(task))
    event.id = event.key = face.ids.next(face.now_ms)
    _check(event, face)
    result = await face.commands.submit(face.home(event), record_of(event))
    refuse_outcome(result)
    return answer(TaskId(event.id), 202 if result.outcome is Outcome.FORWARDED else 201)


def _check(event: Event, face: Face) -> None:
    """As an event, in the words of a task."""
    try:
        check(event, face.limits, face.now_ms)
    except InvalidEvent as error:
        raise InvalidEvent(
            [Problem(_FIELDS.get(each.field, each.field), each.message) for each in error.problems]
        ) from None


def _schedule(task: NewTask) -> dict[str, Any]:
    """What the one field says, as the field of an event; it must go with `is_recurring`."""
    text, recurring = task.schedule, task.is_recurring
    if text.startswith("@") or len(text.split()) in _CRON_FIELDS:
        if not recurring:
            raise invalid_field(
                "is_recurring", "is false or missing, but a cron expression recurs: send true, or a time"
            )
        return {"cron": text}
    try:
        parse_duration(text)
    except TimingError:
        if recurring:
            raise invalid_field(
                "schedule", "must be a cron expression or a duration, because `is_recurring` is true"
            ) from None
        return {"at": text}
    return {"every" if recurring else "in_": text}


@router.get(
    "/",
    operation_id="get_task",
    summary="Look at a task",
    responses={**described(200, "How it is", Task), **refusals(400, 403, 404, 409, 503)},
)
async def get_task(face: Running, which: Annotated[WhichTask, Query()]) -> Response:
    """Its status, when it was executed last and when it will be next."""
    target, _, _, state = await found(face, which.task, which.user_id, None)
    return answer(Task(target.id, state.status, shown_time(state.last_ms), shown_time(next_ms(state))))


@router.delete(
    "/",
    operation_id="cancel_task",
    summary="Cancel a task",
    responses={
        **described(200, "It is not executed any more", TaskCancelled),
        **described(202, "Durable, and carried out when its partition has an owner again", TaskCancelled),
        **refusals(400, 403, 404, 409, 503),
    },
)
async def cancel_task(face: Running, which: Annotated[WhichTask, Query()]) -> Response:
    """A task that is in progress, or over: 409."""
    target = await target_of(face, which.task, which.user_id, None)
    event = Event(op=Op.CANCEL, tenant=target.tenant, key=target.key, id=target.id)
    record = record_of(event)
    record = Record(record.key, record.value, (*record.headers, (IDLE, b"1")))
    result = await face.commands.submit(face.home(event), record)
    if result.outcome is Outcome.NOT_FOUND:
        raise not_found(target)
    if result.unmet == AT_REST:
        detail = (
            "The task is in progress: wait until its run is over, or cancel the event "
            f"(`DELETE {address(target.id, target.tenant)}`), which lets this run go on and no other follow."
        )
        raise Refusal(CONFLICT, detail, outcome=Outcome.TOO_LATE)
    refuse_outcome(result)
    assert result.outcome is not None
    shown = TaskCancelled(task_id=target.id, task_status=result.status, outcome=result.outcome)
    return answer(shown, 202 if result.outcome is Outcome.FORWARDED else 200)


@router.get(
    "/tasks",
    operation_id="list_tasks",
    summary="List tasks",
    responses={**described(200, "A page of tasks, in the order of their ids", Tasks), **refusals(400, 403, 503)},
)
async def list_tasks(face: Running, asked: Annotated[ListedTasks, Query()]) -> Response:
    """Also with the method `LIST`. A page may be short and still have a cursor: go on until it is null."""
    page = await events_page(face, Listed(tenant=asked.user_id, limit=asked.limit, cursor=asked.cursor))
    return answer(Tasks([_task(event) for event in page.items.values()], page.cursor))


def _task(event: dict[str, Any]) -> Task:
    return Task(event["id"], event["status"], event["last_executed"], event["next_execution"])
