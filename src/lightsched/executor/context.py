"""What does a function know about its delivery, besides the payload?"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from lightsched.executor.taken import Taken

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OURS = ("ce_", "ls_")


class Context:
    """One attempt of one run. `delivery` is the same however often it comes, `run` also for its other attempts."""

    __slots__ = ("_beat", "_taken")

    def __init__(self, taken: Taken, beat: Callable[[Taken], Awaitable[None]]) -> None:
        self._taken = taken
        self._beat = beat

    def __repr__(self) -> str:
        return f"<Context of {self.delivery}>"

    @property
    def delivery(self) -> str:
        """The id of this attempt, for deduplication."""
        return self._taken.name

    @property
    def run(self) -> str:
        """The id of the run, the same for all its attempts: go by it to do nothing twice, whoever tried before."""
        return self._taken.run

    @property
    def id(self) -> str:
        """The event's id."""
        return self._text("ls_id")

    @property
    def key(self) -> str:
        """The entity it is about: deliveries of one key come one after the other."""
        return self._taken.key.decode(errors="replace")

    @property
    def tenant(self) -> str:
        """Whose event it is."""
        return self._text("ls_tenant")

    @property
    def type(self) -> str:
        """What kind of work."""
        return self._text("ce_type")

    @property
    def due(self) -> datetime:
        """When it was due."""
        return _EPOCH + timedelta(milliseconds=self._taken.due_ms)

    @property
    def attempt(self) -> int:
        """Which attempt of its run, from 1 on."""
        return self._taken.attempt

    @property
    def timeout(self) -> timedelta | None:
        """How long it may be silent; the executor sends heartbeats by itself. None: nobody waits for a report."""
        return timedelta(milliseconds=self._taken.timeout_ms) if self._taken.timeout_ms else None

    @property
    def headers(self) -> dict[str, str]:
        """The event's own headers, `traceparent` and `content-type`."""
        found = self._taken.headers.items()
        return {name: (value or b"").decode(errors="replace") for name, value in found if not name.startswith(_OURS)}

    @property
    def traceparent(self) -> str:
        """W3C trace context: one trace for all attempts of a run."""
        return self._text("traceparent")

    @property
    def payload(self) -> bytes:
        """The payload as it came."""
        return self._taken.value

    @property
    def topic(self) -> str:
        """Where it was delivered to."""
        return self._taken.place[0]

    @property
    def partition(self) -> int:
        """In which partition of the topic it lies."""
        return self._taken.place[1]

    async def heartbeat(self) -> None:
        """Say that it is being worked on. The executor does so by itself, every third of the timeout."""
        await self._beat(self._taken)

    def _text(self, header: str) -> str:
        return self._taken.headers.get(header, b"").decode(errors="replace")
