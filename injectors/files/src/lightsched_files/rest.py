"""How do events get in through REST? A request per chunk, under a name, so that it is carried out once."""

from collections.abc import Sequence

from lightsched.client import Client, Outcome, Unavailable
from lightsched_files.journal import Position
from lightsched_files.settings import RestSettings
from lightsched_files.taken import Good

RETRIES = 3
_NOT_YET = (None, Outcome.QUOTA)
"""Outcomes that another try may change: it is not known what became of it, or there is no room at the moment."""


class Rest:
    """Sends to a node."""

    announces = True
    most_events = 1_000
    most_bytes = 1024 * 1024

    def __init__(self, settings: RestSettings) -> None:
        self._settings = settings
        self._client: Client | None = None
        self._id = ""

    async def open(self, id: str) -> Position:
        """The server keeps no position: the journal does."""
        token = self._settings.token
        secret = None if token is None else token.get_secret_value()
        self._client = Client(self._settings.url, token=secret, retries=RETRIES)
        self._id = id
        return Position()

    def pack(self, events: Sequence[Good]) -> Sequence[Good]:
        return events

    async def send(self, packed: Sequence[Good], until: Position) -> list[tuple[int, str]]:
        assert self._client is not None
        name = f"files-{self._id}-{until.number}-{until.place}"
        results = await self._client.send([good.event for good in packed], once=name)
        for result in results:
            if result.outcome in _NOT_YET and result.error:
                raise Unavailable(f"{self._settings.url} does not take it yet: {result.error}")
        return [(index, result.error) for index, result in enumerate(results) if not result.ok]

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None
