"""What was taken from a topic, and how far is this executor with it?

Anybody may write to a topic. What the executor itself goes by is looked at here, once; a record in which that makes no
sense is no delivery.
"""

from collections.abc import Mapping

from lightsched.event.delivery import LAST_MS
from lightsched.event.record import Record

Place = tuple[str, int]
"""Topic and partition."""
_MOST_DIGITS = len(str(LAST_MS))


class Taken:
    """A delivery that this executor is at work on."""

    __slots__ = (
        "attempt",
        "beat_at",
        "due_ms",
        "headers",
        "home",
        "key",
        "lane",
        "leased",
        "name",
        "offset",
        "place",
        "running",
        "settled",
        "timeout_ms",
        "token",
        "value",
    )

    def __init__(self, place: Place, offset: int, key: bytes, value: bytes, headers: Mapping[str, bytes]) -> None:
        """`ValueError`: it is no delivery."""
        self.place = place
        self.offset = offset
        self.key = key
        self.value = value
        self.headers = headers
        self.lane = headers.get("ls_tenant", b"") + b"\0" + key  # those of one key of a tenant follow each other
        self.name = headers.get("ce_id", b"").decode()
        self.token = headers.get("ls_report", b"").decode()  # that a report must carry
        headers.get("ce_type", b"").decode()  # in routes it goes by its bytes
        self.due_ms = _number(headers, "ls_due", 0)
        self.attempt = _number(headers, "ls_attempt", 1)
        self.timeout_ms = _number(headers, "ls_timeout", 0)  # 0: nobody waits for a report
        self.home = _number(headers, "ls_partition", 0)  # where reports on it go to
        self.beat_at = 0.0  # when it is time for a heartbeat, by the loop's clock
        self.running = False
        self.leased = False  # it has had a heartbeat: if this process dies, its lease brings it back, not its place
        self.settled = False  # it is done with: reported on, or nobody waits for that

    @property
    def run(self) -> str:
        """The delivery's id without the attempt."""
        return self.name.rpartition("#")[0] or self.name


def _number(headers: Mapping[str, bytes], name: str, default: int) -> int:
    """Milliseconds, or a count."""
    text = headers.get(name)
    if text is None:
        return default
    number = int(text) if len(text) <= _MOST_DIGITS and text.isdigit() else -1
    if not 0 <= number <= LAST_MS:
        raise ValueError(f"{name}: {text[:100]!r} is no number that a delivery has")
    return number


def taken_of(topic: str, record: Record) -> Taken:
    """A delivery that was found by other ways than those of an executor."""
    return Taken((topic, 0), 0, record.key or b"", record.value or b"", dict(record.headers))
