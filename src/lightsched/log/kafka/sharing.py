"""Which node gets which partition? All have as many, give or take one; what runs stays where it runs, and what has to
move goes where a store of it already is: there only the rest of its changelog is to be applied.

So a node that is started again gets its own partitions back, and moving them costs little.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec
from aiokafka.cluster import ClusterMetadata
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

log = logging.getLogger(__name__)

_VERSION = 0


class Claim(msgspec.Struct, array_like=True, frozen=True):
    """What a member of the group says of itself when it joins."""

    running: frozenset[int] = frozenset()
    stored: dict[int, int] = {}  # partition → when its store was last written, in ms since epoch


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Claim).decode


def _claimed(said: bytes | None) -> Claim:
    """What a member says; one that says something else claims nothing, and the group goes on with it."""
    try:
        return _decode(said or b"")
    except msgspec.DecodeError as error:
        log.warning("a member of the group makes no claim that can be read: %s", error)
        return Claim()


def share(partitions: int, claims: Mapping[str, Claim]) -> dict[str, set[int]]:
    """Member → its partitions.

    1. Every member keeps what it runs; if two say so, one of them.
    2. Who runs more than its share gives some up: first those that members with room have the newest stores of.
    3. What nobody has now goes to members with room: first to those with a store of it, the newest one.
    """
    free = set(range(partitions))
    shared: dict[str, set[int]] = {}
    for member in sorted(claims):
        shared[member] = free & claims[member].running
        free -= shared[member]
    room = {member: size - len(shared[member]) for member, size in _sizes(partitions, shared).items()}
    wanting = [claims[member].stored for member, count in room.items() if count > 0]
    for member, count in room.items():
        newest = {number: max((each.get(number, 0) for each in wanting), default=0) for number in shared[member]}
        given = sorted(newest, key=lambda number: (-newest[number], number))[: max(-count, 0)]
        shared[member] -= set(given)
        free |= set(given)
        room[member] += len(given)
    for only_stored in (True, False):
        for number in sorted(free):
            takers = [each for each in room if room[each] and (number in claims[each].stored or not only_stored)]
            if takers:
                taker = max(takers, key=lambda each: (claims[each].stored.get(number, 0), room[each], each))
                shared[taker].add(number)
                room[taker] -= 1
                free.remove(number)
    return shared


def _sizes(partitions: int, running: Mapping[str, Collection[int]]) -> dict[str, int]:
    """How many each one gets: where the number cannot be equal, those that run the most get one more."""
    least, more = divmod(partitions, len(running))
    by_load = sorted(running, key=lambda member: (-len(running[member]), member))
    return {member: least + (place < more) for place, member in enumerate(by_load)}


class Sharing:
    """The rule as aiokafka wants it, for one topic and one member (its own ones keep their state in the class)."""

    name = "lightsched"

    def __init__(self, topic: str, partitions: int, claim: Callable[[], Claim]) -> None:
        """`partitions`: as it was set up; what the brokers say may be incomplete, or have grown by mistake."""
        self._topic = topic
        self._partitions = partitions
        self._claim = claim

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """What this member says when it joins."""
        return ConsumerProtocolMemberMetadata(_VERSION, list(topics), _encode(self._claim()))

    def assign(
        self, _cluster: ClusterMetadata, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """Asked of one member, for all."""
        claims = {member: _claimed(said.user_data) for member, said in members.items()}
        return {
            member: ConsumerProtocolMemberAssignment(_VERSION, [(self._topic, sorted(numbers))], b"")
            for member, numbers in share(self._partitions, claims).items()
        }

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """The membership hears of it, too."""
