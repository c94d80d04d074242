"""What does an answer look like? Its shape, from which it is written and documented.

An event is shown as it was sent, with what is known about it beside (`lightsched.api.shown`): it has no second model.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType
from starlette.responses import Response

from lightsched.engine.step import Totals
from lightsched.event.errors import Problem
from lightsched.event.model import WindowSpec
from lightsched.event.status import Outcome, Status
from lightsched.event.tenant import Defaults, Rule, Tenant, TenantLimits
from lightsched.log.peer import Load

_encode = msgspec.json.Encoder().encode

Instant = Annotated[
    str, Meta(extra_json_schema={"format": "date-time"}, examples=["2026-11-16T09:00:00.000Z"], description="UTC")
]


def answer(shape: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(_encode(shape), status, headers, "application/json")


class Result(msgspec.Struct, kw_only=True):
    """What came of one command."""

    index: int | UnsetType = UNSET  # where it stood among those sent; of those that were refused
    id: str | UnsetType = UNSET
    tenant: str | UnsetType = UNSET
    outcome: Outcome | None  # None: it is not known, and `error` says why
    status: Status | UnsetType | None = UNSET
    next_execution: Instant | UnsetType | None = UNSET
    error: str | UnsetType = UNSET
    errors: tuple[Problem, ...] | UnsetType = UNSET


class Results(msgspec.Struct):
    """What came of many commands, in the order in which they were sent."""

    results: list[Result]


class Taken(msgspec.Struct, kw_only=True):
    """A command that is durable, and not yet carried out; or why it was refused."""

    index: int | UnsetType = UNSET
    id: str | UnsetType = UNSET
    tenant: str | UnsetType = UNSET
    outcome: Outcome | UnsetType = UNSET
    error: str | UnsetType = UNSET
    errors: tuple[Problem, ...] | UnsetType = UNSET


class AllTaken(msgspec.Struct):
    """Commands that are durable, in the order in which they were sent."""

    results: list[Taken]


class Counts(msgspec.Struct, kw_only=True):
    """What came of a command for many events; with a cursor there is more to do."""

    matched: int
    outcomes: dict[Outcome, int]
    unknown: int  # whose partition or its owner failed: it may be done, or not
    dry_run: bool
    cursor: str | None


class NewTask(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An event, as a task."""

    user_id: str
    task_blob: Raw
    schedule: str
    is_recurring: bool = False


class TaskId(msgspec.Struct):
    """The task that was scheduled."""

    task_id: str


class Task(msgspec.Struct):
    """A task, and how it is."""

    task_id: str
    task_status: Status
    last_executed: Instant | None
    next_execution: Instant | None


class TaskCancelled(msgspec.Struct, kw_only=True):
    """What came of cancelling a task."""

    task_id: str
    task_status: Status | None
    outcome: Outcome


class Tasks(msgspec.Struct):
    """A page of tasks; with a cursor there may be more, also when there are few here."""

    tasks: list[Task]
    cursor: str | None


class AttemptShown(msgspec.Struct, frozen=True):
    """One delivery of a run."""

    attempt: int
    delivered_at: Instant
    status: Status
    executor: str
    error: str


