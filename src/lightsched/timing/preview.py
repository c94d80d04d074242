"""What will the next fire times be, for a person to look at?

In UTC and in local time, with a note where a clock change or the window had a hand in it.
"""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from lightsched.timing.clock_change import is_repeated, span_at
from lightsched.timing.cron import Cron
from lightsched.timing.every import Every
from lightsched.timing.instant import format_local, format_utc
from lightsched.timing.plan import Plan

MOVED_BY_WINDOW = "moved to the window's opening"
SKIPPED = "moved out of the skipped hour (clock goes forward)"
REPEATED_ONCE = "clock goes back: fires once"
REPEATED = "clock goes back: this hour comes twice"
WENT_FORWARD = "clock went forward since the one before"
WENT_BACK = "clock went back since the one before"


@dataclass(frozen=True, slots=True)
class FireTime:
    """One fire time."""

    utc: str
    local: str
    note: str


def preview(plan: Plan, zone: ZoneInfo, from_ms: int, n: int) -> list[FireTime]:
    """The first n fire times at or after an instant."""
    return [FireTime(format_utc(ms), format_local(ms, zone), _note(plan, zone, ms)) for ms in plan.upcoming(from_ms, n)]


def _note(plan: Plan, zone: ZoneInfo, fire_ms: int) -> str:
    nominal_ms = plan.nominal(fire_ms)
    if nominal_ms + plan.jitter_ms != fire_ms:
        return MOVED_BY_WINDOW
    if isinstance(plan.recurrence, Cron):
        return _cron_note(plan.recurrence, nominal_ms)
    if isinstance(plan.recurrence, Every):
        return _every_note(plan, zone, fire_ms)
    return ""


def _cron_note(cron: Cron, nominal_ms: int) -> str:
    if cron.skipped_before(nominal_ms):
        return SKIPPED
    if cron.repeated_at(nominal_ms):
        return REPEATED if cron.fields.follows_elapsed_time else REPEATED_ONCE
    return WENT_FORWARD if cron.jumped_before(nominal_ms) else ""


def _every_note(plan: Plan, zone: ZoneInfo, fire_ms: int) -> str:
    """It follows elapsed time only: what the clock shows shifts with it."""
    if is_repeated(zone, fire_ms):
        return REPEATED
    before_ms = plan.latest(fire_ms - 1)
    if before_ms is None:
        return ""
    was, is_ = span_at(zone, before_ms).offset_ms, span_at(zone, fire_ms).offset_ms
    if was == is_:
        return ""
    return WENT_FORWARD if was < is_ else WENT_BACK
