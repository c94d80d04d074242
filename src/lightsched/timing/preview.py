"""What will the next fire times be, for a person to look at?

In UTC and in local time, with a note where a clock change or the window had a hand in it.
"""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from lightsched.timing.cron import Cron
from lightsched.timing.instant import format_local, format_utc
from lightsched.timing.plan import Plan

MOVED_BY_WINDOW = "moved to the window's opening"
SKIPPED = "moved out of the skipped hour (clock goes forward)"
REPEATED_ONCE = "clock goes back: fires once"
REPEATED = "clock goes back: this hour comes twice"


@dataclass(frozen=True, slots=True)
class FireTime:
    """One fire time."""

    utc: str
    local: str
    note: str


def preview(plan: Plan, zone: ZoneInfo, from_ms: int, n: int) -> list[FireTime]:
    """The first n fire times at or after an instant."""
    return [FireTime(format_utc(ms), format_local(ms, zone), _note(plan, ms)) for ms in plan.upcoming(from_ms, n)]


def _note(plan: Plan, fire_ms: int) -> str:
    nominal_ms = plan.nominal(fire_ms)
    if nominal_ms + plan.jitter_ms != fire_ms:
        return MOVED_BY_WINDOW
    cron = plan.recurrence
    if not isinstance(cron, Cron):
        return ""
    if cron.skipped_before(nominal_ms):
        return SKIPPED
    if cron.repeated_at(nominal_ms):
        return REPEATED if cron.fields.follows_elapsed_time else REPEATED_ONCE
    return ""
