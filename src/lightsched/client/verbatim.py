"""How are answers passed on that nobody looks into? As the server wrote them, so that payloads keep their bytes.

A client that is told so gives `Raw` where it would give events, runs, deliveries and dead letters.
"""

from msgspec import Raw, Struct

from lightsched.client.rest import Rest
from lightsched.client.results import (
    DeadLetter,
    DeadLetters,
    Deliveries,
    EventRuns,
    Events,
    Runs,
    ScheduledEvent,
)
from lightsched.client.sync import SyncClient


class _Events(Struct):
    events: list[Raw]
    cursor: str | None


class _Runs(Struct):
    runs: list[Raw]
    cursor: str | None


class _Deliveries(Struct):
    deliveries: list[Raw]
    cursor: str


class _DeadLetters(Struct):
    dead_letters: list[Raw]
    cursor: str | None


_SHAPES: dict[type, type] = {
    ScheduledEvent: Raw,
    Events: _Events,
    Runs: _Runs,
    EventRuns: _Runs,
    Deliveries: _Deliveries,
    DeadLetter: Raw,
    DeadLetters: _DeadLetters,
}


def pass_on(client: SyncClient) -> None:
    """From now on. Over Kafka all stays as it is: there are no answers."""
    transport = client._client._transport  # noqa: SLF001 - nobody else is to see what is no event
    if isinstance(transport, Rest):
        transport.shapes = _SHAPES
