"""What did the test expect, and what happened instead? Reads and assertions, the same for both flavours.

A failed assertion says what was expected, what was delivered, how each delivery differs, and what is still to come.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, TypedDict, Unpack

from lightsched.event.status import Status
from lightsched.testing.seen import (
    DeadLetter,
    Delivery,
    Event,
    Run,
    name_of,
    seen_event,
    seen_events,
    seen_runs,
    seen_story,
    shown_delivery,
)
from lightsched.testing.times import Instant, instant_ms, shown_time, time_of
from lightsched.testing.virtual import Virtual

_SHOWN = 20


class Wanted(TypedDict, total=False):
    """Which deliveries are meant: those that agree in everything that is given."""

    type: str
    id: str
    tenant: str
    key: str
    topic: str
    attempt: int
    payload: Any
    at: Instant  # delivered exactly then
    after: Instant  # delivered later than that


class Expecting:
    """Looks at what a scheduler has done."""

    def __init__(self, virtual: Virtual) -> None:
        self._virtual = virtual

    @property
    def now(self) -> datetime:
        """The present, by the scheduler's clock; in UTC."""
        return time_of(self._virtual.now_ms)

    def deliveries(self, **wanted: Unpack[Wanted]) -> list[Delivery]:
        """What was delivered, in order; on several topics, once for each."""
        return [delivery for delivery in self._virtual.deliveries if not _differs(delivery, wanted)]

    def dead_letters(self) -> list[DeadLetter]:
        """What could not be understood or delivered, and why."""
        return list(self._virtual.dead_letters)

    def events(self) -> list[Event]:
        """All events, those that are over included while history is kept."""
        return list(seen_events(self._virtual.store))

    def get(self, id: str, *, tenant: str = "default", key: str | None = None) -> Event:
        """An event as it is now. Raises `NoSuchEvent`."""
        return seen_event(self._virtual.store, name_of(self._virtual.store, id, tenant, key))

    def runs(self, id: str, *, tenant: str = "default", key: str | None = None) -> list[Run]:
        """The runs of an event, unfinished ones included, in the order of their dues."""
        return seen_runs(self._virtual.store, name_of(self._virtual.store, id, tenant, key))

    def explain(self, id: str, *, tenant: str = "default", key: str | None = None) -> list[str]:
        """Why an event fired, or did not: the decisions, in words."""
        return seen_story(self._virtual.store, name_of(self._virtual.store, id, tenant, key))

    def assert_delivered(self, *, times: int | None = None, **wanted: Unpack[Wanted]) -> list[Delivery]:
        """There was such a delivery, or exactly so many. Returns them."""
        __tracebackhide__ = True
        found = self.deliveries(**wanted)
        if len(found) == times or (times is None and found):
            return found
        expected = f"expected {_words(wanted)} {'at least once' if times is None else _times(times)}"
        raise AssertionError(self._told(f"{expected}, but it happened {_times(len(found))}", wanted))

    def assert_nothing_delivered(self, **wanted: Unpack[Wanted]) -> None:
        """There was no such delivery."""
        __tracebackhide__ = True
        self.assert_delivered(times=0, **wanted)

    def assert_status(self, id: str, status: Status | str, *, tenant: str = "default", key: str | None = None) -> None:
        """An event has this status."""
        __tracebackhide__ = True
        found = self.get(id, tenant=tenant, key=key).status
        if found is not Status(status):
            story = _listed(self.explain(id, tenant=tenant, key=key))
            raise AssertionError(f"expected {id!r} to be {Status(status)}, but it is {found}. Its story:\n{story}")

    def _told(self, expectation: str, wanted: Wanted) -> str:
        """A failed expectation, and all that may help to understand it."""
        delivered = []
        for delivery in self._virtual.deliveries[-_SHOWN:]:
            differs = _differs(delivery, wanted)
            delivered.append(shown_delivery(delivery) + (f"   (another {', '.join(differs)})" if differs else ""))
        if (more := len(self._virtual.deliveries) - _SHOWN) > 0:
            delivered.insert(0, f"… {more} before these")
        pending = (event for event in seen_events(self._virtual.store) if event.next_execution is not None)
        coming = sorted(
            f"{shown_time(event.next_execution)} {event.type} id={event.id!r} ({event.schedule_text})"
            for event in islice(pending, _SHOWN)
        )
        return (
            f"{expectation}. It is {shown_time(self.now)}.\n"
            f"Delivered so far:\n{_listed(delivered)}\nStill to come:\n{_listed(coming)}"
        )


def _differs(delivery: Delivery, wanted: Wanted) -> list[str]:
    """In what a delivery is not the one that is meant."""
    return [name for name, value in wanted.items() if not _agrees(delivery, name, value)]


def _agrees(delivery: Delivery, name: str, value: Any) -> bool:
    match name:
        case "at":
            return delivery.delivered_at == time_of(instant_ms(value))
        case "after":
            return delivery.delivered_at > time_of(instant_ms(value))
        case _ if name in Wanted.__annotations__:
            return bool(getattr(delivery, name) == value)
    raise TypeError(f"a delivery has no {name!r}: ask for {', '.join(Wanted.__annotations__)}")


def _words(wanted: Wanted) -> str:
    named = [
        f"{name}={shown_time(value) if isinstance(value, datetime) else repr(value)}" for name, value in wanted.items()
    ]
    return f"a delivery with {', '.join(named)}" if named else "a delivery"


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"  {line}" for line in lines or ["nothing"])


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")
