"""What are the topics called? The contract's names behind a prefix."""

import re
from dataclasses import dataclass
from functools import cached_property

NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
KAFKAS_OWN = "__"
"""How the topics begin that Kafka keeps for itself; nobody else may write to them."""


@dataclass(frozen=True)
class Topics:
    """The names of lightsched's own topics."""

    prefix: str = "lightsched."

    @property
    def events(self) -> str:
        """Commands."""
        return self.prefix + "events"

    @property
    def reports(self) -> str:
        """What executors say."""
        return self.prefix + "reports"

    @property
    def deliveries(self) -> str:
        """The default delivery topic."""
        return self.prefix + "deliveries"

    @property
    def changelog(self) -> str:
        """Partition state, on Kafka."""
        return self.prefix + "changelog"

    @property
    def audit(self) -> str:
        """One record per step."""
        return self.prefix + "audit"

    @property
    def dead_letter(self) -> str:
        """What could not be understood or delivered."""
        return self.prefix + "dead-letter"

    @property
    def nodes(self) -> str:
        """The registry."""
        return self.prefix + "nodes"

    @cached_property
    def default(self) -> tuple[str, ...]:
        """The default delivery topic, as events name theirs."""
        return (self.deliveries,)

    @property
    def own(self) -> frozenset[str]:
        """Topics that no event may be delivered to: lightsched itself reads or writes them."""
        return frozenset({self.events, self.reports, self.changelog, self.audit, self.dead_letter, self.nodes})


DEFAULT = Topics()
