"""An engine with its state and a clock in one hand, so that a test reads as a story.

    scheduler.at("10:00").post({"id": "tea", "in": "5m"})
    scheduler.advance("10m")
    assert scheduler.times("tea") == ["10:05"]

Times of day are those of Monday, 2 March 2026, UTC. After every step it is checked that the same inputs give the same
step again, and that the state makes sense.
"""

import msgspec

from lightsched.engine.engine import Engine
from lightsched.engine.explain import explain
from lightsched.engine.rules import Rules
from lightsched.engine.state import FinishedRun, Phase, State, told_run
from lightsched.engine.step import Answer, Step
from lightsched.event.delivery import Delivery
from lightsched.event.identity import Identity, identity, parts
from lightsched.event.limits import Limits
from lightsched.event.model import Event, decoder
from lightsched.event.record import Appended, Record
from lightsched.event.status import FINAL, Status
from lightsched.event.tenant import Tenant
from lightsched.timing import format_utc, parse_duration, parse_instant
from tests.unit.engine.memory_view import MemoryView

DAY = "2026-03-02"
EVENTS, REPORTS = "lightsched.events", "lightsched.reports"


def ms(text: str | int) -> int:
    """`10:00`, `10:00:30.250` of the day, or a whole RFC 3339 time."""
    if isinstance(text, int):
        return text
    return parse_instant(text if "T" in text else f"{DAY}T{text}Z")


def clock(at_ms: int | None) -> str | None:
    """The shortest way to write a time: `10:00`, `10:00:30`, and with the date if it is another day."""
    if at_ms is None:
        return None
    day, time = format_utc(at_ms)[:-1].split("T")
    time = time.removesuffix(".000").removesuffix(":00") if time.endswith(":00.000") else time.removesuffix(".000")
    return time if day == DAY else f"{day}T{time}"


