"""By how much is this event shifted, so that not all fire at once?

By the same amount on every node and after every restart: it follows from who the event is.
"""

from hashlib import blake2b


def offset(identity: str, jitter_ms: int) -> int:
    """From 0 until before `jitter_ms`; 0 when there is no jitter."""
    return spread(identity) * jitter_ms >> 64 if jitter_ms > 0 else 0


def spread(seed: str) -> int:
    """A number of 64 bits that is evenly spread over seeds."""
    return int.from_bytes(blake2b(seed.encode("utf-8", "surrogatepass"), digest_size=8).digest())
