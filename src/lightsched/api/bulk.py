"""How are many events cancelled, paused, resumed or triggered at once? By a filter; the answer is how many.

The events that match are found page by page, on all nodes, and each page is carried out before the next is looked for.
A call ends after a while: then its answer has a cursor, and the same call with it goes on. So it does where the next
page cannot be found or sent: what was done before is always told.
"""

from collections import Counter
from time import monotonic
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from lightsched.api.batch import AT_ONCE
from lightsched.api.body import read_model
from lightsched.api.documents import body_of, described, refusals
from lightsched.api.elsewhere import read_everywhere
from lightsched.api.face import Face, Running
from lightsched.api.listing import Filter, Listed, Page, merged, page_of, position
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.prepare import record_of
from lightsched.api.problem import invalid_field
from lightsched.api.shapes import Counts, answer
from lightsched.engine.state import State
from lightsched.engine.step import Answer
from lightsched.errors import LightschedError
from lightsched.event.identity import Identity, identity, parts
from lightsched.event.model import Event, Op
from lightsched.event.status import FINAL, Outcome, Status
from lightsched.store.store import Store

router = APIRouter(prefix=BASE, tags=["events"])
names = APIRouter(prefix=BASE + "/internal", include_in_schema=False)

LASTS_S = 15.0
"""After so long a call answers with what it has done, and a cursor."""


class Bulk(BaseModel):
    """What to do, with which events."""

    model_config = ConfigDict(extra="forbid")

    action: Annotated[Literal["cancel", "pause", "resume", "trigger"], Field(examples=["pause"])]
    filter: Annotated[
        Filter,
        Field(
            description="As for the list of events; without `status`: all that are not over",
            examples=[{"label": ["team=blue"]}],
        ),
    ]
    dry_run: Annotated[bool, Field(description="Only count what matches", examples=[True])] = False
    reason: Annotated[str, Field(max_length=1000, description="Why, for the audit and for `explain`")] = ""
    cursor: Annotated[str | None, Field(description="Of the answer before, to go on from there")] = None


class OfTenant(Parameters):
    """Whose events, if the filter does not say it."""

    tenant: Annotated[
        str | None,
        Field(
            description="The tenant, where the filter names none; one that names another is refused",
            examples=["default"],
        ),
    ] = None


@router.post(
    "/events/bulk",
    operation_id="bulk",
    summary="Cancel, pause, resume or trigger many events",
    responses={
        **described(200, "How many there were, and what came of them", Counts),
        **refusals(400, 403, 413, 503),
    },
    openapi_extra=body_of(
        Bulk, {"action": "pause", "filter": {"label": ["team=blue"]}, "dry_run": True, "reason": "maintenance"}
    ),
)
async def bulk(face: Running, request: Request, whose: Annotated[OfTenant, Query()]) -> Response:
    """Each event that matches gets the command, with its own outcome. A dry run only counts.

    With a cursor in the answer there is more to do: send the same again, with the cursor.
    """
    asked = await read_model(request, Bulk)
    which = _meant(asked.filter, whose.tenant)
    status = which.status or tuple(status for status in Status if status not in FINAL)
    until = monotonic() + LASTS_S
    counts = Counts(matched=0, outcomes={}, unknown=0, dry_run=asked.dry_run, cursor=asked.cursor)
    outcomes: Counter[Outcome] = Counter()
    while True:
        try:
            page = await _next_page(face, which.model_copy(update={"status": status}), counts.cursor)
            found = [] if asked.dry_run else list(page.items)
            came = await _carry_out(face, Op(asked.action), found, asked.reason)
        except LightschedError:
            if not counts.matched:
                raise
            break
        counts.matched += len(page.items)
        counts.cursor = page.cursor
        counts.unknown += len(found) - came.total()
        outcomes += came
        if page.cursor is None or monotonic() >= until:
            break
    counts.outcomes = dict(outcomes)
    return answer(counts)


def _meant(which: Filter, tenant: str | None) -> Filter:
    """The filter, for the tenant of the request."""
    if tenant is None or which.tenant == tenant:
        return which
    if "tenant" in which.model_fields_set:
        raise invalid_field(
            "filter.tenant", f"is `{which.tenant[:80]}`, but the request is for `{tenant[:80]}`: send one"
        )
    return which.model_copy(update={"tenant": tenant})


async def _next_page(face: Face, which: Filter, cursor: str | None) -> Page:
    """Names only."""
    listed = Listed(**which.model_dump(), limit=AT_ONCE, cursor=cursor)
    pages = [await page_of(face, listed, _nothing)]
    for other in await read_everywhere(face, f"{BASE}/internal/names?{listed.query()}"):
        found = dict.fromkeys(identity(*name) for name in other["names"])
        pages.append(Page(found, position(other["cursor"])))
    return merged(pages, listed.limit)


@names.get("/names")
async def get_names(face: Running, asked: Annotated[Listed, Query()]) -> Response:
    """The events of this node that match."""
    page = await page_of(face, asked, _nothing)
    return answer({"names": [parts(name) for name in page.items], "cursor": page.cursor})


def _nothing(_name: Identity, _state: State, _store: Store) -> tuple[None, int]:
    return None, 0


async def _carry_out(face: Face, op: Op, found: list[Identity], reason: str) -> Counter[Outcome]:
    """The outcomes that were heard. Where it raises, nothing was sent."""
    placed = []
    for name in found:
        tenant, key, id_ = parts(name)
        event = Event(op=op, tenant=tenant, key=key, id=id_, reason=reason)
        placed.append((face.home(event), record_of(event)))
    answers = await face.node.commands.submit_each(face.names.events, placed) if placed else []
    return Counter(each.outcome for each in answers if isinstance(each, Answer) and each.outcome is not None)
