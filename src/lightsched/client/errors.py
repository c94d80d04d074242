"""What can go wrong for a client? One error for each kind; `ClientError` is all of them.

Each carries what the server said (RFC 9457): `detail` is the sentence for people, `errors` names the fields that were
wrong, `outcome` is the command's, `keys` are the ones an id has, `reason` is why a report changed nothing.
"""

from collections.abc import Sequence

import msgspec

from lightsched.errors import LightschedError
from lightsched.event.errors import Problem
from lightsched.event.status import Outcome


class ProblemDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says about a request that it refuses."""

    type: str = ""
    title: str = ""
    status: int = 0
    detail: str = ""
    errors: tuple[Problem, ...] = ()
    outcome: Outcome | None = None
    keys: tuple[str, ...] = ()
    reason: str = ""


class ClientError(LightschedError):
    """{detail}"""

    def __init__(self, problem: ProblemDetails | str) -> None:
        if isinstance(problem, str):
            problem = ProblemDetails(detail=problem)
        super().__init__(detail=problem.detail or problem.title or f"the server answered {problem.status}")
        self.problem = problem

    @property
    def detail(self) -> str:
        """What went wrong, and what to do."""
        return self.problem.detail

    @property
    def status(self) -> int:
        """The status of the HTTP answer; 0 if there was none."""
        return self.problem.status

    @property
    def errors(self) -> Sequence[Problem]:
        """The fields that were wrong, each with `field` and `message`."""
        return self.problem.errors

    @property
    def outcome(self) -> Outcome | None:
        """The command's outcome, if it got that far."""
        return self.problem.outcome

    @property
    def keys(self) -> Sequence[str]:
        """The keys under which there is an event with this id."""
        return self.problem.keys

    @property
    def reason(self) -> str:
        """Why a report changed nothing, in one word."""
        return self.problem.reason


class Invalid(ClientError):
    """{detail}

    The request makes no sense; `errors` names the fields.
    """


class Forbidden(ClientError):
    """{detail}

    The token is missing or wrong, or does not allow it.
    """


class NotFound(ClientError):
    """{detail}

    There is no such event: it was never scheduled there, or its history is gone.
    """


class Ambiguous(ClientError):
    """{detail}

    Several events have this id: say which, with one of `keys`.
    """


class Conflict(ClientError):
    """{detail}

    The event does not allow it now: `outcome` is TOO_LATE or REJECTED.
    """


class Changed(Conflict):
    """{detail}

    The event has another revision than the one that was named: look at it again.
    """


class ReportIgnored(ClientError):
    """{detail}

    The report came late or twice, and changed nothing; `reason` says why.
    """


class TooLarge(ClientError):
    """{detail}"""


class QuotaExceeded(ClientError):
    """{detail}"""


class ServerFailed(ClientError):
    """{detail}

    Something went wrong in the server: its log has the details.
    """


class Unavailable(ClientError):
    """{detail}

    The server is starting, stopping, or cannot reach its log; it was asked several times.
    """


class Unreachable(ClientError):
    """{detail}

    Nobody answers at this address; it was tried several times.
    """


class OutcomeUnknown(ClientError):
    """{detail}

    The answer was lost on the way, and asking again could do it twice.
    """


class NotOnKafka(ClientError):
    """{detail}

    A topic takes commands and gives no answers.
    """


BY_SLUG: dict[str, type[ClientError]] = {
    "invalid": Invalid,
    "forbidden": Forbidden,
    "not-found": NotFound,
    "ambiguous": Ambiguous,
    "conflict": Conflict,
    "changed": Changed,
    "ignored": ReportIgnored,
    "too-large": TooLarge,
    "quota": QuotaExceeded,
    "internal": ServerFailed,
    "unavailable": Unavailable,
}
"""By the last part of a problem's `type`."""

BY_STATUS: dict[int, type[ClientError]] = {
    400: Invalid,
    401: Forbidden,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Changed,
    413: TooLarge,
    422: Invalid,
    429: QuotaExceeded,
    503: Unavailable,
}
"""Where something in between has answered, or the kind is a new one."""

CLOSED = "This client is closed: make another one, and close it when nothing more is asked of it."

_PROBLEM = msgspec.json.Decoder(ProblemDetails)


def refusal(status: int, body: bytes, url: str) -> ClientError:
    """The error for an answer that is none of success."""
    try:
        problem = _PROBLEM.decode(body)
    except msgspec.DecodeError:
        said = body[:200].decode(errors="replace").strip()
        detail = f"{url} answered {status}, and not as lightsched does: {said or 'nothing'}. Is it the right address?"
        problem = ProblemDetails(status=status, detail=detail)
    fallback = BY_STATUS.get(status, ServerFailed if status >= 500 else ClientError)
    return BY_SLUG.get(problem.type.rpartition(":")[2], fallback)(problem)
