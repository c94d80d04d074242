"""What should lightsched do? A naive model of one partition, written from CONTRACT.md and docs/semantics.md alone.

It shares no code with `lightsched.timing` or `lightsched.engine`; the one thing it takes from there is the offset of an
event's jitter, which is a hash and cannot be guessed. Everything is a list or a dict and every question is a linear
scan. It is driven by the same steps as the real thing: the inputs that were read, `now`, and whether anything may fire.
"""

import copy
import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from lightsched.timing import offset as jitter_offset
from tests.simulation.local_time import DAY, LAST, Cron, Window, instant, milliseconds

LATE = 60_000
NOWHERE = "nowhere"
"""A topic that cannot be delivered to."""
OVER = ("SUCCESS", "FATAL_FAILURE", "CANCELLED", "EXPIRED")
NOT_DEFINITION = ("op", "id", "key", "tenant", "on_conflict", "reason")
DEFAULTS = {
    "type": "event",
    "catch_up": "latest",
    "look_back": "60m",
    "topics": [],
    "priority": 5,
    "headers": {},
    "labels": {},
}


class Times:
    """All fire times of a definition whose revision was appended then."""

    def __init__(self, identity: str, definition: dict, appended: int) -> None:
        self.definition = definition
        self.appended = appended
        self.zone = definition.get("timezone")
        self.window = None if "window" not in definition else Window(definition["window"], self.zone)
        self.jitter = 0 if "jitter" not in definition else jitter_offset(identity, milliseconds(definition["jitter"]))
        self.ends = instant(definition["ends_at"]) if "ends_at" in definition else LAST
        self._known: list[int] = []
        self._rest = self._fire_times()

    def __deepcopy__(self, _memo: dict) -> "Times":
        return self  # the times of a revision never change

    def _nominal(self) -> Iterator[int]:
        definition = self.definition
        starts = instant(definition["starts_at"]) if "starts_at" in definition else None
        if "at" in definition:
            yield instant(definition["at"])
        elif "every" in definition:
            pace = milliseconds(definition["every"])
            at = self.appended + pace if starts is None else starts
            while at < LAST - DAY:
                yield at
                at += pace
        else:
            first = self.appended + 1 if starts is None else starts
            for begin, end in _chunks(first, LAST - DAY):
                yield from _cron_times(definition["cron"], self.zone or "UTC", begin, end)

    def _fire_times(self) -> Iterator[int]:
        last = None
        for nominal in self._nominal():
            at = nominal + self.jitter
            if self.window is not None:
                at = self.window.moved(at)
                if at is None:
                    return
            if at > self.ends:
                return
            if at != last:
                yield at
            last = at

    def _know(self, until: int) -> list[int]:
        while not self._known or self._known[-1] <= until:
            at = next(self._rest, None)
            if at is None:
                break
            self._known.append(at)
        return self._known

    def first(self) -> int | None:
        return next(iter(self._know(-1)), None)

    def after(self, at: int) -> int | None:
        known = self._know(at)
        index = bisect_right(known, at)
        return known[index] if index < len(known) else None

    def between(self, first: int, last: int) -> list[int]:
        """From `first` on until before `last`."""
        known = self._know(last)
        return known[bisect_left(known, first) : bisect_left(known, last)]


def _chunks(first: int, last: int) -> Iterator[tuple[int, int]]:
    size = DAY
    while first < last:
        yield first, min(first + size, last)
        first, size = first + size, size * 4


@lru_cache(maxsize=2_000)
def _cron_times(text: str, zone: str, first: int, last: int) -> list[int]:
    return Cron(text, zone).between(first, last)


@dataclass(slots=True, eq=False)
class Run:
    due: int
    revision: int
    seq: int
    phase: str  # out, retry, waiting, queued
    at: int  # out: its deadline; retry: its next attempt; otherwise when it was to start
    expires: int
    status: str = "NOT_STARTED"
    attempt: int = 0
    timeout: int = 0
    ran_out: bool = False  # the last attempt ended by its lease
    triggered: bool = False  # under a pause that does not hold it
    hurried: bool = False  # a one-shot that was due and then triggered


