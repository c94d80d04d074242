"""How long until the next attempt?

Either a delay that grows by a factor up to a maximum, or a list of delays. `attempts` counts the first one, so a list
of n delays means n + 1 attempts. Jitter spreads a delay by that fraction in both directions, always the same for the
same seed and attempt, and never beyond the maximum.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from lightsched.timing.duration import format_compact, parse_delay, parse_duration
from lightsched.timing.errors import TimingError, shown
from lightsched.timing.jitter import spread
from lightsched.timing.limits import HOUR_MS, MINUTE_MS

MOST_ATTEMPTS = 1_000
_BITS = float(1 << 64)


@dataclass(frozen=True, slots=True)
class Backoff:
    """The delays between the attempts of one run. Make it with `Backoff.parse`."""

    attempts: int
    delay_ms: int = MINUTE_MS
    factor: float = 2.0
    max_ms: int = HOUR_MS
    jitter: float = 0.0
    delays_ms: tuple[int, ...] = ()

    @staticmethod
    def parse(
        *,
        attempts: int | None = None,
        delay: str | None = None,
        factor: float | None = None,
        max: str | None = None,
        jitter: float | None = None,
        delays: Sequence[str] | None = None,
    ) -> "Backoff":
        return _parse(attempts, delay, factor, max, jitter, None if delays is None else tuple(delays))

    def delay_after(self, attempt: int, seed: str) -> int | None:
        """Milliseconds from the failure of an attempt (the first is 1) to the next one; none when they are used up."""
        assert attempt >= 1
        if attempt >= self.attempts:
            return None
        delay_ms = self.delays_ms[attempt - 1] if self.delays_ms else self._grown(attempt - 1)
        if not self.jitter or not delay_ms:
            return delay_ms
        lowest, highest = delay_ms * (1 - self.jitter), delay_ms * (1 + self.jitter)
        if not self.delays_ms:
            highest = min(highest, self.max_ms)
        return max(1, round(lowest + (highest - lowest) * (spread(f"{seed}#{attempt}") / _BITS)))

    def _grown(self, times: int) -> int:
        # In logarithms, since a factor of 1e300 to the power of 999 is no float; none at all does not grow.
        if not self.delay_ms:
            return 0
        if times * math.log(self.factor) >= math.log(self.max_ms / self.delay_ms):
            return self.max_ms
        return min(self.max_ms, round(self.delay_ms * self.factor**times))


@lru_cache(maxsize=4096, typed=True)  # typed: True is not 1 here
def _parse(  # noqa: PLR0917 -- the cache wants them in one order
    attempts: int | None,
    delay: str | None,
    factor: float | None,
    max_: str | None,
    jitter: float | None,
    delays: tuple[str, ...] | None,
) -> Backoff:
    spread_by = _number("jitter", jitter, 0.0, 1.0, 0.0)
    if delays is not None:
        _only_delays(attempts=attempts, delay=delay, factor=factor, max=max_)
        if not 1 <= len(delays) < MOST_ATTEMPTS:
            raise TimingError(f"retry 'delays' has {len(delays)} entries: write 1 to {MOST_ATTEMPTS - 1} of them")
        listed = tuple(_read("delays", text, parse_delay) for text in delays)
        return Backoff(attempts=len(listed) + 1, jitter=spread_by, delays_ms=listed)
    if attempts is None:
        raise TimingError("retry says neither 'attempts' nor 'delays': write for example attempts 5")
    if type(attempts) is not int or not 1 <= attempts <= MOST_ATTEMPTS:
        raise TimingError(f"retry 'attempts' is {shown(attempts)}: write a whole number from 1 to {MOST_ATTEMPTS:,}")
    delay_ms = MINUTE_MS if delay is None else _read("delay", delay, parse_delay)
    max_ms = max(HOUR_MS, delay_ms) if max_ is None else _read("max", max_, parse_duration)
    if delay_ms > max_ms:
        raise TimingError(
            f"retry 'delay' ({format_compact(delay_ms)}) is longer than 'max' ({format_compact(max_ms)}): "
            "make it shorter, or 'max' longer"
        )
    growth = _number("factor", factor, 1.0, math.inf, 2.0)
    return Backoff(attempts=attempts, delay_ms=delay_ms, factor=growth, max_ms=max_ms, jitter=spread_by)


def _only_delays(**others: object) -> None:
    given = [f"'{name}'" for name, value in others.items() if value is not None]
    if given:
        raise TimingError(f"retry has 'delays' and {', '.join(given)}: the list already says how often and how long")


def _read(field: str, text: str, parse: Callable[[str], int]) -> int:
    try:
        return parse(text)
    except TimingError as error:
        raise TimingError(f"retry '{field}': {error}") from None


def _number(field: str, value: float | None, lowest: float, highest: float, otherwise: float) -> float:
    if value is None:
        return otherwise
    if type(value) not in (int, float) or not lowest <= value <= min(highest, sys.float_info.max):
        bound = f"from {lowest:g} to {highest:g}" if math.isfinite(highest) else f"of {lowest:g} or more"
        raise TimingError(f"retry '{field}' is {shown(value)}: write a number {bound}")
    return float(value)
