"""A year in seconds: many recurring events, each due of each one against a calendar that shares no code with ours.

1,000 events in `make test`, 10,000 in `make simulate`.
"""

import json
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from croniter import croniter

from lightsched.engine.engine import Engine
from lightsched.engine.rules import Rules
from lightsched.event.identity import parts
from lightsched.event.limits import Limits
from lightsched.event.record import Appended, Record
from tests.simulation.local_time import DAY, MINUTE, Cron
from tests.simulation.memory_view import MemoryView
from tests.simulation.model import Times, definition_of

LONG = int(os.environ.get("LIGHTSCHED_TEST_SIM_EXAMPLES", "0")) >= 1_000
EVENTS = 10_000 if LONG else 1_000
START = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
END = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp() * 1000)
WORK_DAYS = ["mon", "tue", "wed", "thu", "fri"]
ZONES = (
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "America/Sao_Paulo",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Kolkata",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Pacific/Auckland",
)
TIMES_OF_DAY = ("0 0", "30 1", "0 2", "30 2", "59 2", "0 3", "0 9", "15 12", "30 17", "59 23")


def daily(random: Random) -> dict:
    return {"cron": f"{random.choice(TIMES_OF_DAY)} * * *", "timezone": random.choice(ZONES)}


def weekly(random: Random) -> dict:
    day = random.choice(("0", "7", "mon", "sat", "mon,thu"))
    return {"cron": f"{random.choice(TIMES_OF_DAY)} * * {day}", "timezone": random.choice(ZONES)}


def monthly(random: Random) -> dict:
    days = random.choice(("1 * *", "31 * *", "L * *", "* * mon#2", "15 * fri", "29 2 *", "1 */3 *", "* 3,10 sun"))
    return {"cron": f"{random.choice(TIMES_OF_DAY)} {days}", "timezone": random.choice(ZONES)}


def hourly_in_a_window(random: Random) -> dict:
    zone = random.choice(ZONES)
    window = random.choice(
        (
            {"from": "09:00", "to": "12:00", "days": ["mon"]},
            {"from": "22:00", "to": "03:30", "days": ["sat", "sun"]},
            {"from": "01:30", "to": "02:30", "days": ["sun"], "exclude": ["2026-03-29", "2026-10-18"]},
            {"days": ["sun"], "timezone": "America/New_York"},
        )
    )
    return {"cron": random.choice(("0 * * * *", "*/45 * * * *")), "timezone": zone, "window": window}


def every_so_often(random: Random) -> dict:
    return {"every": f"{random.choice((25, 49, 72, 100, 1_000))}h"}


def starting_and_ending(random: Random) -> dict:
    starts = START + random.randrange(0, 300) * DAY + random.randrange(0, 1440) * MINUTE
    bounds = {"starts_at": starts, "ends_at": starts + random.randrange(0, 100) * DAY}
    return random.choice((daily, every_so_often))(random) | bounds


def a_few_times(random: Random) -> dict:
    return random.choice((daily, hourly_in_a_window, every_so_often))(random) | {"max_runs": random.randrange(1, 20)}


def spread(random: Random) -> dict:
    return weekly(random) | {"jitter": random.choice(("10m", "36h"))}


def seconds_too(random: Random) -> dict:
    return {"cron": f"{random.randrange(0, 60)} 30 2 * * {random.randrange(0, 7)}", "timezone": random.choice(ZONES)}


MIX = {
    daily: 5,
    weekly: 25,
    monthly: 22,
    hourly_in_a_window: 3,
    every_so_often: 10,
    starting_and_ending: 15,
    a_few_times: 10,
    spread: 5,
    seconds_too: 5,
}


def test_in_a_year_every_event_fires_when_an_independent_calendar_says(capsys):
    random = Random(2026)
    kinds = random.choices(list(MIX), list(MIX.values()), k=EVENTS)
    events = {f"{kind.__name__}-{number}": kind(random) for number, kind in enumerate(kinds)}
    engine = Engine(Rules(limits=Limits(keep_ms=400 * DAY)))
    view = MemoryView()
    fired: dict[str, list[int]] = {id_: [] for id_ in events}
    appended = 0

    def step(inputs: list[Appended], now: int) -> None:
        done = engine.step(view, inputs, now)
        view.apply(done)
        view.runs.clear()  # history is not what this is about
        for delivery in done.deliveries:
            fired[parts(delivery.identity)[2]].append(delivery.due_ms)

    ids = list(events)
    for first in range(0, len(ids), 500):
        inputs = []
        for id_ in ids[first : first + 500]:
            value = json.dumps(events[id_] | {"id": id_}).encode()
            inputs.append(Appended("lightsched.events", 0, appended, START, Record(None, value)))
            appended += 1
        step(inputs, START)
    now = START
    while now < END:
        step([], now)
        now = max(view.next_due_ms() or END, now)

    wrong = []
    for id_, event in events.items():
        times = Times(f"default\0{id_}\0{id_}", definition_of(event, START), START)
        expected = times.between(0, END)[: event.get("max_runs")]
        if fired[id_] != expected:
            wrong.append((id_, event, sorted(set(fired[id_]) ^ set(expected))[:3]))
    with capsys.disabled():
        print(f"\n{EVENTS} events fired {sum(map(len, fired.values()))} times in a year", end=" ")
    kinds_of_wrong = Counter(id_.split("-")[0] for id_, *_ in wrong)
    assert not wrong, f"{len(wrong)} events, {kinds_of_wrong}, among them: " + "\n".join(map(str, wrong[:5]))


@pytest.mark.parametrize("kind", [daily, weekly, monthly, seconds_too])
def test_the_calendar_of_the_model_agrees_with_croniter_where_clocks_never_change(kind):
    random = Random(kind.__name__)
    for _ in range(15):
        cron = kind(random)["cron"]
        if "15 * fri" in cron:
            continue  # croniter needs to be told about the days
        before = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(seconds=1)
        theirs = croniter(cron.replace(" L ", " l "), before, second_at_beginning=len(cron.split()) == 6)
        expected = []
        while (at := theirs.get_next(datetime)) < datetime(2027, 1, 1, tzinfo=UTC):
            expected.append(int(at.timestamp() * 1000))
        assert Cron(cron, "UTC").between(START, END) == expected, cron
