"""How does pydantic's complaint read to a person? Field first, then what was wrong and what to do."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lightsched.event.check import TENANT
from lightsched.event.errors import Problem

_MOST = 20
_MOST_NAME = 80
_PATTERNS = {
    f"^{TENANT.pattern}$": "must be lower-case letters, digits and `._-`, at most 63, letter or digit first",
}
"""What a pattern asks for, in words."""


def problems_of(errors: Iterable[Mapping[str, Any]], what: str, skip: int = 0) -> list[Problem]:
    """The first of pydantic's errors. `what`: a parameter or a field; `skip`: how much of a place is not its name."""
    return [Problem(_name(each["loc"][skip:]), _words(each, what)) for each in errors][:_MOST]


def _name(place: Sequence[str | int]) -> str:
    """Where it stands; which of several values it is goes without saying."""
    return ".".join(map(str, place[:-1] if place and isinstance(place[-1], int) else place))[:_MOST_NAME]


def _words(error: Mapping[str, Any], what: str) -> str:
    given = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden" if error["loc"][-2:] == ("filter", "labels"):
            return 'is not a known field: did you mean `label`, as in `"label": ["team=blue"]`?'
        case "extra_forbidden":
            return f"is not a known {what}: remove it or check the spelling"
        case "missing":
            return "is missing: give it"
        case "enum" | "literal_error":
            return f"is not a known value: use {given['expected']}"
        case "string_pattern_mismatch":
            words = _PATTERNS.get(given["pattern"])
            return words or f"is not written as it must be: see that it matches {given['pattern']}"
        case "json_invalid":
            why = str(given["error"])
            why = "it is empty, or ends too early" if why.startswith("EOF") else why
            return f"is not valid JSON ({why}): send a JSON object"
        case _:
            text = str(error["msg"])
            return text[:1].lower() + text[1:]
