"""Which deliveries does nobody handle? Types that were delivered to a topic and that no executor there takes care of.

What this process executes is known by type. Of those who poll from elsewhere it is only known that they do: while
somebody polls a topic, what is delivered there counts as handled.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import NamedTuple

from lightsched.api.deliveries import delivery_topics
from lightsched.api.face import Face
from lightsched.event.record import Appended

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
MOST_AT_ONCE = 200
"""Of a topic, with each look: with more than that, it is enough to see some."""
MOST_TYPES = 1_000


class Handled(NamedTuple):
    """What an executor of this process takes care of."""

    topic: str
    group: str
    patterns: frozenset[str]  # `mail.send`, `mail.*`, `*`

    def has(self, topic: str, type: str) -> bool:
        """Does it execute this?"""
        names = type.split(".")
        wider = {".".join([*names[:n], "*"]) for n in range(len(names))}
        return topic == self.topic and not self.patterns.isdisjoint({type, *wider})


class Unhandled:
    """The types that nobody handles, by topic."""

    def __init__(self, face: Face, handled: Iterable[Handled]) -> None:
        self._face = face
        self._handled = tuple(handled)
        self._own = {(each.topic, each.group) for each in self._handled}
        self._seen: dict[str, set[str]] = {}
        self._positions: dict[str, dict[int, int]] = {}

    @property
    def types(self) -> list[str]:
        """Those of topics that nobody else polls now."""
        return sorted({type for topic, types in self._seen.items() if not self._polled(topic) for type in types})

    async def watch(self) -> None:
        """Look at what is delivered, and say it once of each type."""
        while True:
            for topic in delivery_topics(self._face):
                for appended in await self._next(topic):
                    self._look_at(topic, appended)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _next(self, topic: str) -> list[Appended]:
        """What has come since the last look. What came before the first one was told before."""
        node_log = self._face.node.log
        positions = self._positions.get(topic)
        if positions is None:
            first = not self._positions
            positions = {
                number: end if first else start for number, (start, end) in (await node_log.ends(topic)).items()
            }
        found = await node_log.fetch(topic, positions, MOST_AT_ONCE, 0)
        if len(found) == MOST_AT_ONCE:
            positions = {number: end for number, (_, end) in (await node_log.ends(topic)).items()}
        else:
            positions = positions | {appended.partition: appended.offset + 1 for appended in found}
        self._positions[topic] = positions
        return found

    def _look_at(self, topic: str, appended: Appended) -> None:
        type_ = next(
            (value.decode(errors="replace") for name, value in appended.record.headers if name == "ce_type"), ""
        )
        types = self._seen.setdefault(topic, set())
        if type_ in types or len(types) >= MOST_TYPES or any(each.has(topic, type_) for each in self._handled):
            return
        if not self._polled(topic):
            types.add(type_)
            log.warning(
                "nobody handles deliveries of the type %r on %s: start an executor for it, see docs/executors.md",
                type_,
                topic,
            )

    def _polled(self, topic: str) -> bool:
        return any(reader[0] == topic and reader not in self._own for reader in list(self._face.readers))
