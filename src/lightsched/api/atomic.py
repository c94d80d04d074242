"""All or none? With `?atomic=true` the commands of an array are appended in one write, or nothing of it happens.

All are checked before. What becomes of each is then decided in its own partition, as always, so a command that may
be refused there is not taken: one with `on_conflict: reject` or `if_revision`. A cancel may still come too late.
"""

from collections.abc import Sequence

from msgspec import UNSET
from starlette.responses import Response

from lightsched.api.batch import shown_result
from lightsched.api.body import Item
from lightsched.api.face import Face
from lightsched.api.lengthy import lengthy_answer
from lightsched.api.outcomes import refuse_outcome
from lightsched.api.prepare import Asked, Prepared, prepare
from lightsched.api.problem import INVALID, Refusal
from lightsched.api.shapes import Taken
from lightsched.api.turns import Turns
from lightsched.engine.conditions import NAME
from lightsched.engine.step import Answer
from lightsched.event.errors import InvalidEvent, Problem
from lightsched.event.record import Record
from lightsched.event.status import Outcome

_MOST_PROBLEMS = 100
_CONDITIONAL = (
    "`on_conflict: reject` and `if_revision` are decided where the event lives, too late for all or none: "
    "leave them out, or send it alone"
)


async def all_or_none(face: Face, items: Sequence[Item], asked: Asked, turns: Turns) -> Response:
    """Check all, append all, answer all."""
    prepared = await _prepare_all(face, items, asked, turns)
    if asked.later:
        placed: dict[int, list[Record]] = {}
        for each in prepared:
            placed.setdefault(each.partition, []).append(each.record)
        if placed:
            await face.node.log.append_all(face.names.events, placed)
        taken = [Taken(id=each.id, tenant=each.tenant) for each in prepared]
        return await lengthy_answer(turns, "results", taken, 202, {"Preference-Applied": "respond-async"})
    records = [(each.partition, each.record) for each in prepared]
    answers = await face.node.commands.submit_all(face.names.events, records) if records else []
    for came in answers:
        if isinstance(came, Answer) and came.unmet == NAME:
            refuse_outcome(came)
    shown = [shown_result(*each) for each in zip(prepared, answers, strict=True)]
    forwarded = any(result.outcome is Outcome.FORWARDED for result in shown)
    good = all(result.index is UNSET for result in shown)
    return await lengthy_answer(turns, "results", shown, 207 if not good else 202 if forwarded else 201)


async def _prepare_all(face: Face, items: Sequence[Item], asked: Asked, turns: Turns) -> list[Prepared]:
    prepared: list[Prepared] = []
    problems: list[Problem] = []
    now_ms = face.now_ms
    for index, raw in enumerate(items):
        try:
            prepared.append(prepare(face, bytes(raw), asked, now_ms, index))
            if prepared[-1].conditional:
                problems.append(Problem(f"[{index}]", _CONDITIONAL))
        except InvalidEvent as error:
            problems += [Problem(f"[{index}].{found.field}".rstrip("."), found.message) for found in error.problems]
        if len(problems) >= _MOST_PROBLEMS:
            break
        if turns.over():
            await turns.rest()
    if problems:
        detail = f"None was carried out: {problems[0]}" + (f", and {len(problems) - 1} more" if problems[1:] else "")
        raise Refusal(INVALID, detail + ".", problems, outcome=Outcome.INVALID)
    return prepared
