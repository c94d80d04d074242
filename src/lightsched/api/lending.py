"""Who reads for a group? One reader at a time, for as long as it is there; others of the group stand by.

A reader that gives its name is lent the group while it polls, and for a while after each answer. One whose connection
breaks off, as when its process dies, is gone at once. Known to this node only, and only until it stops: where many are
to share the work, Kafka's own groups do it.
"""

import asyncio

LENT_S = 10.0
"""From an answer to the next poll, at most."""

Place = tuple[str, str]
"""Topic and group."""


class _Loan:
    def __init__(self, reader: str) -> None:
        self.reader = reader
        self.until = float("inf")
        self.over = asyncio.Event()


class Lending:
    """Which reader has which group."""

    def __init__(self) -> None:
        self._loans: dict[Place, _Loan] = {}

    async def borrow(self, place: Place, reader: str, until: float) -> bool:
        """Wait until the reader has the group, no longer than `until` by the loop's clock. False: another has it."""
        now = asyncio.get_running_loop().time
        while (loan := self._loans.get(place)) is not None and loan.reader != reader and now() < loan.until:
            if now() >= until:
                return False
            try:
                async with asyncio.timeout_at(min(until, loan.until, now() + LENT_S)):
                    await loan.over.wait()
            except TimeoutError:
                pass
        if loan is None or loan.reader != reader:
            self._loans[place] = loan = _Loan(reader)
        loan.until = float("inf")
        return True

    def answered(self, place: Place, reader: str) -> None:
        """The reader has its answer, and will be back."""
        if (loan := self._loans.get(place)) is not None and loan.reader == reader:
            loan.until = asyncio.get_running_loop().time() + LENT_S

    def gone(self, place: Place, reader: str) -> None:
        """The reader is not there any more."""
        if (loan := self._loans.get(place)) is not None and loan.reader == reader:
            del self._loans[place]
            loan.over.set()