class RunShown(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence of an event."""

    due: Instant
    revision: int
    delivered_at: Instant | None
    finished_at: Instant | None
    status: Status
    attempt: int
    attempts: list[AttemptShown]
    result: Raw | None
    error: str


class EventRun(RunShown, frozen=True, kw_only=True):
    """One occurrence of an event, and which event it is."""

    id: str
    tenant: str
    key: str
    type: str


class EventRuns(msgspec.Struct):
    """Runs of all events, the last that ended first; with a cursor there may be more, also when there are few here."""

    runs: list[EventRun]
    cursor: str | None


class Runs(msgspec.Struct):
    """The runs of an event, newest first."""

    runs: list[RunShown]
    cursor: str | None


class ReasonShown(msgspec.Struct):
    """One decision, in words; what holds at present has no time."""

    at: Instant | None
    text: str


class Explanation(msgspec.Struct):
    """Why an event fired, or did not."""

    id: str
    tenant: str
    key: str
    status: Status
    reasons: list[ReasonShown]


class DeliveryShown(msgspec.Struct, kw_only=True):
    """A delivery, as an executor gets it."""

    delivery: str
    topic: str
    partition: int
    offset: int
    key: str
    tenant: str
    id: str
    type: str
    due: Instant
    attempt: int
    delivered_at: Instant
    headers: dict[str, str]
    payload: Raw | UnsetType | None = UNSET
    payload_base64: str | UnsetType = UNSET
    token: str
    timeout: str | None  # may go so long without a report or heartbeat; none: nobody waits for one


class ReportAnswer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What came of one report of many: the status that it would have had alone, 204 if none is given."""

    delivery: str = ""
    status: int = 204
    reason: str = ""
    error: str = ""


class ReportAnswers(msgspec.Struct):
    """What came of many reports, in the order in which they were sent."""

    results: list[ReportAnswer]


class Deliveries(msgspec.Struct):
    """What a group of readers has not acknowledged yet."""

    deliveries: list[DeliveryShown]
    cursor: str


class Ack(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Everything up to the cursor of an answer was dealt with."""

    group: str
    cursor: str


class DeadLetterShown(msgspec.Struct, kw_only=True):
    """A record that was put aside, and why."""

    id: str
    at: Instant
    reason: str
    detail: str
    topic: str  # where it came from; of a delivery: where it was to go
    partition: int
    offset: int
    key: str
    headers: dict[str, str]
    cut_from: int | UnsetType = UNSET  # bytes of the value, of which only the beginning was kept
    value: Raw | UnsetType | None = UNSET
    value_base64: str | UnsetType = UNSET


class DeadLetters(msgspec.Struct):
    """What was put aside, newest first; with a cursor there may be more, also when there are few here."""

    dead_letters: list[DeadLetterShown]
    cursor: str | None


class Redriven(msgspec.Struct, kw_only=True):
    """A dead letter that was sent again."""

    id: str
    topics: list[str]
    outcome: Outcome | None  # of a command
    error: str


class Fired(msgspec.Struct, kw_only=True):
    """A delivery in short, to look at."""

    delivery: str
    topic: str
    tenant: str
    key: str
    id: str
    type: str
    due: Instant
    attempt: int
    delivered_at: Instant
    late_ms: int
    bytes: int
    status: Status | None = None  # of this attempt; None: it is not known any more


class Recent(msgspec.Struct):
    """What fired last, newest first; and how many deliveries there were so far."""

    deliveries: list[Fired]
    total: int


class NextDue(msgspec.Struct, kw_only=True):
    """An event that is due soon."""

    tenant: str
    key: str
    id: str
    type: str
    status: Status
    due: Instant
    schedule_text: str


class Upcoming(msgspec.Struct):
    """What fires next, soonest first."""

    events: list[NextDue]
    cursor: str | None


class Why(msgspec.Struct, forbid_unknown_fields=True):
    """Why a command is given, for the audit."""

    reason: str = ""


class FireTimeShown(msgspec.Struct, frozen=True):
    """One fire time."""

    utc: Instant
    local: str
    note: str


class Preview(msgspec.Struct):
    """When a schedule fires, and what it says in words."""

    text: str
    times: list[FireTimeShown]


class Minute(msgspec.Struct):
    """How many events are due in one minute."""

    minute: Instant
    pending: int
    tenants: dict[str, int]


class Minutes(msgspec.Struct):
    """How many events are due in each of the coming minutes."""

    minutes: list[Minute]


class PartitionShown(msgspec.Struct, kw_only=True):
    """A partition: who owns it, and how far it is."""

    partition: int
    owner: str
    standbys: list[str]  # nodes that keep a copy of its state
    pending: int
    next_due: Instant | None
    lag: int
    steps: int
    clock_trusted: bool
    totals: dict[str, int]


class Partitions(msgspec.Struct):
    """All partitions."""

    partitions: list[PartitionShown]


class NewLimits(TenantLimits, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True):
    """How much a tenant may have, as people write it."""

    payload: Annotated[int, Meta(ge=1)] | str | None = None  # type: ignore[assignment]  # bytes, or such as `256KiB`


class NewTenant(Tenant, forbid_unknown_fields=True, omit_defaults=True, frozen=True, kw_only=True):
    """The rules of one tenant, as people write them."""

    limits: NewLimits = NewLimits()


class TenantShown(msgspec.Struct, kw_only=True):
    """The rules of a tenant."""

    name: str
    rule: Rule
    topics: tuple[str, ...]
    limits: TenantLimits
    weight: int
    window: WindowSpec | None
    defaults: Defaults


class Tenants(msgspec.Struct):
    """The tenants that have rules of their own."""

    tenants: list[TenantShown]


class NodeShown(msgspec.Struct, kw_only=True):
    """A node of the cluster."""

    id: str
    url: str
    version: str
    log: str
    roles: list[str]  # what its process does: `scheduler`, `api`, `executor`, `injector`
    partitions: list[int]
    load: Load | None  # none: it has not said
    started_at: Instant
    heartbeat: Instant
    unhandled: list[str]  # types that were delivered and that nobody executes, as far as is known (`lightsched dev`)


class Nodes(msgspec.Struct):
    """All nodes."""

    nodes: list[NodeShown]


class Health(msgspec.Struct):
    """How the process is."""

    status: str
    version: str


def totals_shown(totals: Totals) -> dict[str, int]:
    """The totals by name."""
    return {name: getattr(totals, name) for name in totals.__struct_fields__}
