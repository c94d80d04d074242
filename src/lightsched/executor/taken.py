"""What was taken from a topic, and how far is this executor with it? Nothing is decoded in advance."""

from collections.abc import Mapping

from lightsched.event.record import Record

Place = tuple[str, int]
"""Topic and partition."""


class Taken:
    """A delivery that this executor is at work on."""

    __slots__ = (
        "beat_at",
        "headers",
        "home",
        "key",
        "lane",
        "leased",
        "offset",
        "place",
        "running",
        "settled",
        "timeout_ms",
        "value",
    )

    def __init__(self, place: Place, offset: int, key: bytes, value: bytes, headers: Mapping[str, bytes]) -> None:
        self.place = place
        self.offset = offset
        self.key = key
        self.value = value
        self.headers = headers
        self.lane = headers.get("ls_tenant", b"") + b"\0" + key  # those of one key of a tenant follow each other
        self.timeout_ms = int(headers.get("ls_timeout", 0))  # 0: nobody waits for a report
        self.home = int(headers.get("ls_partition", 0))  # where reports on it go to
        self.beat_at = 0.0  # when it is time for a heartbeat, by the loop's clock
        self.running = False
        self.leased = False  # it has had a heartbeat: if this process dies, its lease brings it back, not its place
        self.settled = False  # it is done with: reported on, or nobody waits for that

    @property
    def name(self) -> str:
        """The delivery's id."""
        return self.headers.get("ce_id", b"").decode()

    @property
    def run(self) -> str:
        """The delivery's id without the attempt."""
        name = self.name
        return name.rpartition("#")[0] or name


def taken_of(topic: str, record: Record) -> Taken:
    """A delivery that was found by other ways than those of an executor."""
    return Taken((topic, 0), 0, record.key or b"", record.value or b"", dict(record.headers))