@dataclass(slots=True, eq=False)
class Event:
    identity: str
    definition: dict
    revision: int
    created: int
    appended: int
    seq: int
    times: Times
    due: int | None = None
    paused: bool = False
    over: str | None = None
    runs: list[Run] = field(default_factory=list)
    fired: int = 0
    failures: int = 0
    counted: int = 0
    last: int | None = None
    dues: set[int] = field(default_factory=set)  # of all runs of this revision so far
    last_status: str | None = None  # of the last run of this revision that ended
    forget: int | None = None

    @property
    def tenant(self) -> str:
        return self.identity.split("\0")[0]

    @property
    def key(self) -> str:
        return self.identity.split("\0")[1]

    @property
    def priority(self) -> int:
        return self.definition.get("priority", 5)

    @property
    def repeats(self) -> bool:
        return "at" not in self.definition

    @property
    def tracked(self) -> bool:
        needs = any(name in self.definition for name in ("retry", "timeout", "overlap", "until"))
        return self.definition.get("track", needs)

    @property
    def overlap(self) -> str:
        return self.definition.get("overlap", "allow")

    @property
    def out(self) -> bool:
        """The present revision is out at an executor."""
        return any(run.phase == "out" and run.revision == self.revision for run in self.runs)

    def shown(self) -> str:
        if self.over:
            return self.over
        if self.paused:
            return "PAUSED"
        for run in reversed(self.runs):
            if run.revision == self.revision and run.attempt > 0:
                return run.status
        return "NOT_STARTED"

    def next(self) -> int | None:
        if self.paused or self.over:
            return None
        times = [run.at for run in self.runs if run.phase == "retry"]
        return min([*times, self.due] if self.due is not None else times, default=None)


@dataclass(slots=True)
class Delivered:
    identity: str
    revision: int
    due: int
    attempt: int
    payload: bytes
    topics: list[str]


@dataclass(slots=True)
class Settings:
    partitions: int
    keep: int
    active_runs: int
    step_fires: int
    step_bytes: int
    in_flight: dict[str, int]
    home: Callable[[str, str], int]  # tenant, key → partition


