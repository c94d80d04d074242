"""What is sent in a simulation: few identities, so that commands meet, and every option of the contract.

Times are distances from now until they are sent. All choices go through a `Chooser`, so that they come from hypothesis,
which can make a failing life short, or from a random number generator, which makes long and busy ones.
"""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from tests.simulation.local_time import DAY, HOUR, MINUTE

SECOND = 1_000
T = TypeVar("T")


class Chooser:
    """Makes choices."""

    def __init__(self, integer: Callable[[int, int], int]) -> None:
        self.integer = integer

    def one(self, of: Sequence[T]) -> T:
        return of[self.integer(0, len(of) - 1)]

    def chance(self, one_in: int) -> bool:
        return self.integer(1, one_in) == one_in

    def some(self, of: Sequence[T], most: int) -> list[T]:
        """Different ones, in any order."""
        return list(dict.fromkeys(self.one(of) for _ in range(self.integer(0, most))))


WORK_DAYS = ["mon", "tue", "wed", "thu", "fri"]
IDS = ("a", "b", "c")
KEYS = ("k", "l")
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")

STARTS = tuple(
    int(datetime.fromisoformat(text).timestamp() * 1000)
    for text in (
        "2026-03-29T00:20:00Z",  # Paris goes forward at 01:00Z
        "2026-10-24T23:30:00Z",  # Paris goes back at 01:00Z
        "2026-11-01T04:50:00Z",  # New York goes back at 06:00Z
        "2026-04-04T14:00:00Z",  # Lord Howe goes back by half an hour at 15:00Z
        "2026-06-12T08:59:00.250Z",  # a Friday, just before the window of 09:00
        "2026-12-31T21:30:00.001Z",
    )
)

SOON = (0, 1, 500, SECOND, 5 * SECOND, 30 * SECOND, MINUTE)
NEAR = (-1, -30 * SECOND, -90 * SECOND, 5 * MINUTE, -2 * HOUR, 3 * HOUR)
FAR = (2 * DAY, -8 * DAY, 20 * DAY, -DAY)
CRONS = (
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "30 2 * * *",
    "*/30 2 * * *",
    "0 9 * * mon-fri",
    "15 30 2 * * *",
    "0 0 13 * fri",
    "@daily",
    "30 */10 * * * *",
    "0 0 1 * *",
    "10,40 1-3 * * *",
    "0,20,40 * * * * *",
)
WINDOWS = (
    {"from": "09:00", "to": "17:00"},
    {"from": "22:00", "to": "06:00"},
    {"days": WORK_DAYS},
    {"from": "09:00", "to": "17:00", "days": WORK_DAYS, "timezone": "America/New_York"},
    {"from": "02:30", "to": "03:30", "timezone": "Europe/Paris"},
    {"from": "23:00", "to": "01:30", "exclude": ["2026-03-29", "2026-12-31"]},
)
RETRIES = (
    {"delays": ["1s", "10s"]},
    {"delays": ["30s"]},
    {"delays": ["2m", "4m", "16m"]},
    {"attempts": 3, "delay": "5s", "factor": 2, "max": "8s", "jitter": 0},
    {"attempts": 1, "delay": "5s", "factor": 2, "max": "8s", "jitter": 0},
)


def distance(choose: Chooser) -> int:
    kind = choose.integer(0, 5)
    if kind == 5:
        return choose.integer(-2 * MINUTE, 10 * MINUTE)
    return choose.one((SOON, SOON, SOON, NEAR, FAR)[kind])


def window(choose: Chooser) -> dict | tuple[int, int]:
    """One of the fixed ones; or it opens in so many minutes from now, and stays open for so many."""
    return choose.one(WINDOWS) if choose.chance(2) else (choose.integer(-30, 30), choose.one((1, 2, 10, 60)))


OPTIONS: dict[str, Callable[[Chooser], object]] = {
    "timezone": lambda choose: choose.one(ZONES),
    "jitter": lambda choose: choose.one(("1s", "10m")),
    "window": window,
    "catch_up": lambda choose: choose.one(("latest", "all", "none")),
    "look_back": lambda choose: choose.one(("2m", "60m", "3h")),
    "overlap": lambda choose: choose.one(("allow", "skip", "queue")),
    "retry": lambda choose: choose.one(RETRIES),
    "timeout": lambda choose: choose.one(("2s", "30s", "10m")),
    "expires_in": lambda choose: choose.one(("1s", "30s", "5m")),
    "priority": lambda choose: choose.one((0, 5, 9)),
    "topics": lambda choose: choose.one((["copies"], ["lightsched.deliveries", "copies"], ["nowhere"])),
    "track": lambda _choose: True,
    "labels": lambda _choose: {"team": "blue"},
}
OF_RECURRENCES: dict[str, Callable[[Chooser], object]] = {
    "starts_at": distance,
    "ends_at": distance,
    "max_runs": lambda choose: choose.one((1, 2, 3)),
    "until": lambda _choose: "success",
}
LIKELY = ("overlap", "retry", "timeout", "catch_up", "window", "priority", "expires_in", "overlap", "retry")
NEEDS_REPORTS = ("retry", "timeout", "overlap", "until", "track")


