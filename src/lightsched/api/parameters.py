"""What may stand in an address? The parameters that several calls share; unknown ones are refused."""

import re
from typing import Annotated

from fastapi import Header, Path
from pydantic import BaseModel, ConfigDict, Field

from lightsched.api.problem import invalid_field

BASE = "/api/v1"
"""Where the calls of the contract begin."""

EventId = Annotated[str, Path(description="The event's id, percent-encoded; a slash in it as %2F", examples=["tea"])]

IfMatch = Annotated[
    str | None,
    Header(description="Only if the event has this revision: the `ETag` of an answer, or `*`", examples=['"1"']),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        description="The same request with the same key is carried out once and answered again; for something else it "
        "is refused",
        max_length=255,
        examples=["order-42-reminder"],
    ),
]
_REVISION = re.compile(r'(?:W/)?"?([0-9]{1,9})"?')


def revision_of(if_match: str | None) -> int | None:
    """The revision that a request is about; None: any."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = _REVISION.fullmatch(if_match.strip())
    if found is None:
        raise invalid_field("If-Match", "must be a revision, as the `ETag` of the event says it")
    return int(found[1])


class Parameters(BaseModel):
    """Parameters of a call, behind the question mark."""

    model_config = ConfigDict(extra="forbid")


class Tenant(Parameters):
    """Whose events."""

    tenant: Annotated[
        str, Field(description="The tenant", examples=["default"], json_schema_extra={"maxLength": 63})
    ] = "default"


class Which(Tenant):
    """Which of several events with the same id."""

    key: Annotated[str | None, Field(description="The event's key, where it is not the id", examples=["tea"])] = None
