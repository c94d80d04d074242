"""How far is an event, or one of its runs? The status machine is the one table below.

Every change of status in lightsched, of an event and of a run alike, is a look-up in `TRANSITIONS`: what is not in the
table cannot happen. While an event lives and is not paused it shows the status of its newest run that went out, and
NOT_STARTED between runs. docs/status.md, the tests and the dashboard are drawn from the table.
"""

from enum import StrEnum

from lightsched.event.members import plain_members


@plain_members
class Status(StrEnum):
    """Where an event or a run stands."""

    NOT_STARTED = "NOT_STARTED"
    CLAIMED = "CLAIMED"
    PROCESSING = "PROCESSING"
    SUCCESS = "SUCCESS"
    RETRIABLE_FAILURE = "RETRIABLE_FAILURE"
    FATAL_FAILURE = "FATAL_FAILURE"
    PAUSED = "PAUSED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"


@plain_members
class Signal(StrEnum):
    """What happens to an event or a run."""

    DELIVERED = "delivered"  # an attempt was emitted, an executor will report
    DONE = "done"  # it was emitted and nobody will report: delivered is done
    CLAIMED = "claimed"  # an executor took it
    HEARTBEAT = "heartbeat"  # an executor is at it
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # it failed, and another attempt follows
    GAVE_UP = "gave up"  # it failed, and no attempt is left
    PAUSED = "paused"
    RESUMED = "resumed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    REPLACED = "replaced"  # a new revision, or the same identity scheduled again


@plain_members
class Outcome(StrEnum):
    """The one definite answer to a command."""

    SCHEDULED = "SCHEDULED"
    REPLACED = "REPLACED"
    UNCHANGED = "UNCHANGED"
    REJECTED = "REJECTED"
    CANCELLED = "CANCELLED"
    PAUSED = "PAUSED"
    RESUMED = "RESUMED"
    TRIGGERED = "TRIGGERED"
    TOO_LATE = "TOO_LATE"
    NOT_FOUND = "NOT_FOUND"
    INVALID = "INVALID"
    QUOTA = "QUOTA"
    FORWARDED = "FORWARDED"  # on the audit only: the command went on to its home partition


_NOT_STARTED, _CLAIMED, _PROCESSING = Status.NOT_STARTED, Status.CLAIMED, Status.PROCESSING
_SUCCESS, _RETRIABLE, _FATAL = Status.SUCCESS, Status.RETRIABLE_FAILURE, Status.FATAL_FAILURE
_PAUSED, _CANCELLED, _EXPIRED = Status.PAUSED, Status.CANCELLED, Status.EXPIRED

FINAL = frozenset({_SUCCESS, _FATAL, _CANCELLED, _EXPIRED})
"""An event in one of these fires no more."""

TRANSITIONS: dict[tuple[Status, Signal], Status] = {
    # waiting for its time, or delivered and not yet taken
    (_NOT_STARTED, Signal.DELIVERED): _NOT_STARTED,
    (_NOT_STARTED, Signal.DONE): _SUCCESS,
    (_NOT_STARTED, Signal.CLAIMED): _CLAIMED,
    (_NOT_STARTED, Signal.HEARTBEAT): _PROCESSING,
    (_NOT_STARTED, Signal.SUCCEEDED): _SUCCESS,
    (_NOT_STARTED, Signal.FAILED): _RETRIABLE,
    (_NOT_STARTED, Signal.GAVE_UP): _FATAL,
    (_NOT_STARTED, Signal.PAUSED): _PAUSED,
    (_NOT_STARTED, Signal.CANCELLED): _CANCELLED,
    (_NOT_STARTED, Signal.EXPIRED): _EXPIRED,
    (_NOT_STARTED, Signal.REPLACED): _NOT_STARTED,
    # taken by an executor
    (_CLAIMED, Signal.HEARTBEAT): _PROCESSING,
    (_CLAIMED, Signal.SUCCEEDED): _SUCCESS,
    (_CLAIMED, Signal.FAILED): _RETRIABLE,
    (_CLAIMED, Signal.GAVE_UP): _FATAL,
    (_CLAIMED, Signal.PAUSED): _PAUSED,
    (_CLAIMED, Signal.CANCELLED): _CANCELLED,
    (_CLAIMED, Signal.REPLACED): _NOT_STARTED,
    # being worked on
    (_PROCESSING, Signal.HEARTBEAT): _PROCESSING,
    (_PROCESSING, Signal.SUCCEEDED): _SUCCESS,
    (_PROCESSING, Signal.FAILED): _RETRIABLE,
    (_PROCESSING, Signal.GAVE_UP): _FATAL,
    (_PROCESSING, Signal.PAUSED): _PAUSED,
    (_PROCESSING, Signal.CANCELLED): _CANCELLED,
    (_PROCESSING, Signal.REPLACED): _NOT_STARTED,
    # failed, and waiting for its next attempt
    (_RETRIABLE, Signal.DELIVERED): _NOT_STARTED,
    (_RETRIABLE, Signal.GAVE_UP): _FATAL,
    (_RETRIABLE, Signal.PAUSED): _PAUSED,
    (_RETRIABLE, Signal.CANCELLED): _CANCELLED,
    (_RETRIABLE, Signal.EXPIRED): _EXPIRED,
    (_RETRIABLE, Signal.REPLACED): _NOT_STARTED,
    # paused; a recurrence without further occurrences ends with its last run, also under the pause
    (_PAUSED, Signal.RESUMED): _NOT_STARTED,
    (_PAUSED, Signal.SUCCEEDED): _SUCCESS,
    (_PAUSED, Signal.GAVE_UP): _FATAL,
    (_PAUSED, Signal.CANCELLED): _CANCELLED,
    (_PAUSED, Signal.EXPIRED): _EXPIRED,
    (_PAUSED, Signal.REPLACED): _PAUSED,
    # a finished event may be scheduled again under the same identity
    (_SUCCESS, Signal.REPLACED): _NOT_STARTED,
    (_FATAL, Signal.REPLACED): _NOT_STARTED,
    (_EXPIRED, Signal.REPLACED): _NOT_STARTED,
    (_CANCELLED, Signal.REPLACED): _NOT_STARTED,
}


def after(status: Status, signal: Signal) -> Status | None:
    """The status that follows, or None where the signal changes nothing."""
    return TRANSITIONS.get((status, signal))
