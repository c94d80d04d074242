"""What if the server goes away while it is being listened to? It is waited for, and whoever wants to know is told.

Only one that had answered before: where nobody ever did, the address may be wrong, and that is said at once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

from lightsched.client.errors import ClientError, Unavailable, Unreachable
from lightsched.client.retrying import LONGEST_S, pause_s

T = TypeVar("T")
Told = Callable[[ClientError | None], None]
"""The error: the server is away. None: it is back."""
_BAD_GATEWAY, _GATEWAY_TIMEOUT = 502, 504


class Patience:
    """With a server that somebody listens to, until it was silent for `idle_s`."""

    def __init__(self, idle_s: float | None, longest_wait_s: float, told: Told) -> None:
        self._idle_s = idle_s
        self._wait_s = longest_wait_s if idle_s is None else min(idle_s, longest_wait_s)
        self._told = told
        self._there = False  # it has answered, and nothing has gone wrong since
        self._reached = False  # it has answered before
        self._silent_s = 0.0

    @property
    def wait_s(self) -> float:
        """How long the server may wait for news. Not at all, if it is to be seen first that it is there."""
        return self._wait_s if self._there else 0.0

    @property
    def ends(self) -> bool:
        """It was silent for too long."""
        return self._idle_s is not None and self._silent_s >= self._idle_s

    def heard(self, *, something: bool) -> None:
        """It has answered after as long as it may wait, with something or with nothing."""
        self._silent_s = 0.0 if something else self._silent_s + self.wait_s
        self._there = True

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T:
        """Ask until there is an answer, or silence for too long."""
        tries = 0
        while True:
            began_s = monotonic()
            try:
                answer = await question()
            except ClientError as error:
                tries += 1
                if not (self._reached and _is_away(error)):
                    raise
                if tries == 1:
                    self._told(error)
                self._there = False
                pause = pause_s(tries) or LONGEST_S
                self._silent_s += monotonic() - began_s + pause
                if self.ends:
                    raise
                await asyncio.sleep(pause)
            else:
                if tries:
                    self._told(None)
                self._reached = True
                return answer


def _is_away(error: ClientError) -> bool:
    return isinstance(error, Unreachable | Unavailable) or error.status in {_BAD_GATEWAY, _GATEWAY_TIMEOUT}
