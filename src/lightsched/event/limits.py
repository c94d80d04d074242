"""How much is too much? A limit on everything that comes from outside."""

from dataclasses import dataclass

from lightsched.event.topics import DEFAULT, Topics

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Limits:
    """What an event may ask for. The defaults are the contract's."""

    payload: int = 256 * 1024  # bytes
    horizon_ms: int = 3653 * DAY_MS  # how far ahead `at` may lie: ten years, with their leap days
    keep_ms: int = 7 * DAY_MS  # history; a one-shot that is older on arrival is EXPIRED
    headers: int = 64  # entries
    header_bytes: int = 16 * 1024  # names and values together
    labels: int = 64
    label_bytes: int = 16 * 1024
    topics: int = 16
    then: int = 100  # follow-up events of one report
    result: int = 64 * 1024  # bytes of a report's result that are kept
    error: int = 2_000  # characters of a report's error that are kept
    record: int = 1024 * 1024  # bytes of a record on the events or reports topic
    min_every_ms: int = 100
    names: Topics = DEFAULT  # own topics may not be delivered to


DEFAULT_LIMITS = Limits()
