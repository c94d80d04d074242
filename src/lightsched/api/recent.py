"""What fired last? The ends of all delivery topics, for a person to look at."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from lightsched.api.delivered import show_fired
from lightsched.api.deliveries import delivery_topics
from lightsched.api.documents import described, refusals
from lightsched.api.face import Running
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.shapes import Recent, answer
from lightsched.event.record import Appended

router = APIRouter(prefix=BASE, tags=["deliveries"])


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
    """The last deliveries on all topics, in short; reading them moves no group."""
    log = face.node.log
    last: list[Appended] = []
    total = 0
    async with face.long_work.turns() as turns:
        for topic in delivery_topics(face):
            bounds = await log.ends(topic)
            ends = {number: end for number, (_, end) in bounds.items()}
            total += sum(ends.values())
            for number, (first, end) in bounds.items():
                if first == end:
                    continue
                last += await log.fetch(topic, ends | {number: max(end - asked.limit, 0)}, asked.limit, 0)
                if turns.over():
                    await turns.rest()
            last = sorted(last, key=lambda appended: -appended.timestamp_ms)[: asked.limit]
    return answer(Recent([show_fired(appended) for appended in last], total))
