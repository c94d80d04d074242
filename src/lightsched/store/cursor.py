"""Where does the live part of an index begin? A cursor knows, so that no scan crosses the keys that were deleted.

Events fire from the head of the index, which leaves deleted keys there until RocksDB compacts them; crossing them
costs 0.14 µs each, again in every scan. A cursor is a key that no entry lies before:

- a scan moves it to the first entry it finds;
- once all that the last scan returned is deleted, it moves behind them;
- an earlier entry that is inserted moves it back.

It is persisted with every step. It is a hint: without it a scan begins at the start of the range, and finds the same.
"""

from rocksdict import Rdict

from lightsched.store.rocks import below

EMPTY = b""
"""A cursor of a range without entries."""


class Cursor:
    """The head of one range of an index."""

    __slots__ = (
        "_at_head",
        "_family",
        "_following",
        "_following_stays",
        "_gone",
        "_last",
        "_lowest_put",
        "_range",
        "_scanned",
        "low",
    )

    def __init__(self, family: Rdict, start: bytes, end: bytes, low: bytes | None = None) -> None:
        self._family = family
        self._range = below(end)
        self.low = start if low is None else low  # no entry lies before it; EMPTY: there is no entry
        self._at_head = False  # `low` is an entry
        self._lowest_put = EMPTY
        self._forget_scan()

    def scan(self, end: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """The first entries below `end`."""
        found: list[tuple[bytes, bytes]] = []
        if self.low == EMPTY or self.low >= end:
            return found
        following = EMPTY
        item: tuple[bytes, bytes]
        for item in self._family.items(from_key=self.low, read_opt=self._range):  # type: ignore[assignment]
            if len(found) == limit or item[0] >= end:
                following = item[0]
                break
            found.append(item)
        self.low = found[0][0] if found else following
        self._at_head = True
        self._scanned = len(found)
        self._last = found[-1][0] if found else EMPTY
        self._following = following
        self._gone = 0
        return found

    def head(self) -> bytes:
        """The first entry's key, or EMPTY."""
        if self.low != EMPTY and not self._at_head:
            self.low = next(iter(self._family.keys(from_key=self.low, read_opt=self._range)), EMPTY)  # type: ignore[assignment]
            self._at_head = True
        return self.low

    def put(self, key: bytes) -> None:
        """An entry is inserted by the step being applied."""
        if not self._lowest_put or key < self._lowest_put:
            self._lowest_put = key

    def delete(self, key: bytes) -> None:
        """An entry is deleted by the step being applied."""
        if key <= self._last:
            self._gone += 1
        elif key == self._following:
            self._following_stays = False
        if key == self.low:
            self._at_head = False

    def settle(self) -> None:
        """The step is applied: where is the head now?"""
        if self._scanned and self._gone == self._scanned:
            self.low, self._at_head = self._following, self._following_stays
        lowest = self._lowest_put
        if lowest and (self.low == EMPTY or lowest < self.low):
            self.low, self._at_head = lowest, True
        self._lowest_put = EMPTY
        self._forget_scan()

    def _forget_scan(self) -> None:
        self._scanned = self._gone = 0
        self._last = self._following = EMPTY
        self._following_stays = True
