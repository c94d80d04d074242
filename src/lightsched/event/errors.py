"""What is wrong with an event? Each problem names the field and the remedy."""

from collections.abc import Sequence

import msgspec

from lightsched.errors import LightschedError


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong."""

    field: str
    message: str

    def __str__(self) -> str:
        """Field and message as one sentence."""
        return f"{self.field}: {self.message}" if self.field else self.message


class InvalidEvent(LightschedError):
    """{message}"""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(message="; ".join(map(str, self.problems)))


def invalid(field: str, message: str) -> InvalidEvent:
    """An event with one problem."""
    return InvalidEvent([Problem(field, message)])
