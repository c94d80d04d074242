"""What is an event called whose sender gave no name? A time-sortable id: UUIDv7 (RFC 9562) as 32 hexadecimal digits."""

from collections.abc import Callable

_VERSION = 0x7 << 76
_VARIANT = 0b10 << 62
_TAIL_BITS = 74


class Ids:
    """Ids that grow: within a process each one is larger than the one before, also when the clock steps back."""

    def __init__(self, random_bits: Callable[[int], int]) -> None:
        """`random_bits`: so many random bits, as a number; such as `random.getrandbits`."""
        self._random_bits = random_bits
        self._ms = 0
        self._tail = 0

    def next(self, now_ms: int) -> str:
        """The next id."""
        if now_ms > self._ms:
            self._ms = now_ms
            self._tail = self._random_bits(_TAIL_BITS - 1)  # half of the range is left to count up in
        else:
            self._tail += 1 + self._random_bits(32)
            if self._tail >> _TAIL_BITS:
                self._ms += 1
                self._tail = self._random_bits(_TAIL_BITS - 1)
        high, low = self._tail >> 62, self._tail & ((1 << 62) - 1)
        return f"{self._ms << 80 | _VERSION | high << 64 | _VARIANT | low:032x}"
