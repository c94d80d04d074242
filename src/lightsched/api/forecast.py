"""How much is due in the coming minutes?"""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from lightsched.api.documents import described, refusals
from lightsched.api.elsewhere import read_everywhere
from lightsched.api.face import Running
from lightsched.api.parameters import BASE, Parameters
from lightsched.api.shapes import Minute, Minutes, answer
from lightsched.timing import format_utc, parse_instant

router = APIRouter(prefix=BASE, tags=["planning"])

_MINUTE_MS = 60_000
_COUNTED_AT_ONCE = 200


class ForecastParameters(Parameters):
    """How far to look."""

    minutes: Annotated[
        int,
        Field(
            description="So many minutes, the present one first, which has begun: ask for one more to see all that is "
            "due within so many minutes from now",
            ge=1,
            le=1_440,
        ),
    ] = 60


@router.get(
    "/forecast",
    operation_id="forecast",
    summary="How much is due in the coming minutes?",
    responses={**described(200, "The coming minutes", Minutes), **refusals(400, 403, 503)},
)
async def get_forecast(face: Running, asked: Annotated[ForecastParameters, Query()]) -> Response:
    """Events by the minute in which they fire next, and by tenant. A recurrence counts once, where it fires next."""
    # A store counts for one forecast at a time.
    async with face.forecasting, face.long_work.turns() as turns:
        first = face.now_ms // _MINUTE_MS
        tenants: list[dict[str, int]] = [{} for _ in range(asked.minutes)]
        for store in face.node.stores:
            while not store.count_ahead(first, asked.minutes, _COUNTED_AT_ONCE):
                if turns.over():
                    await turns.rest()
            for minute, counts in store.forecast(first, asked.minutes).items():
                sums = tenants[minute - first]
                for tenant, count in counts.items():
                    sums[tenant] = sums.get(tenant, 0) + count
    for elsewhere in await read_everywhere(face, f"{BASE}/forecast?minutes={asked.minutes}"):
        for shown in elsewhere["minutes"]:
            offset = parse_instant(shown["minute"]) // _MINUTE_MS - first
            if 0 <= offset < asked.minutes:
                for tenant, count in shown["tenants"].items():
                    tenants[offset][tenant] = tenants[offset].get(tenant, 0) + count
    return answer(
        Minutes(
            [
                Minute(format_utc((first + offset) * _MINUTE_MS), sum(counts.values()), counts)
                for offset, counts in enumerate(tenants)
            ]
        )
    )
