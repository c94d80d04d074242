"""What does a client get back? The shapes of the contract, with times as `datetime`."""

from base64 import b64decode
from collections import Counter
from datetime import datetime
from typing import Any

import msgspec

from lightsched.event.errors import Problem
from lightsched.event.model import Event
from lightsched.event.status import Outcome, Status

_DONE = frozenset(
    {
        *(Outcome.SCHEDULED, Outcome.REPLACED, Outcome.UNCHANGED, Outcome.FORWARDED),
        *(Outcome.CANCELLED, Outcome.PAUSED, Outcome.RESUMED, Outcome.TRIGGERED),
    }
)


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of one command. `outcome` is None where nobody has waited for it (on Kafka), or where it could not be
    heard: then `error` says why.
    """

    id: str = ""
    tenant: str = "default"
    outcome: Outcome | None = None
    status: Status | None = None
    next_execution: datetime | None = None
    index: int | None = None  # where it stood among those sent; of those that were refused
    error: str = ""
    errors: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """It was not refused, nor was its outcome lost."""
        return not self.error and (self.outcome is None or self.outcome in _DONE)


class Results(msgspec.Struct, frozen=True):
    """What came of many commands, in the order in which they were sent."""

    results: list[Result]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a command for many events; with a cursor there is more to do."""

    matched: int
    outcomes: dict[Outcome, int]
    unknown: int = 0  # not heard of: it may be done, or not
    dry_run: bool
    cursor: str | None

    def __add__(self, more: "Counts") -> "Counts":
        outcomes = Counter(self.outcomes) + Counter(more.outcomes)
        return Counts(
            matched=self.matched + more.matched,
            outcomes=dict(outcomes),
            unknown=self.unknown + more.unknown,
            dry_run=self.dry_run,
            cursor=more.cursor,
        )


class ScheduledEvent(Event, forbid_unknown_fields=False, kw_only=True):
    """An event as it was sent, and what is known about it."""

    id: str
    tenant: str
    key: str
    type: str
    status: Status
    revision: int
    created_at: datetime
    last_executed: datetime | None
    next_execution: datetime | None
    next_executions: list[datetime]
    schedule_text: str
    runs: int
    failures: int
    payload: Any = None  # bytes, where it is not JSON

    def __post_init__(self) -> None:
        if self.payload_base64 is not None:
            self.payload = b64decode(self.payload_base64)


class Events(msgspec.Struct, frozen=True):
    """A page of events."""

    events: list[ScheduledEvent]
    cursor: str | None


class Attempt(msgspec.Struct, frozen=True):
    """One delivery of a run."""

    attempt: int
    delivered_at: datetime
    status: Status
    executor: str
    error: str


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One occurrence of an event."""

    due: datetime
    revision: int
    delivered_at: datetime | None
    finished_at: datetime | None
    status: Status
    attempt: int
    attempts: list[Attempt]
    result: Any
    error: str


class Runs(msgspec.Struct, frozen=True):
    """A page of runs."""

    runs: list[Run]
    cursor: str | None


class EventRun(Run, frozen=True, kw_only=True):
    """One occurrence of an event, and which event it is."""

    id: str
    tenant: str
    key: str
    type: str


class EventRuns(msgspec.Struct, frozen=True):
    """A page of runs of all events."""

    runs: list[EventRun]
    cursor: str | None


class Reason(msgspec.Struct, frozen=True):
    """One decision, in words; what holds at present has no time."""

    at: str | None
    text: str


class Explanation(msgspec.Struct, frozen=True):
    """Why an event fired, or did not."""

    id: str
    tenant: str
    key: str
    status: Status
    reasons: list[Reason]


class FireTime(msgspec.Struct, frozen=True):
    """One fire time; `local` is in the zone that was asked for."""

    utc: datetime
    local: datetime
    note: str


class Preview(msgspec.Struct, frozen=True):
    """When a schedule fires, and what it says in words."""

    text: str
    times: list[FireTime]


class Minute(msgspec.Struct, frozen=True):
    """How many events are due in one minute."""

    minute: datetime
    pending: int
    tenants: dict[str, int]


class Forecast(msgspec.Struct, frozen=True):
    """How many events are due in each of the coming minutes."""

    minutes: list[Minute]


class Delivery(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What an executor gets. `delivery` is the same however often it comes: go by it to do nothing twice."""

    delivery: str
    topic: str
    partition: int
    offset: int
    key: str
    tenant: str
    id: str
    type: str
    due: datetime
    attempt: int
    delivered_at: datetime
    headers: dict[str, str]
    token: str
    timeout: str | None = None  # how long it may go without a report or heartbeat; none: nobody waits for one
    payload: Any = None  # bytes, where it is not JSON
    payload_base64: str | None = None

    def __post_init__(self) -> None:
        if self.payload_base64 is not None:
            self.payload = b64decode(self.payload_base64)


class Deliveries(msgspec.Struct, frozen=True):
    """A page of deliveries; the cursor acknowledges them."""

    deliveries: list[Delivery]
    cursor: str


class ReportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one report of many; without an error: accepted."""

    delivery: str = ""
    status: int = 204
    reason: str = ""  # why it changed nothing, in one word
    error: str = ""


class ReportAnswers(msgspec.Struct, frozen=True):
    """What came of many reports, in the order in which they were sent."""

    results: list[ReportAnswer]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """How much a node has to do."""

    pending: int
    lag: int
    in_flight: int
    fired_per_s: float
    cpu: float  # cores that its process keeps busy
    seconds: float  # over which the last two were measured


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """A node of the cluster."""

    id: str
    url: str
    version: str
    log: str
    partitions: list[int]
    started_at: datetime
    heartbeat: datetime
    roles: list[str] = []  # what its process does: `scheduler`, `api`, `executor`, `injector`
    load: Load | None = None
    unhandled: list[str] = []  # types that were delivered and that nobody executes, as far as is known


class Nodes(msgspec.Struct, frozen=True):
    """All nodes."""

    nodes: list[Node]


class Partition(msgspec.Struct, frozen=True, kw_only=True):
    """A partition: who owns it, and how far it is."""

    partition: int
    owner: str
    pending: int
    next_due: datetime | None
    lag: int
    steps: int
    clock_trusted: bool
    standbys: list[str]
    totals: dict[str, int]


class Partitions(msgspec.Struct, frozen=True):
    """All partitions."""

    partitions: list[Partition]


class Health(msgspec.Struct, frozen=True):
    """How a server is."""

    status: str
    version: str


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was put aside, and why."""

    id: str
    at: datetime
    reason: str
    detail: str
    topic: str  # where it came from; of a delivery: where it was to go
    partition: int
    offset: int
    key: str
    headers: dict[str, str]
    cut_from: int | None = None  # bytes of the value, of which only the beginning was kept
    value: Any = None
    value_base64: str | None = None


class DeadLetters(msgspec.Struct, frozen=True):
    """A page of them."""

    dead_letters: list[DeadLetter]
    cursor: str | None


class Redriven(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter that was sent again."""

    id: str
    topics: list[str]
    outcome: Outcome | None  # of a command
    error: str


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a tenant."""

    name: str
    rule: str
    topics: list[str]
    limits: dict[str, int]
    weight: int
    window: dict[str, Any] | None
    defaults: dict[str, Any]


class Tenants(msgspec.Struct, frozen=True):
    """The tenants that have rules of their own."""

    tenants: list[Tenant]
