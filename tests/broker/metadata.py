"""Which brokers does a broker know?

A port that is open says little: a broker listens before it serves, and a stopped one goes on listening. So this asks
for metadata, in the few bytes that it takes, without a client that would retry, log and need an event loop.
"""

import socket
import struct

METADATA = 3
VERSION = 1
CORRELATION = 7


def known_brokers(host: str, port: int, timeout_s: float = 2) -> set[int]:
    """The ids of the live brokers, as the one at this address sees them; OSError if it does not answer."""
    request = struct.pack(">hhih", METADATA, VERSION, CORRELATION, -1) + struct.pack(">i", 0)  # no client id, no topics
    with socket.create_connection((host, port), timeout=timeout_s) as connection, connection.makefile("rb") as answer:
        connection.sendall(struct.pack(">i", len(request)) + request)
        length = answer.read(4)
        if len(length) < 4:
            raise ConnectionError("closed without an answer")
        (size,) = struct.unpack(">i", length)
        return _broker_ids(answer.read(size))


def _broker_ids(body: bytes) -> set[int]:
    """Correlation, then an array of (id, host, port, rack or null); topics follow, but none were asked for."""
    correlation, count = struct.unpack_from(">ii", body)
    if correlation != CORRELATION:
        raise ConnectionError("whoever answers is no Kafka broker")
    ids, position = set(), 8
    for _ in range(count):
        node, host_length = struct.unpack_from(">ih", body, position)
        position += 6 + host_length + 4
        (rack_length,) = struct.unpack_from(">h", body, position)
        position += 2 + max(0, rack_length)
        ids.add(node)
    return ids
