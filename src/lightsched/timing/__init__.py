"""When does something fire? Pure: instants are integers (milliseconds since 1970, UTC), and nobody looks at a clock.

At, Every, Cron ─┐
Window ──────────┼─► Plan ─► catch_up, preview, describe
jitter ──────────┘
"""

from lightsched.timing.at import At
from lightsched.timing.backoff import Backoff
from lightsched.timing.catch_up import CatchUpPolicy, CaughtUp, catch_up
from lightsched.timing.cron import Cron
from lightsched.timing.duration import format_compact, format_duration, parse_delay, parse_duration
from lightsched.timing.errors import TimingError
from lightsched.timing.every import Every
from lightsched.timing.instant import format_local, format_utc, parse_instant
from lightsched.timing.jitter import offset
from lightsched.timing.limits import FIRST_MS, LAST_MS
from lightsched.timing.plan import Plan, Recurrence
from lightsched.timing.preview import FireTime, preview
from lightsched.timing.window import Window
from lightsched.timing.words import describe
from lightsched.timing.zone import zone, zone_names

__all__ = [
    "FIRST_MS",
    "LAST_MS",
    "At",
    "Backoff",
    "CatchUpPolicy",
    "CaughtUp",
    "Cron",
    "Every",
    "FireTime",
    "Plan",
    "Recurrence",
    "TimingError",
    "Window",
    "catch_up",
    "describe",
    "format_compact",
    "format_duration",
    "format_local",
    "format_utc",
    "offset",
    "parse_delay",
    "parse_duration",
    "parse_instant",
    "preview",
    "zone",
    "zone_names",
]
