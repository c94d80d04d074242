"""Where does a key live? Kafka's murmur2, so that partitions agree with what Java producers compute."""

from functools import lru_cache
from struct import Struct

_MASK = 0xFFFFFFFF
_M = 0x5BD1E995
_SEED = 0x9747B28C


def murmur2(data: bytes) -> int:
    """The 32-bit hash of Kafka's default partitioner, unsigned."""
    m, mask = _M, _MASK
    length = len(data)
    h = _SEED ^ length
    for word in _words(length >> 2).unpack_from(data):
        k = word * m & mask
        h = (h * m ^ (k ^ (k >> 24)) * m) & mask
    if length & 3:
        h = (h ^ int.from_bytes(data[length & ~3 :], "little")) * m & mask
    h = (h ^ (h >> 13)) * _M & _MASK
    return h ^ (h >> 15)


@lru_cache(maxsize=1024)
def _words(count: int) -> Struct:
    return Struct(f"<{count}I")


@lru_cache(maxsize=65_536)
def partition_of(name: str, partitions: int) -> int:
    """The home partition of a key."""
    return (murmur2(name.encode()) & 0x7FFFFFFF) % partitions
