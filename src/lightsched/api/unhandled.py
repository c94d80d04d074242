"""Which deliveries does nobody handle? Types that were delivered to a topic and that no executor there takes care of.

What this process executes is known by type. Of those who read from elsewhere it is only known that they do: while
somebody reads a topic (`lightsched.api.audience`), and for those who come in a moment, what is delivered there counts
as handled.
"""

import asyncio
import logging
from collections.abc import Iterable
from time import monotonic
from typing import NamedTuple

from lightsched.api.deliveries import delivery_topics
from lightsched.api.face import Face
from lightsched.event.record import Appended

log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.5
MOST_AT_ONCE = 200
"""Of a topic, with each look: with more than that, it is enough to see some."""
MOST_TYPES = 1_000
GRACE_S = 5.0
"""From a delivery until it is said that nobody handles it: whoever is to read it may be on the way."""


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
        self._seen: dict[str, dict[str, float]] = {}  # topic → type → since when nobody has read it
        self._said: dict[str, set[str]] = {}  # topic → types
        self._positions: dict[str, dict[int, int]] = {}

    @property
    def types(self) -> list[str]:
        """Those that were named and are still to be read, of topics that nobody else reads now."""
        return sorted(
            {type for topic in self._seen for type in self._alone(topic) if type in self._said.get(topic, ())}
        )

    async def watch(self) -> None:
        """Look at what is delivered, and say it once of each type."""
        for topic in delivery_topics(self._face):  # what came before was read, or told of, before
            self._positions[topic] = {
                number: end for number, (_, end) in (await self._face.node.log.ends(topic)).items()
            }
        while True:
            for topic in delivery_topics(self._face):
                for appended in await self._next(topic):
                    self._look_at(topic, appended)
                self._say(topic)
            await asyncio.sleep(LOOK_EVERY_S)

    async def _next(self, topic: str) -> list[Appended]:
        """What has come since the last look; on a topic that is new, all."""
        node_log = self._face.node.log
        positions = self._positions.get(topic, {})
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
        types = self._seen.setdefault(topic, {})
        if len(types) < MOST_TYPES and not any(each.has(topic, type_) for each in self._handled):
            types.setdefault(type_, monotonic())

    def _say(self, topic: str) -> None:
        if self._face.audience.reads(topic, self._own):
            self._seen.pop(topic, None)  # it has been there to be read
            if len(self._said.get(topic, ())) >= MOST_TYPES:
                del self._said[topic]  # somebody makes them up: better said twice than kept for ever
        said = self._said.setdefault(topic, set())
        for type_ in self._alone(topic):
            if type_ not in said:
                said.add(type_)
                log.warning(
                    "nobody handles deliveries of the type %r on %s: start an executor for it, see docs/executors.md",
                    type_,
                    topic,
                )

    def _alone(self, topic: str) -> list[str]:
        """The types that nobody has come for in time."""
        if self._face.audience.reads(topic, self._own):
            return []
        since = monotonic() - GRACE_S
        return [type for type, seen in self._seen.get(topic, {}).items() if seen <= since]
