"""Who reads a topic over REST? Whoever polls it now, and whoever did a moment ago.

Not everybody waits in a poll: many read, do their work, and come again.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from time import monotonic

LATELY_S = 60.0
MOST_READERS = 1_000
"""That are remembered after they have left."""

Reader = tuple[str, str]
"""Topic and group; the group of those who only look on is empty."""


class Audience:
    """The readers of all topics."""

    def __init__(self) -> None:
        self._polling: Counter[Reader] = Counter()
        self._left: dict[Reader, float] = {}  # the last to leave is the last

    @contextmanager
    def polls(self, reader: Reader) -> Iterator[None]:
        """It reads while the block runs."""
        self._polling[reader] += 1
        try:
            yield
        finally:
            self._polling[reader] -= 1
            if not self._polling[reader]:
                del self._polling[reader]
            self.came(reader)

    def came(self, reader: Reader) -> None:
        """It was here just now."""
        self._left.pop(reader, None)
        self._left[reader] = monotonic()
        if len(self._left) > MOST_READERS:
            del self._left[next(iter(self._left))]

    def reads(self, topic: str, besides: Collection[Reader] = ()) -> bool:
        """Does anybody read it, besides these?"""
        since = monotonic() - LATELY_S
        lately = (reader for reader, left in self._left.items() if left >= since)
        return any(reader[0] == topic and reader not in besides for reader in (*self._polling, *lately))
