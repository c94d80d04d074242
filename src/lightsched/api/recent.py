"""What fired last? The ends of all delivery topics, for a person to look at.

Each partition is read back from its end: not far at first, and further only where all that was read of it is among the
newest. So it takes a few rounds for all topics together, however many there are, and little is read in vain.
"""

from collections.abc import Mapping
from time import monotonic
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from lightsched.api.became import became
from lightsched.api.delivered import show_fired
from lightsched.api.deliveries import delivery_topics
from lightsched.api.documents import described, refusals
from lightsched.api.face import Running
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.shapes import Fired, Recent, answer
from lightsched.event.record import Appended
from lightsched.log.port import Log, Place

router = APIRouter(prefix=BASE, tags=["deliveries"])

MOST_PLACES = 1_000
"""Partitions that are looked at: those with the most records."""
LOOK_FOR_S = 3.0
"""Then what was found so far has to do."""
_FEWEST = 4


class RecentParameters(Parameters):
    """How many."""

    limit: Annotated[int, Field(description="At most so many", ge=1, le=200)] = 50


@router.get(
    "/recent",
    operation_id="recent",
    summary="What fired last?",
    responses={**described(200, "Newest first", Recent), **refusals(400, 403, 503)},
)
async def get_recent(face: Running, asked: Annotated[RecentParameters, Query()]) -> Response:
    """The last deliveries on all topics, in short, and what became of them; reading them moves no group."""
    async with face.long_work.turns():
        bounds = await face.node.log.all_ends(delivery_topics(face))
        fired = await _newest(face.node.log, bounds, asked.limit)
    statuses = await became(face, [each.delivery for each in fired])
    for each in fired:
        each.status = statuses.get(each.delivery)
    return answer(Recent(fired, sum(end for _, end in bounds.values())))


async def _newest(log: Log, bounds: Mapping[Place, tuple[int, int]], limit: int) -> list[Fired]:
    """The newest records between these bounds."""
    until = monotonic() + LOOK_FOR_S
    busiest = sorted(bounds, key=lambda place: bounds[place][1], reverse=True)[:MOST_PLACES]
    unread = {place: range(*bounds[place]) for place in busiest if range(*bounds[place])}
    newest = Newest(limit)
    back = max(2 * limit // max(len(unread), 1), _FEWEST)  # on Kafka, up to half of the offsets are no records
    while unread and monotonic() < until:
        newest.oldest_ms = {}
        await log.look({place: span[-back:] for place, span in unread.items()}, newest.add)
        unread = {place: rest for place, span in unread.items() if (rest := span[:-back]) and newest.may_lack(place)}
        back *= 2
    return newest.shown


class Newest:
    """The newest of many records, in short: what they carry is not kept."""

    def __init__(self, limit: int) -> None:
        self.oldest_ms: dict[Place, int] = {}  # of those that were added
        self._limit = limit
        self._found: list[tuple[int, Place, int, Fired]] = []  # time, place, offset: newest first
        self._from_ms = 0  # older ones are not among them

    @property
    def shown(self) -> list[Fired]:
        """All of them, newest first."""
        return [fired for *_, fired in self._found]

    def add(self, records: list[Appended]) -> None:
        """Look at some more."""
        for record in records:
            place, time_ms = (record.topic, record.partition), record.timestamp_ms
            self.oldest_ms[place] = min(self.oldest_ms.get(place, time_ms), time_ms)
            if time_ms >= self._from_ms:
                self._found.append((time_ms, place, record.offset, show_fired(record)))
        self._found.sort(key=lambda each: each[:3], reverse=True)
        del self._found[self._limit :]
        if len(self._found) == self._limit:
            self._from_ms = self._found[-1][0]

    def may_lack(self, place: Place) -> bool:
        """Can what lies before those of a place be among the newest?"""
        return self.oldest_ms.get(place, self._from_ms) >= self._from_ms
