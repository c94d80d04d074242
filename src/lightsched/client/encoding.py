"""What can be sent? What JSON and addresses can say; anything else is `Invalid`, and names the field.

JSON has neither NaN nor infinity, and msgspec writes `null` in their place. To look at every number would take longer
than to encode it, so they are looked for only in what has a `null`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any
from urllib.parse import quote

import msgspec

from lightsched.client.errors import Invalid, ProblemDetails
from lightsched.event.errors import Problem
from lightsched.event.status import Outcome

_encode = msgspec.json.Encoder().encode
_CANNOT = (TypeError, ValueError, OverflowError, RecursionError)
"""What encoding raises."""
_HALF = "has half a character in it, a lone surrogate, which no encoding has: send the whole one"


def invalid(field: str, message: str) -> Invalid:
    """The error for one field."""
    problem = Problem(field, message)
    return Invalid(ProblemDetails(detail=f"{problem}.", errors=(problem,), outcome=Outcome.INVALID))


def encoded(values: Mapping[str, Any]) -> bytes:
    """Fields as JSON."""
    try:
        text = _encode(values)
    except _CANNOT as error:
        raise _cannot(values, error) from None
    if b"null" in text:
        for name, value in values.items():
            if (number := _no_number(value)) is not None:
                raise invalid(name, f"JSON has no number {number}: send None or a text instead")
    return text


def quoted(field: str, name: str) -> str:
    """A name as a part of an address."""
    if not isinstance(name, str):
        raise invalid(field, f"must be a text, not {name!r:.80}")
    if not name:
        raise invalid(field, "is empty: say which one is meant")
    try:
        return quote(name, safe="")
    except UnicodeEncodeError:
        raise invalid(field, _HALF) from None


def _cannot(values: Mapping[str, Any], error: Exception) -> Invalid:
    """The first of the fields that is not to be encoded."""
    for name, value in values.items():
        try:
            _encode(value)
        except UnicodeEncodeError:
            return invalid(name, _HALF)
        except RecursionError:
            return invalid(name, "is nested too deeply, or holds itself: send something flatter")
        except _CANNOT as why:
            return invalid(name, f"cannot be written as JSON ({why}): send what JSON has, or bytes as payload")
    return invalid("", f"cannot be written as JSON ({error}): send what JSON has")


def _no_number(value: Any) -> float | None:
    """A number in it that JSON does not have."""
    inner: Iterable[Any]
    match value:
        case str() | int() | None:
            return None
        case float():
            return None if isfinite(value) else value
        case dict():
            inner = value.values()
        case list() | tuple() | set() | frozenset():
            inner = value
        case msgspec.Struct():
            inner = msgspec.structs.asdict(value).values()
        case _ if is_dataclass(value):
            inner = [getattr(value, field.name, None) for field in fields(value)]
        case _:
            return None
    for each in inner:
        if (found := _no_number(each)) is not None:
            return found
    return None