class Partition:
    """What one partition should know and do."""

    def __init__(self, number: int, settings: Settings) -> None:
        self.number = number
        self.settings = settings
        self.events: dict[str, Event] = {}
        self.history: dict[tuple[str, int, int], dict] = {}  # identity, due, revision → how it ended
        self.totals = dict.fromkeys(("accepted", "fired", "cancelled", "expired", "dead", "pending"), 0)
        self.delivered: list[Delivered] = []  # in this step
        self.answers: list[dict] = []  # in this step
        self.follows: list[dict] = []  # in this step
        self.outcomes: list[tuple[str, str, int]] = []  # in this step: identity, outcome, revision
        self.dead_letters: list[object] = []  # in this step
        self.seen: Counter = Counter()
        self.seq = 0
        self.now = self.latest = self.read_until = self.heard_until = self.bytes = 0

    def fork(self) -> "Partition":
        """A copy that goes its own way."""
        settings, self.settings = self.settings, None
        try:
            other = copy.deepcopy(self)
        finally:
            self.settings = settings
        other.settings = settings
        return other

    def note(self, what: str) -> None:
        self.seen[what] += 1

    def _next_seq(self) -> int:
        self.seq += 1
        return self.seq

    # a step

    def step(self, inputs: list[dict], now: int, *, firing: bool, read_until: int, heard_until: int) -> None:
        """Inputs, then leases, then waiting runs, then what is due. Until when all commands and reports are read."""
        self.now, self.latest = now, max(self.latest, now)
        self.read_until, self.heard_until = read_until, heard_until
        self.delivered, self.answers, self.follows, self.dead_letters, self.outcomes = [], [], [], [], []
        due, waiting, deadlines = self._due_entries(), self._waiting(), self._deadlines()
        self.bytes = 0
        for item in inputs:
            if item["topic"] == "reports":
                self._report(item)
            else:
                self._command(item)
        if firing:
            self._run_out(deadlines)
            self._release(waiting)
            self._fire_due(due)

    # commands

    def _command(self, item: dict) -> None:
        command = item["value"]
        if command is None or item["bad"]:
            self._refuse(item)
            return
        tenant = command.get("tenant", "default")
        identity = f"{tenant}\0{command['key']}\0{command['id']}"
        home = self.settings.home(tenant, command["key"])
        if home != self.number:
            if "in" in command:  # resolved when it was first appended
                command = {name: value for name, value in command.items() if name != "in"} | {
                    "at": item["timestamp"] + milliseconds(command["in"])
                }
            self.follows.append({"topic": "events", "partition": home, "value": command, "then": False})
            self._answer(item, "FORWARDED", None)
            self.outcomes.append((identity, "FORWARDED", 0))
            return
        event = self.events.get(identity)
        op = command.get("op", "schedule")
        outcome = getattr(self, f"_{op}")(identity, event, command, item["timestamp"])
        self.outcomes.append((identity, outcome, self.events[identity].revision if identity in self.events else 0))
        self._answer(item, outcome, self.events.get(identity))

    def _refuse(self, item: dict) -> None:
        self.dead_letters.append(item["raw"])
        self.outcomes.append(("\0\0", "INVALID", 0))
        self._answer(item, "INVALID", None)

    def _answer(self, item: dict, outcome: str | None, event: Event | None, ignored: str = "") -> None:
        self.note(f"outcome {outcome}" if outcome else f"report {ignored or 'accepted'}")
        self.answers.append(
            {
                "topic": item["topic"],
                "offset": item["offset"],
                "outcome": outcome,
                "ignored": ignored,
                "status": event.shown() if event and outcome else None,
                "next": event.next() if event and outcome else None,
                "revision": event.revision if event and outcome else 0,
            }
        )

    def _schedule(self, identity: str, old: Event | None, command: dict, appended: int) -> str:
        definition = definition_of(command, appended)
        if old is None or old.over == "CANCELLED":
            outcome = "SCHEDULED"
        elif old.definition == definition:
            return "UNCHANGED"
        elif command.get("on_conflict") == "keep":
            self.note("conflict kept")
            return "UNCHANGED"
        elif command.get("on_conflict") == "reject":
            return "REJECTED"
        else:
            outcome = "REPLACED"
        event = Event(
            identity=identity,
            definition=definition,
            revision=1,
            created=appended,
            appended=appended,
            seq=self._next_seq(),
            times=Times(identity, definition, appended),
        )
        if old is not None:
            if outcome == "REPLACED":
                self.note(f"replaced while {old.shown()}")
            event.revision = old.revision + 1
            event.created = old.created
            event.paused = old.paused and not old.over
            event.fired, event.failures, event.last = old.fired, old.failures, old.last
            self._drop_waiting(old)
            event.runs = old.runs
        if old is None or old.over:
            self.totals["accepted"] += 1
            self.totals["pending"] += 1
        self.events[identity] = event
        event.due = event.times.first()
        if outcome == "REPLACED" and event.repeats:
            self._replace(event, old.due)
        if event.due is None:
            self.note("a recurrence without fire times")
            self._end(event, "EXPIRED")
        elif not event.repeats and event.due <= appended - self.settings.keep:
            self.note("expired on arrival")
            self._end(event, "EXPIRED")
        return outcome

    def _replace(self, event: Event, pending: int | None) -> None:
        """What the old revision was done with is not done again; what it still had to run is, if the new one has it."""
        if "starts_at" in event.definition:
            done = event.appended if pending is None else min(event.appended, pending - 1)
            event.due = event.times.after(done)
        elif "cron" in event.definition and pending is not None and (event.due is None or pending < event.due):
            since = Times(event.identity, event.definition, event.created)
            if since.between(pending, pending + 1):
                self.note("a replacement keeps what was pending")
                event.times, event.due = since, pending

    def _cancel(self, identity: str, event: Event | None, command: dict, appended: int) -> str:
        if event is None:
            return "NOT_FOUND"
        if event.over == "CANCELLED":
            return "CANCELLED"
        if event.over or (not event.repeats and event.out):
            return "TOO_LATE"
        self.note(f"cancelled while {event.shown()}")
        self._end(event, "CANCELLED")
        return "CANCELLED"

    def _pause(self, identity: str, event: Event | None, command: dict, appended: int) -> str:
        if event is None:
            return "NOT_FOUND"
        if event.over:
            return "TOO_LATE"
        if event.paused:
            return "PAUSED"
        if not event.repeats and event.out:
            return "TOO_LATE"
        event.paused = True
        for run in event.runs:
            run.triggered = False
            if run.phase == "waiting":  # it gives up its place; the queue goes on with the resume
                self.note("paused while it waits for a slot")
                run.phase = "queued"
        return "PAUSED"

    def _resume(self, identity: str, event: Event | None, command: dict, appended: int) -> str:
        if event is None:
            return "NOT_FOUND"
        if event.over:
            return "TOO_LATE"
        if not event.paused:
            return "RESUMED"
        event.paused = False
        if event.repeats and event.due is not None and event.due <= self.now:
            missed = self._missed(event, self.now + 1)
            self._catch_up(event, missed, "pause")
        self._go_on(event)
        return "RESUMED"

    def _trigger(self, identity: str, event: Event | None, command: dict, appended: int) -> str:
        if event is None:
            return "NOT_FOUND"
        if event.over or (not event.repeats and event.out):
            return "TOO_LATE"
        if event.repeats and event.overlap == "skip" and event.runs:
            return "TOO_LATE"
        if event.repeats:
            self.note(f"triggered a recurrence, paused {event.paused}")
            if len(event.runs) >= self.settings.active_runs:
                return "QUOTA"
            due = self.now
            if due < self.latest - self.settings.keep:  # the clock was put back so far that history is of no help
                due = max([due, *(at + 1 for at in event.dues)])
            while self._taken(event, due):
                due += 1
            self._new_run(event, due).triggered = True
            return "TRIGGERED"
        self.note(f"triggered a one-shot, paused {event.paused}")
        event.paused = False
        if event.due is not None:
            event.due = self.now
        for run in event.runs:
            if run.phase != "out":
                run.at, run.hurried = self.now, True
        self._go_on(event)
        return "TRIGGERED"

    @staticmethod
    def _taken(event: Event, at: int) -> bool:
        """Is, was or will another run of it be due then?"""
        return at in event.dues or at == event.due or event.times.between(at, at + 1) == [at]

    # firing

    def _due_entries(self) -> list[tuple]:
        """What is due, in order: priority, due, arrival. An occurrence has no run yet."""
        entries = []
        for event in self.events.values():
            if event.over:
                continue
            if event.due is not None and event.due <= self.now and not event.paused:
                entries.append((event.priority, event.due, event.seq, event.identity, None))
            entries += [
                (event.priority, run.at, run.seq, event.identity, run)
                for run in event.runs
                if run.phase == "retry" and run.at <= self.now and (not event.paused or run.triggered)
            ]
        return sorted(entries, key=lambda entry: entry[:3])

    def next_due(self) -> int | None:
        """When there is something to do next."""
        times = []
        for event in self.events.values():
            if event.due is not None and not event.paused:
                times.append(event.due)
            if event.forget is not None:
                times.append(event.forget)
            for run in event.runs:
                if run.phase == "out" or (run.phase == "retry" and (run.triggered or not event.paused)):
                    times.append(run.at)
                elif run.phase != "retry" and run.expires:
                    times.append(run.expires)
        return min(times, default=None)

    def _fire_due(self, before: list[tuple]) -> None:
        """A step takes so many entries: what was due before it, or because of it. What it has made void counts."""
        most = self.settings.step_fires
        places = [entry[:4] for entry in before]
        fresh = [entry for entry in self._due_entries() if entry[:4] not in places]
        for _, due, seq, identity, run in sorted([*before[:most], *fresh], key=lambda entry: entry[:3])[:most]:
            if self.bytes >= self.settings.step_bytes:
                self.note("as many bytes as a step may deliver")
                return
            event = self.events.get(identity)
            if event is None or event.over or (event.paused and not (run and run.triggered)):
                continue
            if run is None:
                if event.due == due and event.seq == seq:
                    self._fire(event)
            elif run in event.runs and run.phase == "retry" and run.at == due:
                self._start(event, run)

    def _fire(self, event: Event) -> None:
        """An event is due: rules 1 to 8."""
        now = self.now
        if event.repeats and event.due < now - LATE:
            missed = self._missed(event, now - LATE)
            self._catch_up(event, missed, "late")
        window = event.times.window
        while event.due is not None and event.due < now - LATE and window is not None and not window.open(now):
            opening = window.moved(now)
            expires = event.due + milliseconds(event.definition.get("expires_in", "99999d"))
            if opening is not None and expires <= opening:
                self.note("late and outside the window: will have expired")
                break
            while opening in event.dues:
                opening += 1
            if opening is not None and opening <= event.times.ends:
                self.note("late and outside the window: moved")
                event.due = opening
            else:
                self.note("late and outside the window: missed beyond the end")
                event.due = event.times.after(now - LATE - 1) if event.repeats else None
        if event.due is None:
            self._end_if_done(event)
            return
        if event.due > now:
            return
        due = event.due
        following = event.times.after(due) if event.repeats else None
        if event.repeats and event.overlap == "skip" and event.runs:
            self.note("overlap skip: skipped")
            event.due = following
            self._end_if_done(event)
            return
        if event.repeats and len(event.runs) >= self.settings.active_runs:
            self.note("too many runs: skipped")
            event.due = following
            self._end_if_done(event)
            return
        event.counted += 1
        most = event.definition.get("max_runs")
        event.due = None if most is not None and event.counted >= most else following
        if most is not None and event.counted >= most:
            self.note("max_runs reached")
        run = self._new_run(event, due)
        self._start(event, run)

    @staticmethod
    def _missed(event: Event, before: int) -> list[int]:
        """The due, which may have been moved to an opening, and the fire times after it."""
        return [event.due, *event.times.between(event.due + 1, before)]

    def _catch_up(self, event: Event, missed: list[int], why: str) -> None:
        """Of the missed fire times some still fire: the due becomes the first of them."""
        policy = event.definition.get("catch_up", "latest")
        look_back = milliseconds(event.definition.get("look_back", "60m"))
        oldest = self.now - min(look_back, self.settings.keep - 1)
        if policy == "none":
            chosen = []
        elif policy == "latest":
            chosen = [at for at in missed[-1:] if at >= oldest]
        else:
            chosen = [at for at in missed if at >= oldest]
        self.note(f"catch_up {policy} after {why}: {'some' if chosen else 'none'}")
        event.due = chosen[0] if chosen else event.times.after(missed[-1])
        if why == "pause":
            self._end_if_done(event)

    def _new_run(self, event: Event, due: int) -> Run:
        assert due not in event.dues, "two runs with one identity"
        expires = due + milliseconds(event.definition["expires_in"]) if "expires_in" in event.definition else 0
        run = Run(due, event.revision, self._next_seq(), "retry", due, expires)
        event.runs.append(run)
        event.dues.add(due)
        return run

    def _start(self, event: Event, run: Run) -> None:
        """Rules 5 to 8."""
        now = self.now
        window = event.times.window
        if run.at > now:
            self.note("its time is ahead again, the clock was put back")
            run.phase = "retry"
            return
        if run.expires and now >= run.expires:
            self._finish(event, run, "EXPIRED")
            return
        if now - run.at > LATE and window is not None and not window.open(now):
            self.note("waited until the window was closed")
            run.phase, run.at = "retry", window.moved(now)
            return
        if event.overlap == "queue" and event.runs[0] is not run:
            self.note("overlap queue: queued")
            run.phase = "queued"
            return
        if event.tracked and not self._slot_free(event.tenant):
            self.note("waits for a slot")
            run.phase = "waiting"
            return
        self._deliver(event, run)

    def _deliver(self, event: Event, run: Run) -> None:
        if run.due > self.now:  # only when the clock was put back, and only what was out before, or is wanted at once
            assert run.attempt or run.hurried, "early"
        topics = event.definition.get("topics") or ["lightsched.deliveries"]
        payload = payload_of(event.definition)
        self.bytes += (len(payload) + 600) * len(topics)
        if NOWHERE in topics:
            self.note("undeliverable")
            self.dead_letters.append(payload)
            self._finish(event, run, "FATAL_FAILURE", dead=True)
            return
        run.attempt += 1
        run.status = "NOT_STARTED"
        run.ran_out = run.triggered = False
        event.last = self.now
        if run.attempt == 1:
            event.fired += 1
        self.note(f"delivered, overlap {event.overlap}, attempt {'first' if run.attempt == 1 else 'later'}")
        self.delivered.append(Delivered(event.identity, run.revision, run.due, run.attempt, payload, topics))
        if event.tracked:
            run.phase = "out"
            run.timeout = milliseconds(event.definition.get("timeout", "5m"))
            run.at = self.now + run.timeout
        else:
            self._finish(event, run, "SUCCESS")

    def _slot_free(self, tenant: str) -> bool:
        most = self.settings.in_flight.get(tenant)
        if most is None:
            return True
        events = (event for event in self.events.values() if event.runs and event.tenant == tenant)
        return sum(run.phase == "out" for event in events for run in event.runs) < most

    def _waiting(self) -> list[tuple]:
        """Runs that wait for a slot, in order of priority, due and arrival."""
        waiting = [
            (event.tenant, event.priority, run.due, run.seq, event.identity, run)
            for event in self.events.values()
            for run in event.runs
            if run.phase == "waiting"
        ]
        return sorted(waiting, key=lambda entry: entry[:4])

    def _release(self, before: list[tuple]) -> None:
        """They go while there are slots. A step takes so many of a tenant; what it has made void counts."""
        taken: Counter = Counter()
        for tenant, _, _, _, identity, run in before:
            event = self.events.get(identity)
            if self.bytes >= self.settings.step_bytes:
                return
            if taken[tenant] < self.settings.step_fires and self._slot_free(tenant):
                taken[tenant] += 1
                if event and run in event.runs and run.phase == "waiting":
                    self.note("got a slot")
                    self._start(event, run)

    def _go_on(self, event: Event) -> None:
        """The queue goes on: its first when nothing is before it, all of them where runs may overlap."""
        for run in event.runs if event.overlap != "queue" else event.runs[:1]:
            if run.phase == "queued" and not event.over and (run.triggered or not event.paused):
                run.phase = "retry"

    # leases and reports

    def _deadlines(self) -> list[tuple]:
        """Leases, expiries of what waits and times to forget that have passed, in order."""
        found = []
        for event in self.events.values():
            for run in event.runs:
                if run.phase == "out":
                    found.append((run.at, run.seq, 0, event.identity))
                elif run.phase in ("waiting", "queued") and run.expires:
                    found.append((run.expires, run.seq, 1, event.identity))
            if event.forget is not None:
                found.append((event.forget, event.seq, 2, event.identity))
        return sorted(entry for entry in found if entry[0] <= self.now)

    def _run_out(self, before: list[tuple]) -> None:
        """All that has passed, event by event."""
        for identity in dict.fromkeys(entry[3] for entry in before):
            event = self.events.get(identity)
            if event is None:
                continue
            if event.forget is not None and event.forget > self.read_until:
                self.note("not forgotten while commands may be on their way")
                continue
            if event.forget is not None and event.forget <= self.now:
                self.note("forgotten")
                del self.events[identity]
                for name in [name for name in self.history if name[0] == identity]:
                    del self.history[name]
                continue
            for run in list(event.runs):
                if run not in event.runs:
                    continue
                if run.phase == "out" and run.at <= self.now and run.at > self.heard_until:
                    self.note("not timed out while reports may be on their way")
                elif run.phase == "out" and run.at <= self.now:
                    self.note("lease ran out")
                    run.ran_out = True
                    self._fail(event, run, None, "")
                elif run.phase in ("waiting", "queued") and run.expires and run.expires <= self.now:
                    self.note("expired while waiting")
                    self._finish(event, run, "EXPIRED")

    def _report(self, item: dict) -> None:
        report = item["value"]
        if report is None or item["bad"]:
            self._refuse(item)
            return
        if report["partition"] != self.number:
            self.note("report forwarded")
            self.follows.append({"topic": "reports", "partition": report["partition"], "value": item["sent"]})
            self._answer(item, "FORWARDED", None)
            return
        ignored = self._why_ignored(report)
        if not ignored:
            self._accept(report)
        self._answer(item, None, None, ignored)

    def _why_ignored(self, report: dict) -> str:
        if not report["genuine"]:
            return "forbidden"
        event = self.events.get(report["identity"])
        if event is None:
            return "unknown"
        run = self._run_of(event, report)
        if run is None:
            return "finished"
        if run.attempt != report["attempt"]:
            return "stale"
        if run.phase != "out":
            return "late" if run.ran_out else "repeated"
        if report["status"] == "CLAIMED" and run.status != "NOT_STARTED":
            return "repeated"
        return ""

    @staticmethod
    def _run_of(event: Event, report: dict) -> Run | None:
        for run in event.runs:
            if run.due == report["due"] and run.revision == report["revision"]:
                return run
        return None

    def _accept(self, report: dict) -> None:
        event = self.events[report["identity"]]
        run = self._run_of(event, report)
        status = report["status"]
        self.note(f"reported {status}")
        if status in ("CLAIMED", "PROCESSING"):
            run.status = status
            run.at = self.now + run.timeout
        elif status == "RETRIABLE_FAILURE":
            self._fail(event, run, report["retry_in"], report["result"])
        else:
            self._finish(event, run, status, report["result"])
        for index, then in enumerate(report["then"]):
            if then["bad"]:
                self.note("a bad then")
                self.dead_letters.append(then["raw"])
                continue
            self.note("then")
            home = self.settings.home(event.tenant, then["event"]["key"])
            value = then["event"] | {"tenant": event.tenant}
            self.bytes += len(then["raw"])
            run_of = report["identity"], report["revision"], report["due"], report["attempt"]
            origin = (*run_of, index, then["raw"])
            self.follows.append({"topic": "events", "partition": home, "value": value, "then": True, "of": origin})

    def _fail(self, event: Event, run: Run, retry_in: str | None, result: object) -> None:
        delays = delays_of(event.definition.get("retry"))
        if event.over or run.revision != event.revision or run.attempt > len(delays):
            if event.over or run.revision != event.revision:
                self.note("not retried: over or replaced")
            self._finish(event, run, "FATAL_FAILURE", result)
            return
        delay = milliseconds(retry_in) if retry_in else delays[run.attempt - 1]
        at = self.now + delay
        if event.times.window is not None and event.times.window.moved(at) != at:
            self.note("retry moved into the window")
            at = event.times.window.moved(at)
        run.phase, run.at, run.status = "retry", at, "RETRIABLE_FAILURE"

    # the end

    def _finish(self, event: Event, run: Run, status: str, result: object = "", *, dead: bool = False) -> None:
        event.runs.remove(run)
        self.note(f"run {status}")
        self.history[event.identity, run.due, run.revision] = {
            "status": status,
            "finished": self.now,
            "attempt": run.attempt,
            "result": result,
        }
        if status == "FATAL_FAILURE":
            event.failures += 1
        if event.over:
            if not event.runs:
                event.forget = self.now + self.settings.keep
            return
        if run.revision == event.revision:
            event.last_status = status
            if status == "SUCCESS" and event.definition.get("until") == "success":
                self.note("until success")
                self._end(event, "SUCCESS")
                return
            if not event.repeats:
                self._end(event, status, dead=dead)
                return
        self._go_on(event)
        self._end_if_done(event, dead=dead)

    def _end_if_done(self, event: Event, *, dead: bool = False) -> None:
        if event.repeats and not event.over and event.due is None and not event.runs:
            self._end(event, event.last_status or "EXPIRED", dead=dead)

    def _end(self, event: Event, status: str, *, dead: bool = False) -> None:
        self._drop_waiting(event)
        event.over = status
        event.due = None
        event.paused = False
        event.forget = None if event.runs else self.now + self.settings.keep
        name = {"CANCELLED": "cancelled", "EXPIRED": "expired"}.get(status, "fired")
        self.totals["dead" if dead else name] += 1
        self.totals["pending"] -= 1
        self.note(f"ended {status}, {'recurrence' if event.repeats else 'one-shot'}")

    def _drop_waiting(self, event: Event) -> None:
        for run in event.runs:
            if run.phase != "out":
                self.note(f"dropped while {run.phase}")
                self.history[event.identity, run.due, run.revision] = {
                    "status": "CANCELLED",
                    "finished": self.now,
                    "attempt": run.attempt,
                    "result": "",
                }
        event.runs = [run for run in event.runs if run.phase == "out"]


