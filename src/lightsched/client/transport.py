"""How does a client get through? Over REST or over Kafka: this is what both can be asked for."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from lightsched.client.fields import Prepared
from lightsched.client.results import Delivery, Result

T = TypeVar("T")


class Reading(NamedTuple):
    """What is read from a delivery topic, and how far."""

    topic: str
    group: str | None  # none: what comes from now on, and nothing is acknowledged
    at_once: int
    limit: int | None  # ends after so many
    idle_s: float | None  # ends when nothing has come for so long

    def next_most(self, seen: int) -> int:
        """How many to ask for when so many were seen."""
        return self.at_once if self.limit is None else min(self.at_once, self.limit - seen)


class Transport(Protocol):
    """A way to lightsched."""

    async def command(self, command: Prepared) -> Result:
        """Send one command; raises if it is refused."""

    async def send(self, commands: Sequence[Prepared], once: str = "") -> list[Result]:
        """Send many, one result each: what is wrong with one does not concern the others. `once`: under this name."""

    async def send_together(self, commands: Sequence[Prepared]) -> list[Result]:
        """Send many, all or none; raises if one of them is refused."""

    def deliveries(self, reading: Reading) -> AsyncGenerator[list[Delivery]]:
        """What a group has not acknowledged yet; each list is acknowledged when the next one is asked for."""

    async def report(self, delivery: str, body: bytes) -> None:
        """Say what became of a delivery."""

    async def ask(
        self,
        path: str,
        shape: type[T],
        query: Mapping[str, Any] | None = None,
        *,
        method: str = "GET",
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        repeatable: bool = True,
    ) -> T:
        """Ask for something that has an answer. Repeatable: asked twice it does no more than asked once."""

    async def close(self) -> None:
        """Let go of everything."""
