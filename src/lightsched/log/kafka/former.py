"""Is this node still a member from before it was killed? Then it says goodbye for its former self.

Otherwise the group would wait for that one until its session has timed out, and a quick restart would not be quick. The
name of the member is kept in the node's directory, which no two nodes share; should the former one live all the same,
it joins again, which costs a rebalance and nothing else.
"""

import logging
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.protocol.group import LeaveGroupRequest

log = logging.getLogger(__name__)


class Former:
    """The last member of a group that this directory has seen."""

    def __init__(self, path: Path, group: str) -> None:
        self._file = path / "member"
        self._group = group

    def remember(self, member: str) -> None:
        """This is the one now."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(f"{self._group}\n{member}\n", encoding="utf-8")

    def forget(self) -> None:
        """It has left by itself."""
        self._file.unlink(missing_ok=True)

    async def leave(self, admin: AIOKafkaAdminClient) -> None:
        """Leave the group in its name; if that cannot be done, the session times out."""
        if not self._file.is_file():
            return
        group, _, member = self._file.read_text(encoding="utf-8").strip().partition("\n")
        if group == self._group and member:
            try:
                coordinator = await admin.find_coordinator(group)
                await admin._send_request_to_node(coordinator, LeaveGroupRequest(group, member))  # noqa: SLF001
            except (KafkaError, TimeoutError) as error:
                log.warning("the group waits until the former member of this node has timed out: %r", error)
        self.forget()
