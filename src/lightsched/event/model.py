"""What is an event? The one model: what is sent on Kafka, by REST and in files is decoded into these Structs.

Fields hold what was sent; `lightsched.event.check` says whether it makes sense and `lightsched.event.schedule` turns it
into fire times. The payload is kept as the bytes that were sent.
"""

from enum import StrEnum
from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from lightsched.event.members import plain_members


@plain_members
class Op(StrEnum):
    """What is asked of an event."""

    SCHEDULE = "schedule"
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    TRIGGER = "trigger"


class WindowSpec(
    msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True, rename={"from_": "from"}
):
    """When it may fire: between two times of day, on some days."""

    from_: str | None = None
    to: str | None = None
    days: tuple[str, ...] | None = None
    timezone: str | None = None
    exclude: tuple[str, ...] = ()


class RetrySpec(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, frozen=True):
    """How often to try again, and when: growing delays, or a list of them."""

    attempts: int | None = None
    delay: str | None = None
    factor: float | int | None = None
    max: str | None = None
    jitter: float | int | None = None
    delays: tuple[str, ...] | None = None


class Event(
    msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True, rename={"in_": "in"}, gc=False
):
    """What a user schedules, or a command about it."""

    op: Op = Op.SCHEDULE
    id: str = ""
    tenant: str = "default"
    key: str = ""
    type: str = "event"
    at: str | int | None = None
    in_: str | None = None
    cron: str | None = None
    every: str | None = None
    timezone: str | None = None
    starts_at: str | int | None = None
    ends_at: str | int | None = None
    max_runs: int | None = None
    jitter: str | None = None
    window: WindowSpec | None = None
    catch_up: Literal["latest", "all", "none"] = "latest"
    look_back: str = "60m"
    overlap: Literal["allow", "skip", "queue"] | None = None
    retry: RetrySpec | None = None
    timeout: str | None = None
    until: Literal["success"] | None = None
    expires_in: str | None = None
    topics: tuple[str, ...] = ()
    priority: int = 5
    headers: dict[str, str] = {}
    labels: dict[str, str] = {}
    payload: Raw | UnsetType = UNSET
    payload_base64: str | None = None
    on_conflict: Literal["replace", "keep", "reject"] = "replace"
    if_revision: int | None = None
    track: bool | None = None
    reason: str = ""

    @property
    def repeats(self) -> bool:
        """A recurrence, not a one-shot."""
        return self.cron is not None or self.every is not None

    @property
    def tracked(self) -> bool:
        """Executors report on its deliveries."""
        if self.track is not None:
            return self.track
        return not (self.retry is None and self.timeout is None and self.overlap is None and self.until is None)


decoder = msgspec.json.Decoder(Event)
encoder = msgspec.json.Encoder(order="deterministic")  # the order of headers and labels means nothing
