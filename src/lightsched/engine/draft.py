"""What has the step done so far? The view of the store with the step's own changes on top.

Everything the engine does goes through a draft: it reads what earlier inputs of the same step have written, and keeps
the totals right whenever an event begins or ends.
"""

from collections.abc import Iterable, Sequence

from msgspec import structs

from lightsched.engine.rules import Rules
from lightsched.engine.state import Decision, State, is_due, next_ms, shown
from lightsched.engine.step import Answer, DeadLetter, Step, Totals, Transition
from lightsched.engine.view import Entry, View
from lightsched.event.command import Command
from lightsched.event.delivery import Emitter
from lightsched.event.identity import Identity, parts, tenant_of
from lightsched.event.model import Event, decoder
from lightsched.event.record import Appended
from lightsched.event.status import FINAL, TRANSITIONS, Outcome, Signal, Status
from lightsched.timing import format_utc

MAX_TRAIL = 20
CHUNK = 256
"""Definitions are read so many at a time: payloads may be large."""
_HELD_BYTES = 4 * 1024 * 1024
"""Of definitions that were read and may be asked for again; beyond that they are let go."""


class Draft:
    """A step in the making."""

    def __init__(self, view: View, rules: Rules, emitter: Emitter, now_ms: int) -> None:
        self.view = view
        self.rules = rules
        self.emitter = emitter
        self.now_ms = now_ms
        self.at = format_utc(now_ms)
        self.forget_ms = now_ms + rules.limits.keep_ms  # when that which is over now leaves the history
        meta = view.meta
        self.totals: Totals = structs.replace(meta.totals)
        self.meta = structs.replace(meta, totals=self.totals, clock_ms=max(meta.clock_ms, now_ms))
        self.step = Step(now_ms, self.meta)
        self.bytes = 0
        self.runs_dropped = 0  # from the history
        self.read_ms = now_ms  # all commands that were appended before are read
        self.heard_ms = now_ms  # and all reports
        self._events: dict[Identity, Event] = {}
        self._held_bytes = 0
        self._flights: dict[str, int] = {}

    # reading

    def load(self, identities: Iterable[Identity]) -> None:
        """Read the states of many events at once."""
        before = self.step.before
        missing = [name for name in dict.fromkeys(identities) if name not in before]
        if missing:
            before.update(zip(missing, self.view.states(missing), strict=True))

    def state(self, name: Identity) -> State | None:
        """The state as it is now."""
        states = self.step.states
        if name in states:
            return states[name]
        before = self.step.before
        if name not in before:
            before[name] = self.view.states([name])[0]
        return before[name]

    def load_events(self, identities: Sequence[Identity]) -> None:
        """Read the definitions of many events at once."""
        events, written = self._events, self.step.definitions
        missing = [name for name in dict.fromkeys(identities) if name not in events and name not in written]
        if missing:
            self._make_room()
            for name, definition in zip(missing, self.view.definitions(missing), strict=True):
                if definition is not None:
                    events[name] = decoder.decode(definition)
                    self._held_bytes += len(definition)

    def event(self, name: Identity) -> Event:
        """The definition as it is now. Its id, key and tenant are in the identity."""
        event = self._events.get(name)
        if event is None:
            definition = self.step.definitions.get(name)
            if definition is None:
                definition = self.view.definitions([name])[0]
            assert definition is not None, f"{parts(name)} has a state and no definition"
            self._make_room()
            event = self._events[name] = decoder.decode(definition)
            self._held_bytes += len(definition)
        return event

    def _make_room(self) -> None:
        """A step may look at thousands of large events, and deliver none of them: it does not hold them all."""
        if self._held_bytes >= _HELD_BYTES:
            self._events.clear()
            self._held_bytes = 0

    def in_flight(self, tenant: str) -> int:
        """Runs of a tenant that are delivered and unreported, this step included."""
        if tenant not in self._flights:
            self._flights[tenant] = self.view.in_flight(tenant)
        return self._flights[tenant]

    def due(self, limit: int) -> list[Entry]:
        """What is due now, in firing order, with what this step itself has made due."""
        now_ms = self.now_ms
        entries = self.view.due(now_ms, limit)
        fresh: list[Entry] = []
        for name, state in self.step.states.items():
            if state is None:
                continue
            if state.due_ms is not None and state.due_ms <= now_ms and not state.paused:
                fresh.append(Entry(state.priority, state.due_ms, state.seq, name))
            if state.runs:
                fresh.extend(
                    Entry(state.priority, run.at_ms, run.seq, name)
                    for run in state.runs
                    if run.at_ms <= now_ms and is_due(state, run)
                )
        return sorted({*entries, *fresh})[:limit] if fresh else entries

    def has_slot(self, tenant: str) -> bool:
        """May another tracked run of this tenant be delivered?"""
        slots = self.rules.slots(tenant)
        return slots is None or self.in_flight(tenant) < slots

    # writing

    def seq(self) -> int:
        """The next arrival number."""
        self.meta.seq += 1
        return self.meta.seq

    def put(self, name: Identity, state: State) -> State:
        """The state from here on. It was read before: the step holds both."""
        state = self.step.states[name] = shown(state)
        return state

    def define(self, name: Identity, definition: bytes, event: Event) -> None:
        """The definition from here on."""
        self.step.definitions[name] = definition
        self._events[name] = event

    def forget(self, name: Identity) -> None:
        """The event leaves the history."""
        self.step.states[name] = None
        self.step.definitions[name] = None

    def flew(self, name: Identity, change: int) -> None:
        """A run was delivered (+1), or is no longer in flight (-1)."""
        tenant = tenant_of(name)
        self._flights[tenant] = self.in_flight(tenant) + change

    def begin(self) -> None:
        """An event is accepted."""
        self.totals.accepted += 1
        self.totals.pending += 1

    def end(self, state: State, signal: Signal, *, dead: bool = False) -> State:
        """The event fires no more. Runs that are still out go on, and it is kept until they are history too."""
        status = moved(shown(state).status, signal)
        assert status in FINAL, status
        totals = self.totals
        totals.pending -= 1
        if dead:
            totals.dead += 1
        elif status is Status.CANCELLED:
            totals.cancelled += 1
        elif status is Status.EXPIRED:
            totals.expired += 1
        else:
            totals.fired += 1
        forget_ms = None if state.runs else self.forget_ms
        return structs.replace(state, status=status, due_ms=None, paused=False, forget_ms=forget_ms)

    def miss(self, reason: str, count: int = 1) -> None:
        """Occurrences that will not run: counted, never silent."""
        self.step.missed[reason] = self.step.missed.get(reason, 0) + count

    def note(self, state: State, what: str, detail: str = "") -> State:
        """Remember a decision, so that it can be explained later."""
        trail = (*state.trail[-(MAX_TRAIL - 1) :], Decision(self.now_ms, what, detail))
        return structs.replace(state, trail=trail)

    def answer(
        self, command: Command, outcome: Outcome, state: State | None, before: State | None, error: str = ""
    ) -> None:
        """The one definite outcome of a command, to whoever asked and on the audit."""
        step, name = self.step, command.identity
        was = "" if before is None else before.status
        reason = error or command.reason
        if state is None:
            step.answers.append(Answer(command.topic, command.offset, outcome, name, None, None, 0, error))
            step.audit.append(
                Transition(self.at, command.op, *command.names, outcome, command.who, 0, was, reason=reason)
            )
            return
        revision, status = state.revision, state.status
        step.answers.append(
            Answer(command.topic, command.offset, outcome, name, status, next_ms(state), revision, error)
        )
        step.audit.append(
            Transition(
                *(self.at, command.op, *command.names, outcome, command.who, revision, was, status),
                due=state.due_ms or 0,
                reason=reason,
            )
        )

    def refuse(self, appended: Appended, reason: str, error: str) -> None:
        """What makes no sense is put aside with the reason; the event it tried to change stays as it is."""
        error = error[: self.rules.limits.error]  # it may quote what was sent
        self.step.answers.append(Answer(appended.topic, appended.offset, Outcome.INVALID, error=error))
        self.step.audit.append(
            Transition(at=self.at, what="refuse", tenant="", key="", id="", outcome=Outcome.INVALID, reason=error)
        )
        self.step.dead_letters.append(
            DeadLetter(reason, error, appended.record, appended.topic, appended.offset, appended.partition)
        )

    def log(self, what: str, name: Identity, revision: int, before: str, after: str, **more: object) -> None:
        """A transition that no command asked for, on the audit."""
        tenant, key, id_ = parts(name)
        self.step.audit.append(
            Transition(
                at=self.at,
                what=what,
                tenant=tenant,
                key=key,
                id=id_,
                revision=revision,
                before=before,
                after=after,
                **more,  # type: ignore[arg-type]
            )
        )


def moved(status: Status, signal: Signal) -> Status:
    """The status that follows by the table; that there is one was checked before."""
    return TRANSITIONS[status, signal]
