"""Which delivery is next? In the order in which they came, but of one key only when the one before it is done."""

from collections import deque
from collections.abc import Callable

from lightsched.executor.taken import Taken


class Lanes:
    """Deliveries that wait for their turn. Different keys do not wait for each other."""

    def __init__(self) -> None:
        self.ready: deque[Taken] = deque()
        self._behind: dict[bytes, deque[Taken] | None] = {}  # those that wait behind one of their key that is not done

    def put(self, taken: Taken) -> None:
        """It has come."""
        behind, lane = self._behind, taken.lane
        if lane not in behind:
            behind[lane] = None
            self.ready.append(taken)
            return
        waiting = behind[lane]
        if waiting is None:
            behind[lane] = deque([taken])
        else:
            waiting.append(taken)

    def done(self, taken: Taken) -> bool:
        """It is done with: is the next of its key ready now?"""
        behind, lane = self._behind, taken.lane
        waiting = behind[lane]
        if not waiting:
            del behind[lane]
            return False
        self.ready.append(waiting.popleft())
        return True

    def drop(self, unwanted: Callable[[Taken], bool]) -> list[Taken]:
        """Let go of those that wait and are not wanted any more."""
        dropped: list[Taken] = []
        for lane, waiting in self._behind.items():
            if waiting:
                dropped += [taken for taken in waiting if unwanted(taken)]
                self._behind[lane] = deque(taken for taken in waiting if not unwanted(taken))
        ready, self.ready = self.ready, deque()
        for taken in ready:
            if unwanted(taken):
                dropped.append(taken)
                self.done(taken)
            else:
                self.ready.append(taken)
        return dropped