def definition_of(command: dict, appended: int) -> dict:
    """What belongs to the definition, with `in` resolved; what is given as its default counts as not given."""
    definition = {
        name: value
        for name, value in command.items()
        if name not in NOT_DEFINITION and not (name in DEFAULTS and DEFAULTS[name] == value)
    }
    if "in" in definition:
        definition["at"] = appended + milliseconds(definition.pop("in"))
    return definition


def payload_of(definition: dict) -> bytes:
    return json.dumps(definition["payload"]).encode() if "payload" in definition else b""


def delays_of(retry: dict | None) -> list[int]:
    """The delays before the second, third, … attempt."""
    if retry is None:
        return []
    if "delays" in retry:
        return [milliseconds(delay) for delay in retry["delays"]]
    delay, factor, most = milliseconds(retry["delay"]), retry["factor"], milliseconds(retry["max"])
    return [round(min(delay * factor**number, most)) for number in range(retry["attempts"] - 1)]


class Guard:
    """Is the clock to be believed? The rule in the docstring of lightsched.node.guard, once more."""

    def __init__(self, wall: int, monotonic: int) -> None:
        self.looks = [(wall, monotonic)]
        self.believed = wall
        self.doubted_at: int | None = None

    def look(self, wall: int, monotonic: int) -> tuple[int, bool]:
        before_wall, before_monotonic = self.looks[-1]
        self.looks.append((wall, monotonic))
        passed = monotonic - before_monotonic
        kept_pace = abs((wall - before_wall) - passed) <= 5_000
        if self.doubted_at is None and kept_pace and self.believed - wall <= 1_000:
            self.believed = max(self.believed, wall)
            return self.believed, True
        if self.doubted_at is None or not kept_pace:
            self.doubted_at = monotonic
        elif monotonic - self.doubted_at >= 5_000:
            self.doubted_at = None
            self.believed = wall
            return wall, True
        self.believed += passed
        return self.believed, False
