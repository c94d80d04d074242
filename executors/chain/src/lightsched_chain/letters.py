"""Which letters wait for a chain? Kept in memory only, since each is an event that comes again until it was taken in.

All events of a chain have one key, so they come to one executor, one after the other. If that one dies, the letters
come to the next; nothing but a little time is lost.
"""

from collections import OrderedDict
from collections.abc import Mapping

from lightsched_chain.state import Letter

MOST_CHAINS = 10_000


class Letters:
    """What came for each chain, and which stages have been taken in."""

    def __init__(self) -> None:
        self._letters: OrderedDict[str, dict[str, Letter]] = OrderedDict()
        self._taken_in: OrderedDict[str, frozenset[str] | None] = OrderedDict()

    def put(self, chain: str, letter: Letter) -> None:
        """One has come; the first for a stage counts."""
        self._letters.setdefault(chain, {}).setdefault(letter.stage, letter)
        self._letters.move_to_end(chain)
        while len(self._letters) > MOST_CHAINS:
            self._letters.popitem(last=False)

    def of(self, chain: str) -> Mapping[str, Letter]:
        """All that came for a chain."""
        return self._letters.get(chain, {})

    def take_in(self, chain: str, done: frozenset[str] | None) -> None:
        """The chain's state, as it was delivered, has these stages; None: the chain is over.

        What an executor makes of a state is no reason to forget a letter: its report may be lost, or be too late.
        """
        left = {stage: letter for stage, letter in self.of(chain).items() if done is not None and stage not in done}
        if left:
            self._letters[chain] = left
        else:
            self._letters.pop(chain, None)
        self._taken_in[chain] = done
        self._taken_in.move_to_end(chain)
        while len(self._taken_in) > MOST_CHAINS:
            self._taken_in.popitem(last=False)

    def settled(self, chain: str, stage: str) -> bool:
        """Is it known that nobody needs this letter any more?"""
        done = self._taken_in.get(chain, frozenset())
        return done is None or stage in done