def definition(choose: Chooser) -> dict:
    """An event without its identity."""
    kind = choose.one(("at", "in", "every", "every", "cron"))
    event: dict = {}
    if kind == "at":
        event["at"] = distance(choose)
    elif kind == "in":
        event["in"] = choose.one(("1ms", "1s", "5s", "30s", "5m", "2h"))
    elif kind == "every":
        event["every"] = choose.one(("5s", "10s", "30s", "45s", "1m", "7m", "1h", "1d"))
    else:
        event["cron"] = choose.one(CRONS)
        if choose.chance(2):
            event["timezone"] = choose.one(ZONES)
    possible = OPTIONS | (OF_RECURRENCES if kind in ("every", "cron") else {})
    for name in choose.some((*LIKELY, *possible), 5):
        event[name] = possible[name](choose)
    if not any(name in event for name in NEEDS_REPORTS) and not choose.chance(3):
        event["track"] = choose.chance(2)
    event["payload"] = choose.integer(0, 3)
    return event


def name(choose: Chooser) -> dict:
    """Which event is meant."""
    found = {"id": choose.one(IDS)}
    if choose.chance(2):
        found["key"] = choose.one(KEYS)
    if choose.chance(2):
        found["tenant"] = "acme"
    return found


def absolute(event: dict, now: int) -> dict:
    """What is sent, now."""
    event = dict(event)
    for field in ("at", "starts_at", "ends_at"):
        if field in event:
            event[field] += now
    if isinstance(opens := event.get("window"), tuple):
        begins, length = opens
        event["window"] = {
            "from": _clock(now + begins * MINUTE),
            "to": _clock(now + (begins + length) * MINUTE),
            "timezone": "UTC",
        }
    if "starts_at" in event and "ends_at" in event and event["ends_at"] < event["starts_at"]:
        event["starts_at"], event["ends_at"] = event["ends_at"], event["starts_at"]
    return event


def _clock(at: int) -> str:
    return datetime.fromtimestamp(at // MINUTE * 60, UTC).strftime("%H:%M")


def encoded(value: dict) -> bytes:
    return json.dumps(value).encode()


BAD_COMMANDS: tuple[bytes | None, ...] = (
    None,
    b"",
    b"not json",
    b"[]",
    b'{"id":"a"}',
    b'{"id":"a","at":1780000000000,"every":"1m"}',
    b'{"id":"a","every":"1m","colour":"blue"}',
    b'{"id":"a","every":60}',
    b'{"id":"a","every":"0s"}',
    b'{"id":"a","in":"-5s"}',
    b'{"id":"a","every":"1ms"}',
    b'{"id":"a","cron":"0 0 31 2 *"}',
    b'{"id":"a","cron":"*/0 * * * *"}',
    b'{"id":"a","cron":"0 0 * * *","timezone":"Mars/Olympus"}',
    b'{"id":"a","at":"2026-07-01T09:00:00"}',
    b'{"id":"a","at":"2066-07-01T09:00:00Z"}',
    b'{"id":"a\\u0000b","every":"1m"}',
    b'{"id":"auto:1-2-3","every":"1m"}',
    b'{"id":"a","every":"1m","tenant":"No Such"}',
    b'{"id":"a","every":"1m","priority":10}',
    b'{"id":"a","every":"1m","max_runs":0}',
    b'{"id":"a","at":1780000000000,"until":"success"}',
    b'{"id":"a","every":"1m","retry":{"delays":["1m"]},"track":false}',
    b'{"id":"a","every":"1m","topics":["lightsched.events"]}',
    b'{"id":"a","every":"1m","headers":{"ls_op":"cancel"}}',
    b'{"id":"a","every":"1m","window":{"from":"25:00","to":"26:00"}}',
    b'{"id":"a","op":"explode"}',
    b'{"op":"cancel"}',
    b'{"id":"a","every":"1m","payload":1,"payload_base64":"MQ=="}',
)
BAD_REPORTS: tuple[bytes | None, ...] = (
    None,
    b"not json",
    b'{"delivery":"nonsense","token":"x","status":"SUCCESS"}',
    b'{"delivery":"0:default//a/1/1780000000000#1","token":"x","status":"DONE"}',
    b'{"delivery":"0:default//a/1/1780000000000#1","token":"x","status":"SUCCESS","colour":"blue"}',
    b'{"delivery":"0:default//a/1/1780000000000#1","token":"x","status":"SUCCESS","retry_in":"soon"}',
)
BAD_THEN = (
    {"key": "k", "at": 1780000000000, "every": "1m"},
    {"key": "k", "id": "e", "every": "1m", "colour": "blue"},
    {"key": "k", "id": "e", "cron": "0 0 31 2 *"},
)
