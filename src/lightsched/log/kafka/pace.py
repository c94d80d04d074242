"""How often are steps committed? At once while it is quiet; in larger steps while it is busy.

A transaction costs a node and its brokers about the same whether it holds one event or hundreds. So when all partitions
together commit often, each of them waits a little between two steps: lateness grows by less than that, and what a
second can hold grows by much more.
"""

from collections import deque

BUSY_PER_S = 120
"""Transactions of all partitions of a node."""
PACE_S = 0.035
"""From one commit of a partition to its next step, while it is busy."""


class Pace:
    """The rhythm of one node's commits."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=BUSY_PER_S)

    def committed(self, now_s: float) -> None:
        """A step was committed."""
        self._recent.append(now_s)

    def wait_s(self, last_s: float, now_s: float) -> float:
        """How long a partition that committed last at `last_s` should wait before its next step."""
        busy = len(self._recent) == BUSY_PER_S and now_s - self._recent[0] < 1.0
        return max(last_s + PACE_S - now_s, 0.0) if busy else 0.0
