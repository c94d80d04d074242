"""How is the executor set up? `http.yml`, overridden by `LIGHTSCHED_EXECUTOR_HTTP_…` variables, overridden by flags."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import SettingsConfigDict

from lightsched.errors import LightschedError
from lightsched.executor.configured import ExecutorSettings
from lightsched.settings import Bytes, DurationMs
from lightsched_http.guard import Allowed
from lightsched_http.request import request
from lightsched_http.signature import secret

_STATUSES = re.compile(r"[1-5](?:xx|[0-9]{2})")


def _allowed(entry: str) -> str:
    Allowed([entry])
    return entry


def _statuses(entry: str) -> str:
    if not _STATUSES.fullmatch(entry):
        raise ValueError(f"{entry!r} is no status: write `429` or `5xx`")
    return entry


def _secret(given: SecretStr) -> SecretStr:
    secret(given.get_secret_value())
    return given


Allow = Annotated[str, AfterValidator(_allowed)]
Statuses = Annotated[str, Field(coerce_numbers_to_str=True), AfterValidator(_statuses)]
Secret = Annotated[SecretStr, AfterValidator(_secret)]


class Endpoint(BaseModel):
    """Where deliveries of a type go: the payload is the body."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    method: str = "POST"
    headers: dict[str, str] = {}
    secrets: tuple[Secret, ...] | None = None  # none: the general ones

    def model_post_init(self, _context: object) -> None:
        """What makes no sense is said at the start, not by each delivery."""
        try:
            request(self.url, self.method, self.headers, b"", "")
        except LightschedError as error:
            raise ValueError(str(error)) from None


class HttpSettings(ExecutorSettings):
    """All settings of the executor."""

    model_config = SettingsConfigDict(env_prefix="LIGHTSCHED_EXECUTOR_HTTP_")

    group: str = "http"
    types: dict[str, Endpoint] = Field({})  # by type: `order.paid`, `order.*`
    allow: tuple[Allow, ...] = ()  # hosts, addresses and networks that may be asked although they are not public
    secrets: tuple[Secret, ...] = ()  # `whsec_…`; several while they are exchanged
    connect_timeout: DurationMs = 5_000
    timeout: DurationMs = 30_000  # of all of it; the run's own timeout, where that is shorter
    success: tuple[Statuses, ...] = ("2xx",)
    retry: tuple[Statuses, ...] = ("408", "425", "429", "5xx")
    retry_after: DurationMs = 3_600_000  # is heeded up to here
    body: Bytes = 32 * 1024  # so much of an answer is kept
    connections: int = Field(100, ge=1)
    ca: Path | None = None  # PEM; without it the machine's own authorities hold
    user_agent: str = "lightsched"
