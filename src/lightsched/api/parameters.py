"""What may stand in an address? The parameters that several calls share; unknown ones are refused."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

BASE = "/api/v1"
"""Where the calls of the contract begin."""

EventId = Annotated[str, Path(description="The event's id, percent-encoded; a slash in it as %2F", examples=["tea"])]


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
