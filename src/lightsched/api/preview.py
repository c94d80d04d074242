"""When would a schedule fire? To look at before relying on it."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response
from pydantic import Field

from lightsched.api.documents import described, refusals
from lightsched.api.face import Running
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.problem import invalid_field
from lightsched.api.shapes import FireTimeShown, Preview, answer
from lightsched.event.check import check
from lightsched.event.model import Event, WindowSpec
from lightsched.event.schedule import window_of, words_of
from lightsched.event.words import refused
from lightsched.timing import Cron, Every, Plan, TimingError, parse_duration, parse_instant, preview, zone

router = APIRouter(prefix=BASE, tags=["planning"])

_window = msgspec.json.Decoder(WindowSpec)


class PreviewParameters(Parameters):
    """A schedule to try."""

    cron: Annotated[str | None, Field(description="5 or 6 fields, or `@daily` …", examples=["30 9 * * mon-fri"])] = None
    every: Annotated[str | None, Field(description="A duration, instead of `cron`", examples=["5m"])] = None
    timezone: Annotated[str, Field(description="IANA name", examples=["Europe/Paris"])] = "UTC"
    window: Annotated[
        str | None,
        Field(description="As in an event, as JSON", examples=['{"from": "09:00", "to": "17:00", "days": ["mon"]}']),
    ] = None
    from_: Annotated[
        str | None, Field(alias="from", description="From when on; default: now", examples=["2026-11-16T09:00:00Z"])
    ] = None
    n: Annotated[int, Field(description="How many fire times", ge=1, le=1_000)] = 10


@router.get(
    "/preview",
    operation_id="preview",
    summary="When would a schedule fire?",
    responses={**described(200, "The next fire times", Preview), **refusals(400, 403, 503)},
)
async def get_preview(face: Running, asked: Annotated[PreviewParameters, Query()]) -> Response:
    """Fire times in UTC and local time, with a note where a clock change or the window had a hand in it."""
    event = Event(
        id="preview", key="preview", cron=asked.cron, every=asked.every, timezone=asked.timezone, window=_parse(asked)
    )
    if event.cron is None and event.every is None:
        raise invalid_field("cron", "is missing: give `cron` or `every`")
    check(event, face.limits, face.now_ms)
    from_ms = face.now_ms if asked.from_ is None else _instant("from", asked.from_, asked.timezone)
    plan = Plan(
        recurrence=Cron.parse(event.cron, asked.timezone)
        if event.cron is not None
        else Every(parse_duration(event.every or ""), from_ms),
        window=None if event.window is None else window_of(event.window, event.timezone),
    )
    times: list[FireTimeShown] = []
    async with face.long_work.turns() as turns:
        while len(times) < asked.n and (some := preview(plan, zone(asked.timezone), from_ms, 1)):
            times.append(FireTimeShown(some[0].utc, some[0].local, some[0].note))
            from_ms = parse_instant(some[0].utc) + 1
            if turns.over():
                await turns.rest()
    return answer(Preview(words_of(event, plan), times))


def _parse(asked: PreviewParameters) -> WindowSpec | None:
    if asked.window is None:
        return None
    try:
        return _window.decode(asked.window)
    except (msgspec.DecodeError, RecursionError) as error:
        fields = tuple(WindowSpec.__struct_encode_fields__)
        (problem,) = refused(error, fields, {}).problems
        raise invalid_field(f"window.{problem.field}" if problem.field else "window", problem.message) from None


def _instant(field: str, text: str, timezone: str) -> int:
    try:
        return parse_instant(text, timezone)
    except TimingError as error:
        raise invalid_field(field, str(error)) from None
