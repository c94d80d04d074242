"""Does the engine use the whole table of the status machine, and nothing beside it?"""

import random

import pytest

from lightsched.engine import draft
from lightsched.event import status
from lightsched.event.status import TRANSITIONS
from tests.unit.engine.scheduler import Scheduler
from tests.unit.engine.situations import SITUATIONS, in_situation


class Noted(dict):
    """A table that notes which of its entries are looked up."""

    def __init__(self, table):
        super().__init__(table)
        self.seen = set()

    def __getitem__(self, key):
        self.seen.add(key)
        return super().__getitem__(key)


@pytest.fixture
def table(monkeypatch):
    noted = Noted(TRANSITIONS)
    monkeypatch.setattr(draft, "TRANSITIONS", noted)
    monkeypatch.setattr(status, "TRANSITIONS", noted)
    return noted


def test_every_entry_of_the_table_is_used_and_none_is_missing(table):
    """A missing one would be a KeyError here."""
    for name in SITUATIONS:
        for op in ("cancel", "pause", "resume", "trigger", "schedule"):
            scheduler, _ = in_situation(name)
            scheduler.post({"op": op, "id": "e"} | ({"in": "1m"} if op == "schedule" else {}))
            scheduler.advance("1d")
    for spoken in ([], ["CLAIMED"], ["PROCESSING"]):
        for end in ("PROCESSING", "SUCCESS", "RETRIABLE_FAILURE", "FATAL_FAILURE"):
            scheduler, _ = in_situation("once_out")
            for word in (*spoken, end):
                scheduler.report(word)
    under_a_pause(scheduler := Scheduler(), "SUCCESS")
    under_a_pause(scheduler, "FATAL_FAILURE")
    retry_expires()
    retry_cannot_be_delivered()
    replaced_by_something_old_while_paused()
    assert table.seen == set(TRANSITIONS)


def under_a_pause(scheduler, end):
    scheduler.post({"id": end, "every": "1h", "max_runs": 1, "track": True})
    scheduler.advance("1h").pause(end)
    scheduler.report(end)


def retry_expires():
    scheduler = Scheduler()
    scheduler.post({"id": "e", "in": "1h", "retry": {"delays": ["1h"]}, "expires_in": "10m"})
    scheduler.advance("1h").report("RETRIABLE_FAILURE")
    scheduler.advance("1h")


def retry_cannot_be_delivered():
    scheduler = Scheduler(refuse=lambda delivery: "no" if delivery.attempt > 1 else "")
    scheduler.post({"id": "e", "in": "1h", "retry": {"delays": ["1h"]}})
    scheduler.advance("1h").report("RETRIABLE_FAILURE")
    scheduler.advance("1h")


def replaced_by_something_old_while_paused():
    scheduler, _ = in_situation("once_paused")
    scheduler.post({"id": "e", "at": "2020-01-01T00:00:00Z"})


@pytest.mark.parametrize("seed", range(20))
def test_a_random_life_needs_no_other_entry(seed):
    """Whatever is asked and reported, in any order: a change that is not in the table would be a KeyError."""
    chance = random.Random(seed)
    scheduler = Scheduler(in_flight=2, keep="1h", active_runs=4, refuse=lambda d: "no" if d.due_ms % 11 == 0 else "")
    for _ in range(150):
        what = chance.randrange(4)
        if what == 0:
            scheduler.post(random_event(chance))
        elif what == 1:
            scheduler.post({"op": chance.choice(["cancel", "pause", "resume", "trigger"]), "id": chance.choice("ab")})
        elif what == 2 and scheduler.deliveries:
            word = chance.choice(["CLAIMED", "PROCESSING", "SUCCESS", "RETRIABLE_FAILURE", "FATAL_FAILURE"])
            scheduler.report(word, chance.choice(scheduler.deliveries[-4:]))
        elif chance.random() < 0.5:
            scheduler.advance(f"{chance.randint(1, 1200)}s")
        else:
            scheduler.sleep(f"{chance.randint(1, 5000)}s")


def random_event(chance):
    event = {"id": chance.choice("ab")}
    repeats = chance.random() < 0.6
    event |= chance.choice([{"every": "5m"}, {"cron": "*/7 * * * *"}] if repeats else [{"in": "3m"}, {"in": "1s"}])
    options = [
        {"retry": {"delays": ["1m", "2m"]}},
        {"retry": {"attempts": 3, "delay": "10s"}},
        {"timeout": "2m"},
        {"overlap": chance.choice(["skip", "queue", "allow"])},
        {"expires_in": "90s"},
        {"window": {"from": "10:00", "to": "13:00"}},
        {"jitter": "1m"},
        {"catch_up": chance.choice(["all", "none"])},
    ]
    if repeats:
        options += [{"until": "success"}, {"max_runs": 3}, {"ends_at": "2026-03-02T13:00:00Z"}]
    for option in chance.sample(options, 3):
        event |= option
    return event
