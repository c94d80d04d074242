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
TIMEOUT = Kind("timeout", 408, "That took too long")
CHANGED = Kind("changed", 412, "It has changed meanwhile")
TOO_LARGE = Kind("too-large", 413, "That is too much at once")
KEY_REUSED = Kind("key-reused", 422, "The key stands for another request")
QUOTA = Kind("quota", 429, "Too many of them")
HEAD_TOO_LARGE = Kind("head-too-large", 431, "The head of the request is too large")
INTERNAL = Kind("internal", 500, "Something went wrong in lightsched")
WRONG_NODE = Kind("wrong-node", 421, "Ask another node")
UNAVAILABLE = Kind("unavailable", 503, "Not ready")

KINDS = (
    *(INVALID, FORBIDDEN, NOT_FOUND, WRONG_METHOD, AMBIGUOUS, CONFLICT, IGNORED),
    *(TIMEOUT, CHANGED, TOO_LARGE, KEY_REUSED, QUOTA, HEAD_TOO_LARGE, INTERNAL, UNAVAILABLE),
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


_decode = msgspec.json.Decoder(ProblemDetails).decode


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
        if self.kind is UNAVAILABLE:
            headers = {"Retry-After": "1", **(headers or {})}
        return Response(_encode(self.problem), self.kind.status, headers, MEDIA_TYPE)


def passed_on(content: bytes) -> Refusal:
    """Another node's refusal."""
    problem = _decode(content)
    kind = next((kind for kind in KINDS if type_of(kind) == problem.type), UNAVAILABLE)
    refusal = Refusal(kind, problem.detail)
    refusal.problem = problem
    return refusal


def type_of(kind: Kind) -> str:
    """The `type` of a problem of this kind."""
    return f"urn:lightsched:problem:{kind.slug}"


def invalid_field(field: str, message: str) -> Refusal:
    """One field of a request is wrong."""
    return Refusal(INVALID, f"{field}: {message}", (Problem(field, message),))
