"""What is read of JSON whose numbers Python has no type for? Everything: such a number becomes a `Decimal`.

JSON does not say how large a number may be, and a payload is delivered as it was sent, so somebody's `1E400` must not
keep others from reading the page it stands on. What fits `int` and `float` is read as these.
"""

import json
from decimal import Decimal, InvalidOperation
from math import isinf
from typing import Any, NoReturn, TypeVar

import msgspec

T = TypeVar("T")
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What reading raises."""
_any = msgspec.json.Decoder().decode
_MOST_DIGITS = 4_300  # Python's own limit for an int in text: beyond it takes longer the longer it is


def read_any(text: bytes) -> Any:
    """The value that a text holds."""
    try:
        return _any(text)
    except msgspec.ValidationError:  # it is JSON, and one of its numbers is out of range
        return _patiently(text)


def read_as(text: bytes, shape: type[T]) -> T:
    """A text in the shape that it should have, with whatever is in those of its fields that may hold anything."""
    try:
        return msgspec.json.decode(text, type=shape)
    except msgspec.ValidationError:
        return msgspec.convert(_patiently(text), shape)


def _patiently(text: bytes) -> Any:
    try:
        return json.loads(text, parse_float=_float, parse_int=_int, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise msgspec.DecodeError(f"JSON is malformed: {error}") from None


def _float(digits: str) -> float | Decimal:
    near = float(digits)
    if not isinf(near):
        return near
    try:
        return Decimal(digits)
    except InvalidOperation:  # its exponent alone has 18 digits
        return near


def _int(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= _MOST_DIGITS else Decimal(digits)


def _refuse(word: str) -> NoReturn:
    raise msgspec.DecodeError(f"JSON is malformed: {word} is no number")
