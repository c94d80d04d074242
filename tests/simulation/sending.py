"""What is sent in a simulation: few identities, so that commands meet, and every option of the contract.

Times are drawn as distances from now and made absolute when they are sent.
"""

import json
from datetime import UTC, datetime

from hypothesis import strategies as st

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
WORK_DAYS = ["mon", "tue", "wed", "thu", "fri"]

IDS = ("a", "b", "c")
KEYS = ("k", "l")
TENANTS = ("default", "acme")
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

soon = st.sampled_from((0, 1, 500, SECOND, 5 * SECOND, 30 * SECOND, MINUTE))
distances = st.one_of(
    soon,
    soon,
    st.sampled_from((-1, -30 * SECOND, -90 * SECOND, 5 * MINUTE, -2 * HOUR, 3 * HOUR)),
    st.integers(-2 * MINUTE, 10 * MINUTE),
    st.sampled_from((2 * DAY, -8 * DAY, 20 * DAY, -DAY)),
)
crons = st.sampled_from(
    (
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
)
windows = st.one_of(
    st.sampled_from(
        (
            {"from": "09:00", "to": "17:00"},
            {"from": "22:00", "to": "06:00"},
            {"days": WORK_DAYS},
            {"from": "09:00", "to": "17:00", "days": WORK_DAYS, "timezone": "America/New_York"},
            {"from": "02:30", "to": "03:30", "timezone": "Europe/Paris"},
            {"from": "23:00", "to": "01:30", "exclude": ["2026-03-29", "2026-12-31"]},
        )
    ),
    st.tuples(st.integers(-30, 30), st.sampled_from((1, 2, 10, 60))),  # minutes: from in …, open for …
)
RETRIES = (
    {"delays": ["1s", "10s"]},
    {"delays": ["30s"]},
    {"delays": ["2m", "4m", "16m"]},
    {"attempts": 3, "delay": "5s", "factor": 2, "max": "8s", "jitter": 0},
    {"attempts": 1, "delay": "5s", "factor": 2, "max": "8s", "jitter": 0},
)
options = {
    "timezone": st.sampled_from(ZONES),
    "jitter": st.sampled_from(("1s", "10m")),
    "window": windows,
    "catch_up": st.sampled_from(("latest", "all", "none")),
    "look_back": st.sampled_from(("2m", "60m", "3h")),
    "overlap": st.sampled_from(("allow", "skip", "queue")),
    "retry": st.sampled_from(RETRIES),
    "timeout": st.sampled_from(("2s", "30s", "10m")),
    "expires_in": st.sampled_from(("1s", "30s", "5m")),
    "priority": st.sampled_from((0, 5, 9)),
    "topics": st.sampled_from((["copies"], ["lightsched.deliveries", "copies"])),
    "track": st.just(True),
    "labels": st.just({"team": "blue"}),
}
of_recurrences = {
    "starts_at": distances,
    "ends_at": distances,
    "max_runs": st.sampled_from((1, 2, 3)),
    "until": st.just("success"),
}


LIKELY = ("overlap", "retry", "timeout", "catch_up", "window", "priority", "expires_in", "max_runs", "overlap", "retry")


@st.composite
def definitions(draw) -> dict:
    """An event without its identity."""
    kind = draw(st.sampled_from(("at", "in", "every", "every", "cron")))
    event: dict = {
        "at": lambda: {"at": draw(distances)},
        "in": lambda: {"in": draw(st.sampled_from(("1ms", "1s", "5s", "30s", "5m", "2h")))},
        "every": lambda: {"every": draw(st.sampled_from(("5s", "10s", "30s", "45s", "1m", "7m", "1h", "1d")))},
        "cron": lambda: {"cron": draw(crons)},
    }[kind]()
    possible = options | (of_recurrences if kind in ("every", "cron") else {})
    if kind == "cron" and draw(st.booleans()):
        event["timezone"] = draw(options["timezone"])
    likely = [name for name in LIKELY if name in possible]
    for name in draw(st.lists(st.sampled_from((*likely, *sorted(possible))), max_size=5, unique=True)):
        event[name] = draw(possible[name])
    if not any(name in event for name in ("retry", "timeout", "overlap", "until", "track")):
        track = draw(st.sampled_from((None, False, True, True)))
        if track is not None:
            event["track"] = track
    event["payload"] = draw(st.integers(0, 3))
    return event


@st.composite
def names(draw) -> dict:
    """Which event is meant."""
    name = {"id": draw(st.sampled_from(IDS))}
    if draw(st.booleans()):
        name["key"] = draw(st.sampled_from(KEYS))
    if draw(st.integers(0, 2)) == 0:
        name["tenant"] = "acme"
    return name


def absolute(event: dict, now: int) -> dict:
    """What is sent, now."""
    event = dict(event)
    for name in ("at", "starts_at", "ends_at"):
        if name in event:
            event[name] += now
    if isinstance(window := event.get("window"), tuple):
        begins, length = window
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