class Scheduler:
    def __init__(
        self,
        now: str = "10:00",
        *,
        keep: str = "7d",
        tenants: dict[str, Tenant] | None = None,
        limits: dict[str, object] | None = None,
        **rules: object,
    ) -> None:
        self.rules = Rules(
            limits=Limits(keep_ms=parse_duration(keep), **(limits or {})),  # type: ignore[arg-type]
            tenants=tenants or {},
            **rules,  # type: ignore[arg-type]
        )
        self.engine = Engine(self.rules)
        self.view = MemoryView()
        self.now_ms = ms(now)
        self.offsets = {EVENTS: 0, REPORTS: 0}
        self.firing = True
        self.deliveries: list[Delivery] = []
        self.delivered_ms: list[int] = []
        self.steps: list[Step] = []

    # time

    def at(self, time: str) -> "Scheduler":
        """It is that time now, and everything until then has happened in time."""
        self.run_until(ms(time))
        return self

    def advance(self, duration: str) -> "Scheduler":
        """Time passes, and everything happens in time."""
        self.run_until(self.now_ms + parse_duration(duration))
        return self

    def run_until(self, until_ms: int) -> None:
        assert until_ms >= self.now_ms, "time does not go backwards: use `jump`"
        self.settle()
        while (next_ms := self.view.next_ms()) is not None and next_ms <= until_ms:
            self.now_ms = max(next_ms, self.now_ms)
            self.settle()
        self.now_ms = until_ms
        self.settle()

    def sleep(self, duration: str) -> "Scheduler":
        """Time passes and nobody is there; then somebody is."""
        self.now_ms += parse_duration(duration)
        self.settle()
        return self

    def jump(self, time: str) -> "Scheduler":
        """It is that time now, and nobody has noticed yet."""
        self.now_ms = ms(time)
        return self

    # steps

    def settle(self) -> None:
        """Step until nothing is left to do now."""
        if not self.firing:
            return
        for _ in range(100_000):
            if self.step().empty:
                return
        raise AssertionError("the engine does not come to rest")

    def step(self, *inputs: Appended) -> Step:
        step = self.engine.step(self.view, inputs, self.now_ms, firing=self.firing)
        assert step == Engine(self.rules).step(self.view, inputs, self.now_ms, firing=self.firing)
        self.check(step)
        self.view.apply(step)
        self.check_states()
        self.steps.append(step)
        self.deliveries += step.deliveries
        self.delivered_ms += [self.now_ms] * len(step.deliveries)
        return step

    def check(self, step: Step) -> None:
        totals = step.meta.totals
        assert totals.difference == 0
        assert min(msgspec.structs.astuple(totals)) >= 0
        known = {delivery.id for delivery in self.deliveries}
        for delivery in step.deliveries:
            assert delivery.id not in known, "delivered twice"
            known.add(delivery.id)
            assert delivery.due_ms <= self.now_ms, "early"

    def check_states(self) -> None:
        states = self.states()
        assert self.view.meta.totals.pending == sum(state.status not in FINAL for state in states.values())
        for name, state in states.items():
            assert len({(run.revision, run.due_ms) for run in state.runs}) == len(state.runs), "two runs in one"
            held = [run for run in state.runs if run.phase is not Phase.DELIVERED]
            if state.status in FINAL:
                assert state.due_ms is None, f"{name!r} is over and due"
                assert not held, f"{name!r} is over and has runs to go"
                assert (state.forget_ms is None) == bool(state.runs)
            elif not state.paused:
                assert state.due_ms is not None or any(run.phase is not Phase.QUEUED for run in state.runs), (
                    f"{name!r} waits for nothing"
                )
            assert len(state.trail) <= 20

    # inputs

    def command(self, event: dict | bytes, *, key: bytes | None = None, headers: tuple = ()) -> Appended:
        """A record on the events topic, appended now."""
        value = event if isinstance(event, bytes | None) else msgspec.json.encode(event)
        return self._appended(EVENTS, Record(key, value, headers))

    def post(self, *events: dict | bytes, key: bytes | None = None, headers: tuple = ()) -> Answer:
        """Append commands and take them in one step; the answer to the last."""
        step = self.step(*(self.command(event, key=key, headers=headers) for event in events))
        return step.answers[-1]

    def cancel(self, id_: str, **more: object) -> Answer:
        return self.post({"op": "cancel", "id": id_, **more})

    def pause(self, id_: str, **more: object) -> Answer:
        return self.post({"op": "pause", "id": id_, **more})

    def resume(self, id_: str, **more: object) -> Answer:
        return self.post({"op": "resume", "id": id_, **more})

    def trigger(self, id_: str, **more: object) -> Answer:
        return self.post({"op": "trigger", "id": id_, **more})

    def reported(self, delivery: Delivery, status: str, *, token: str | None = None, **more: object) -> Appended:
        """A record on the reports topic, appended now."""
        report = {"delivery": delivery.id, "token": token or self.token(delivery), "status": status, **more}
        return self._appended(REPORTS, Record(None, msgspec.json.encode(report)))

    def report(self, status: str, delivery: Delivery | None = None, **more: object) -> Answer:
        """Report on a delivery, the latest by default."""
        step = self.step(self.reported(delivery or self.deliveries[-1], status, **more))
        return step.answers[0]

    def _appended(self, topic: str, record: Record) -> Appended:
        offset = self.offsets[topic]
        self.offsets[topic] += 1
        return Appended(topic, self.rules.partition, offset, self.now_ms, record)

    @staticmethod
    def token(delivery: Delivery) -> str:
        return dict(delivery.record.headers)["ls_report"].decode()

    # what came of it

    def name(self, id_: str) -> Identity:
        """The identity of the one event with this id."""
        found = [name for name in self.view.identities if parts(name)[2] == id_]
        assert len(found) <= 1, f"several events are called {id_}"
        return found[0] if found else identity("default", id_, id_)

    def states(self) -> dict[Identity, State]:
        names = self.view.identities
        return dict(zip(names, self.view.states(names), strict=True))

    def state(self, id_: str) -> State | None:
        return self.view.states([self.name(id_)])[0]

    def event(self, id_: str) -> Event:
        return decoder.decode(self.view.definitions([self.name(id_)])[0])

    def status(self, id_: str) -> Status:
        state = self.state(id_)
        assert state is not None, f"there is no event {id_}"
        return state.status

    def due(self, id_: str) -> str | None:
        """When it is due next."""
        return clock(self.state(id_).due_ms)

    def phases(self, id_: str) -> list[str]:
        """What its unfinished runs wait for."""
        return [run.phase.name for run in self.state(id_).runs]

    def history(self, id_: str) -> list[FinishedRun]:
        return [run for _, run in self._finished(id_)]

    def _finished(self, id_: str) -> list[tuple[int, FinishedRun]]:
        """The finished runs of an event with their dues: those that are written, or the one that its state tells."""
        name = self.name(id_)
        written = [(key[1], run) for key, run in sorted(self.view.runs.items(), key=lambda i: i[0]) if key[0] == name]
        state = self.view.states([name])[0]
        told = None if state is None else told_run(state)
        return written if told is None else [*written, told]

    def ended(self, id_: str) -> list[Status]:
        """How its finished runs ended, in the order of their dues."""
        return [run.status for run in self.history(id_)]

    def times(self, id_: str | None = None) -> list[str]:
        """When it was delivered."""
        return [
            clock(at_ms)
            for at_ms, delivery in zip(self.delivered_ms, self.deliveries, strict=True)
            if id_ is None or parts(delivery.identity)[2] == id_
        ]

    def dues(self, id_: str) -> list[str]:
        """What was delivered, by when it was due."""
        return [clock(delivery.due_ms) for delivery in self.deliveries if parts(delivery.identity)[2] == id_]

    @property
    def order(self) -> list[str]:
        """What was delivered, by id."""
        return [parts(delivery.identity)[2] for delivery in self.deliveries]

    @property
    def missed(self) -> dict[str, int]:
        """Occurrences that did not run, by reason."""
        missed: dict[str, int] = {}
        for step in self.steps:
            for reason, count in step.missed.items():
                missed[reason] = missed.get(reason, 0) + count
        return missed

    @property
    def totals(self) -> dict[str, int]:
        """What the partition has done, without what it has not."""
        return {name: n for name, n in msgspec.structs.asdict(self.view.meta.totals).items() if n}

    @property
    def dead_letters(self) -> list[str]:
        return [f"{letter.reason}: {letter.detail}" for step in self.steps for letter in step.dead_letters]

    @property
    def follows(self) -> list:
        return [follow for step in self.steps for follow in step.follows]

    def story(self, id_: str) -> list[str]:
        """Why it fired, or did not."""
        reasons = explain(self.state(id_), self.event(id_), self._finished(id_), "in some words")
        return [reason.text for reason in reasons]
