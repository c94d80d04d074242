"""Is a file complete? If it has not changed for a while: counted from its last write, or from when it was seen so.

A file that is renamed in has been written before, and is taken at once if that was long enough ago. The time of the
last write may be wrong (another machine's clock, a copied date in the future): then only what is seen here counts.
"""

from collections.abc import Iterable, Iterator

from lightsched_files.folder import Dropped


class Settling:
    """Files that are watched until they are still."""

    def __init__(self, settle_ms: int) -> None:
        self._settle_s = settle_ms / 1000
        self._since: dict[str, tuple[tuple[int, int, int], float]] = {}
        self.wait_s: float | None = None
        """How long until the next one may be complete; None: there is none."""

    def complete(self, dropped: Iterable[Dropped], wall_s: float, now_s: float) -> Iterator[Dropped]:
        """Those that are complete. `wall_s`: the time of day, `now_s`: a clock that never jumps."""
        before, self._since, self.wait_s = self._since, {}, None
        for found in dropped:
            since = before.get(found.name)
            if since is None or since[0] != found.signature:
                since = found.signature, now_s
            age_s = wall_s - found.modified_ns / 1e9
            left_s = self._settle_s - max(age_s, now_s - since[1])
            if left_s <= 0:
                yield found
                continue
            self._since[found.name] = since
            left_s = min(left_s, self._settle_s)
            self.wait_s = left_s if self.wait_s is None else min(self.wait_s, left_s)
