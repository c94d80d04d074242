"""What does a record on a delivery topic say? The payload is its value; all else is in its headers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_OURS = ("ce_", "ls_")


@dataclass(frozen=True)
class Delivery:
    """One attempt of one run."""

    headers: Mapping[str, bytes]
    key: bytes
    value: bytes

    def text(self, header: str) -> str:
        """A header, or nothing."""
        return self.headers.get(header, b"").decode(errors="replace")

    @property
    def name(self) -> str:
        """The id of this attempt, the same however often it comes: go by it to do nothing twice."""
        return self.text("ce_id")

    @property
    def id(self) -> str:
        """The event's id."""
        return self.text("ls_id")

    @property
    def tenant(self) -> str:
        """Whose event it is."""
        return self.text("ls_tenant")

    @property
    def type(self) -> str:
        """What kind of work."""
        return self.text("ce_type")

    @property
    def attempt(self) -> int:
        """Which attempt of its run, from 1 on."""
        return int(self.headers.get("ls_attempt", b"1"))

    @property
    def partition(self) -> int:
        """Where reports on it go to."""
        return int(self.headers["ls_partition"])

    @property
    def timeout_s(self) -> float:
        """It may go so long without a report or heartbeat; 0: nobody waits for a report."""
        return int(self.headers.get("ls_timeout", b"0")) / 1000

    @property
    def own_headers(self) -> dict[str, str]:
        """The event's own headers."""
        return {name: self.text(name) for name in self.headers if not name.startswith(_OURS)}

    @property
    def payload(self) -> Any:
        """The JSON value; bytes where it says that it is none."""
        if not self.value:
            return None
        media_type = self.text("content-type").partition(";")[0].strip().lower()
        if media_type == "application/json" or media_type.endswith("+json"):
            return json.loads(self.value)
        return self.value
