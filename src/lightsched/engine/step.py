"""What is a step? One atomic unit of a worker's work: inputs read, state changed, records to emit.

The engine fills a `Step`; a log commits it, whole or not at all. It is plain data: nothing in it knows how it will be
written.
"""

from dataclasses import dataclass, field

import msgspec

from lightsched.engine.state import FinishedRun, State
from lightsched.event.delivery import Delivery
from lightsched.event.identity import Identity
from lightsched.event.record import Record
from lightsched.event.status import Outcome, Status

RunKey = tuple[Identity, int, int]
"""Identity, due in ms, revision."""


class Totals(msgspec.Struct, array_like=True):
    """What a partition has done since it began. `accepted` always equals the sum of the others."""

    accepted: int = 0
    fired: int = 0
    cancelled: int = 0
    expired: int = 0
    dead: int = 0
    pending: int = 0

    @property
    def difference(self) -> int:
        """What is unaccounted for: always 0."""
        return self.accepted - self.fired - self.cancelled - self.expired - self.dead - self.pending


class Meta(msgspec.Struct, array_like=True):
    """What a partition remembers of itself."""

    step: int = 0  # steps committed
    seq: int = 0  # arrivals numbered
    events_offset: int = 0  # the next input to read
    reports_offset: int = 0
    totals: Totals = msgspec.field(default_factory=Totals)
    secret: bytes = b""  # keys the report tokens; made when the store is made
    clock_ms: int = 0  # the latest `now` of a step


class Answer(msgspec.Struct, gc=False):
    """The outcome of one input record."""

    topic: str
    offset: int
    outcome: Outcome | None  # None: a report
    identity: Identity | None = None
    status: Status | None = None
    next_ms: int | None = None
    revision: int = 0
    error: str = ""  # INVALID, REJECTED, TOO_LATE: why
    unmet: str = ""  # REJECTED: the condition that did not hold (`lightsched.engine.conditions`)
    ignored: str = ""  # a report that changed nothing: why (`forbidden`: its token was wrong)


@dataclass(slots=True)
class DeadLetter:
    """An input that could not be understood, or a delivery that could not be made."""

    reason: str
    detail: str
    record: Record
    topic: str = ""  # where it came from; of a delivery: where it was to go
    offset: int = -1
    partition: int = -1


@dataclass(slots=True)
class Follow:
    """An input to append: a misplaced command or report on its way home, or a `then` of a report."""

    topic: str
    partition: int
    record: Record


class Transition(msgspec.Struct, omit_defaults=True, gc=False):
    """One line of the audit: who, what, when, before → after, outcome."""

    at: str
    what: str
    tenant: str
    key: str
    id: str
    outcome: str = ""
    who: str = ""
    revision: int = 0
    before: str = ""
    after: str = ""
    due: int = 0
    attempt: int = 0
    delivery: str = ""
    reason: str = ""


@dataclass(slots=True)
class Step:
    """What one step changes and emits."""

    now_ms: int
    meta: Meta  # as it will be after the step
    before: dict[Identity, State | None] = field(default_factory=dict)  # as read
    states: dict[Identity, State | None] = field(default_factory=dict)  # as to be written; None: forget it
    definitions: dict[Identity, bytes | None] = field(default_factory=dict)
    runs: dict[RunKey, FinishedRun | None] = field(default_factory=dict)
    deliveries: list[Delivery] = field(default_factory=list)
    follows: list[Follow] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    audit: list[Transition] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    missed: dict[str, int] = field(default_factory=dict)  # reason → occurrences that will not run, for the metrics
    ended: list[tuple[Identity, Status, int]] = field(default_factory=list)  # finished runs: event, status, due
    more: bool = False  # work that is due was left for the next step

    @property
    def empty(self) -> bool:
        """Nothing to commit: no input was consumed and nothing was due."""
        return not (self.states or self.answers or self.runs or self.dead_letters or self.follows)
