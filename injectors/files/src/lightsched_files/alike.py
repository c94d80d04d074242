"""Where do keys live that all begin alike? Kafka's murmur2, begun once for what they have in common.

The ids of a file's events differ only in their last digits, and hashing in Python takes longer than all else that is
done for an event: this is a third of it.
"""

from struct import Struct

from lightsched.injector import murmur2

COMMON = 16
"""Bytes at the beginning that keys may have in common."""
_MOST = 1024
_MASK, _M, _SEED = 0xFFFFFFFF, 0x5BD1E995, 0x9747B28C
_begin = Struct(f"<{COMMON // 4}I").unpack_from
_words = [Struct(f"<{count}I").unpack_from for count in range(64)]


class Alike:
    """The hash of many keys."""

    def __init__(self) -> None:
        self._begun: dict[tuple[bytes, int], int] = {}

    def murmur2(self, key: bytes) -> int:
        """As `lightsched.injector.murmur2`."""
        size = len(key)
        if not COMMON <= size < COMMON + 4 * len(_words):
            return murmur2(key)
        begun = key[:COMMON], size
        h = self._begun.get(begun)
        if h is None:
            h = self._begin(*begun)
        for word in _words[(size - COMMON) >> 2](key, COMMON):
            k = word * _M & _MASK
            h = (h * _M ^ (k ^ (k >> 24)) * _M) & _MASK
        if size & 3:
            h = (h ^ int.from_bytes(key[size & ~3 :], "little")) * _M & _MASK
        h = (h ^ (h >> 13)) * _M & _MASK
        return h ^ (h >> 15)

    def _begin(self, common: bytes, size: int) -> int:
        if len(self._begun) >= _MOST:
            self._begun.clear()
        h = _SEED ^ size
        for word in _begin(common):
            k = word * _M & _MASK
            h = (h * _M ^ (k ^ (k >> 24)) * _M) & _MASK
        self._begun[common, size] = h
        return h
