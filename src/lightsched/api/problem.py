"""What was wrong with a request? An RFC 9457 problem: one sentence a person can act on, and the fields it is about."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from lightsched.errors import LightschedError
from lightsched.event.errors import Problem
from lightsched.event.status import Outcome

MEDIA_TYPE = "application/problem+json"
_MOST_DETAIL = 2_000
_encode = msgspec.json.Encoder().encode


class Kind(NamedTuple):
    """A kind of problem; programs go by the slug."""

    slug: str
    status: int
    title: str


INVALID = Kind("invalid", 400, "The request does not make sense")
FORBIDDEN = Kind("forbidden", 403, "This is not allowed")
NOT_FOUND = Kind("not-found", 404, "There is no such thing")
WRONG_METHOD = Kind("wrong-method", 405, "This cannot be done here")
AMBIGUOUS = Kind("ambiguous", 409, "Several events are meant")
CONFLICT = Kind("conflict", 409, "The event does not allow it now")
IGNORED = Kind("ignored", 409, "The report changed nothing")
TOO_LARGE = Kind("too-large", 413, "That is too much at once")
QUOTA = Kind("quota", 429, "Too many of them")
INTERNAL = Kind("internal", 500, "Something went wrong in lightsched")
UNAVAILABLE = Kind("unavailable", 503, "Not ready")

KINDS = (
    *(INVALID, FORBIDDEN, NOT_FOUND, WRONG_METHOD, AMBIGUOUS, CONFLICT, IGNORED),
    *(TOO_LARGE, QUOTA, INTERNAL, UNAVAILABLE),
)


class ProblemDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[Problem, ...] = ()
    outcome: Outcome | UnsetType = UNSET
    keys: tuple[str, ...] | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class Refusal(LightschedError):
    """{detail}"""

    def __init__(
        self,
        kind: Kind,
        detail: str,
        errors: Sequence[Problem] = (),
        *,
        outcome: Outcome | UnsetType = UNSET,
        keys: Sequence[str] | UnsetType = UNSET,
        reason: str | UnsetType = UNSET,
    ) -> None:
        super().__init__(detail=detail)
        self.kind = kind
        self.problem = ProblemDetails(
            type=type_of(kind),
            title=kind.title,
            status=kind.status,
            detail=detail[:_MOST_DETAIL],
            errors=tuple(errors),
            outcome=outcome,
            keys=keys if isinstance(keys, UnsetType) else tuple(keys),
            reason=reason,
        )

    def response(self, headers: Mapping[str, str] | None = None) -> Response:
        """The answer to the request."""
        return Response(_encode(self.problem), self.kind.status, headers, MEDIA_TYPE)


def type_of(kind: Kind) -> str:
    """The `type` of a problem of this kind."""
    return f"urn:lightsched:problem:{kind.slug}"


def invalid_field(field: str, message: str) -> Refusal:
    """One field of a request is wrong."""
    return Refusal(INVALID, f"{field}: {message}", (Problem(field, message),))
