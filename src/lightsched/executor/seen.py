"""How is nothing done twice? By the delivery's id, which is the same however often it comes; or by the run's.

    executor.middleware(once(Seen()))
    executor.middleware(once(Seen(), by="run"))  # nor when another attempt has done it

In memory it holds while the process lives: that covers deliveries that come again because their partition went away
and came back. To survive a crash, keep the id where the side effect is, in one transaction with it; or implement
`Remembers`.
"""

from collections import OrderedDict
from typing import Any, Literal, Protocol

from lightsched.executor.context import Context
from lightsched.executor.routes import Middleware, Next


class Remembers(Protocol):
    """What knows which deliveries, or runs, were here."""

    async def before(self, delivery: str) -> bool:
        """Was it here before? From now on it was."""

    async def forget(self, delivery: str) -> None:
        """It came to nothing: let it be done again."""


class Seen:
    """Remembers the last deliveries, in memory."""

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._ids: OrderedDict[str, None] = OrderedDict()

    async def before(self, delivery: str) -> bool:
        """Was it here before? From now on it was."""
        if delivery in self._ids:
            return True
        self._ids[delivery] = None
        if len(self._ids) > self._most:
            self._ids.popitem(last=False)
        return False

    async def forget(self, delivery: str) -> None:
        """It came to nothing: let it be done again."""
        self._ids.pop(delivery, None)


def once(seen: Remembers, *, by: Literal["delivery", "run"] = "delivery") -> Middleware:
    """Calls the function only for deliveries that were not here before; one that failed may come again.

    `by="run"`: only for runs that were not. So an attempt does nothing if the one before it has done it all, and only
    its report was lost.
    """

    async def unless_seen(context: Context, call_next: Next) -> Any:
        name = context.run if by == "run" else context.delivery
        if await seen.before(name):
            return None
        try:
            return await call_next()
        except BaseException:
            await seen.forget(name)
            raise

    return unless_seen
