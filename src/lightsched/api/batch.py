"""What comes of many commands? They are handed to the node some at a time, and each is answered for itself.

Where a partition or its owner fails, the outcome of what was for it is not known, and is answered so; the others have
theirs.
"""

import asyncio

from fastapi import Response

from lightsched.api.face import Face
from lightsched.api.lengthy import lengthy_answer
from lightsched.api.outcomes import refuse_outcome, result_of, results_response
from lightsched.api.prepare import Prepared
from lightsched.api.shapes import Result, Taken
from lightsched.api.turns import Turns
from lightsched.engine.conditions import NAME
from lightsched.engine.step import Answer
from lightsched.errors import LightschedError
from lightsched.event.errors import InvalidEvent
from lightsched.event.model import Op
from lightsched.event.record import Record
from lightsched.event.status import Outcome

AT_ONCE = 250
"""Commands handed to the node together: few enough to append within a slice."""
AT_ONCE_BYTES = 400_000
"""And small enough for one batch of any log, with a last one of the usual size on top."""
_RECORD_BYTES = 500  # besides its value
_NOTHING = Result(outcome=None)


class Batch:
    """Many commands, on their way to the node."""

    def __init__(self, face: Face, *, later: bool) -> None:
        """`later`: they are answered once they are durable, before they are carried out."""
        self._face = face
        self._later = later
        self._collected: list[Prepared] = []
        self._handed_over: list[tuple[list[Prepared], asyncio.Task[list[Answer | LightschedError | None]]]] = []
        self._refused: dict[int, Result | Taken] = {}
        self._count = self._bytes = 0

    def add(self, prepared: Prepared) -> None:
        """One more."""
        self._count += 1
        self._collected.append(prepared)
        self._bytes += len(prepared.record.value or b"") + _RECORD_BYTES
        if len(self._collected) == AT_ONCE or self._bytes >= AT_ONCE_BYTES:
            self._hand_over()

    def refuse(self, index: int, error: InvalidEvent) -> None:
        """One that makes no sense. The error itself is not kept: it holds on to where it was raised, and so to all of
        this, until somebody looks for garbage.
        """
        self._count += 1
        self._face.node.metrics.refuse()
        shape = Taken if self._later else Result
        self._refused[index] = shape(index=index, outcome=Outcome.INVALID, error=str(error), errors=error.problems)

    def _hand_over(self) -> None:
        """Tasks start in the order in which they are made, and a log appends in that order: so the order is kept."""
        collected, self._collected, self._bytes = self._collected, [], 0
        placed = [(prepared.partition, prepared.record) for prepared in collected]
        self._handed_over.append((collected, asyncio.create_task(self._send(placed))))

    async def send_first(self) -> None:
        """The first one goes alone: if it is refused for the key of the request, nothing else has happened."""
        self._hand_over()
        (first,) = await self._handed_over[0][1]
        if isinstance(first, Answer) and first.unmet == NAME:
            refuse_outcome(first)

    async def _send(self, placed: list[tuple[int, Record]]) -> list[Answer | LightschedError | None]:
        """What came of each; of those that are only to be durable: nothing, or why it is not known."""
        node, topic = self._face.node, self._face.names.events
        try:
            return list(await (node.commands.leave if self._later else node.commands.submit_each)(topic, placed))
        except LightschedError as error:
            return [error] * len(placed)

    async def finish(self, turns: Turns) -> Response:
        """Wait for all outcomes."""
        if self._collected:
            self._hand_over()
        found = await asyncio.gather(*(task for _, task in self._handed_over))
        show = _taken if self._later else shown_result
        results: list[Result | Taken] = [_NOTHING] * self._count
        for (sent, _), some in zip(self._handed_over, found, strict=True):
            for prepared, came in zip(sent, some, strict=True):
                results[prepared.index] = show(prepared, came)
            if turns.over():
                await turns.rest()
        for index, refused in self._refused.items():
            results[index] = refused
        if self._later:
            return await lengthy_answer(turns, "results", results, 202, {"Preference-Applied": "respond-async"})
        return await results_response(results, turns)


def shown_result(prepared: Prepared, came: Answer | LightschedError | None) -> Result:
    """What came of one, if it is known."""
    if not isinstance(came, Answer):
        error = _not_known(prepared, came)
        return Result(index=prepared.index, id=prepared.id, tenant=prepared.tenant, outcome=None, error=error)
    return result_of(prepared.index, prepared.id, prepared.tenant, came)


def _taken(prepared: Prepared, came: Answer | LightschedError | None) -> Taken:
    if came is None:
        return Taken(id=prepared.id, tenant=prepared.tenant)
    return Taken(index=prepared.index, id=prepared.id, tenant=prepared.tenant, error=_not_known(prepared, came))


def _not_known(prepared: Prepared, why: object) -> str:
    again = (
        "Look at its runs before you send it again."
        if prepared.op is Op.TRIGGER
        else "Sending it again with this id is safe."
    )
    return f"It is not known whether this was accepted. {why} {again}"
