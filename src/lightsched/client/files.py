"""Which events does a file hold? NDJSON, a JSON or YAML list, or CSV with a header row; each with its line.

Files are read as a stream, so that their size does not matter: never more than one event is held, and an event has a
limit. What stands where is known for every event, so that a problem can be shown where it is. What is JSON already
stays as it is, byte for byte.

In CSV a column is a field, empty cells are left out, and `labels.team` is the entry `team` of `labels`.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from math import isfinite
from typing import Any, BinaryIO

import msgspec

from lightsched.client.converting import Converter, EventLine, Source
from lightsched.client.errors import Invalid
from lightsched.client.fields import as_json
from lightsched.client.json_values import elements, values

MOST_BYTES = 1_000_000
"""Of one event, and of one line."""
MOST_CONVERTED = 64 * MOST_BYTES
"""Of a file for a converter, which may hold all of it in memory."""

_BLOCK = 256 * 1024
_LISTS_AND_OBJECTS = frozenset({"window", "retry", "topics", "headers", "labels"})
_NUMBERS = frozenset({"priority", "max_runs"})
_NUMBER = re.compile("-?[0-9]{1,18}")
_WORDS = {"true": True, "false": False}
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_IN_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # a line's end is never inside a string of JSON
_NO_OBJECT = "is no event: write an object with its fields"
_encode = msgspec.json.Encoder().encode
_any = msgspec.json.Decoder(msgspec.Raw).decode


class Line(msgspec.Struct, frozen=True, gc=False):
    """One event of a file: where it stands and its JSON, or why it is none."""

    number: int
    body: bytes
    problem: str = ""


Read = Callable[[BinaryIO], Iterator[Line]]
"""The events of a file, in their order. Raises `Invalid` if it cannot be read any further."""


def reading(form: str, most_bytes: int = MOST_BYTES) -> Read:
    """How a file of this form is read; one of `FORMS`."""
    return partial(FORMS[form], most=most_bytes)


def converting(converter: Converter, source: Source, most_bytes: int = MOST_BYTES) -> Read:
    """How a file is read that a converter understands."""

    def read(stream: BinaryIO) -> Iterator[Line]:
        lines = (line[:-1] for line in _text(stream, most_bytes, in_all=MOST_CONVERTED))
        try:
            for found in converter(lines, source):
                if isinstance(found, EventLine):
                    yield _from_fields(found.line, found.fields)
                else:
                    yield Line(found.line, b"", found.message)
        except Invalid:
            raise
        except Exception as error:  # whatever somebody's converter does, the file is named, and others go on
            raise Invalid(f"the converter failed: {error!r}.") from error

    return read


def _ndjson(stream: BinaryIO, most: int, first: bytes = b"") -> Iterator[Line]:
    for number, line in enumerate(_lines(stream, most, first), start=1):
        if line is None:
            yield Line(number, b"", f"is longer than {most:,} bytes: store it elsewhere and send a reference")
        elif line := line.strip():
            yield Line(number, line)


def _json(stream: BinaryIO, most: int) -> Iterator[Line]:
    """The elements of an array, each cut out as it stands there; otherwise one value a line, or one alone."""
    begin = _first_line(stream, most)
    if begin.lstrip()[:1] == b"[":
        found = elements(stream, begin, most)
    elif _is_one(begin.lstrip().partition(b"\n")[0]):
        yield from _ndjson(stream, most, begin)
        return
    else:
        found = values(stream, begin, most)
    for number, value in found:
        yield Line(number, value.translate(_IN_ONE_LINE) if b"\n" in value or b"\r" in value else value)


def _yaml(stream: BinaryIO, most: int) -> Iterator[Line]:
    from lightsched.client.yaml_items import items  # noqa: PLC0415 - only who has such a file waits for it

    for item in items(stream, most):
        yield Line(item.line, b"", item.problem) if item.problem else _from_fields(item.line, item.value)


def _csv(stream: BinaryIO, most: int) -> Iterator[Line]:
    csv.field_size_limit(most)
    held = 0

    def metered() -> Iterator[str]:
        nonlocal held
        for line in _text(stream, most):
            held += len(line)
            if held > most + len(line):
                raise Invalid(f"line {rows.line_num}: a row is longer than {most:,} bytes: is a quote missing?")
            yield line

    rows = csv.reader(metered(), strict=True)
    columns: list[str] = []
    last = 0
    try:
        for row in rows:
            number, last, held = last + 1, rows.line_num, 0
            if not any(row):
                continue
            if columns:
                yield _from_row(number, columns, row)
            else:
                columns = _columns(number, row)
    except csv.Error as error:
        raise Invalid(f"line {rows.line_num}: is not CSV: {error}.") from None


FORMS: dict[str, Callable[..., Iterator[Line]]] = {"ndjson": _ndjson, "json": _json, "yaml": _yaml, "csv": _csv}
SUFFIXES = {
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".csv": "csv",
}


def _first_line(stream: BinaryIO, most: int) -> bytes:
    """What the file begins with, up to a line that is not blank."""
    begin = _begin(stream.read(_BLOCK))
    while not begin.strip() and len(begin) <= most and (block := stream.read(_BLOCK)):
        begin += block
    while b"\n" not in begin.lstrip() and len(begin) <= most and (block := stream.read(_BLOCK)):
        begin += block
    return begin


def _begin(block: bytes) -> bytes:
    """The first bytes, without what only says how they are to be read."""
    if block.startswith(_UTF16):
        raise Invalid("line 1: is UTF-16: save the file as UTF-8.")
    return block.removeprefix(_BOM)


def _lines(stream: BinaryIO, most: int, first: bytes = b"") -> Iterator[bytes | None]:
    """The lines of a file, without their ends; None for one that is too long, of which the rest is passed over.

    Blocks are taken apart in one go: a call for each line would take longer than all the rest.
    """
    rest = b""
    too_long = False
    block = first or _begin(stream.read(_BLOCK))
    while block:
        lines = (rest + block).split(b"\n")
        rest = lines.pop()
        if too_long and lines:
            too_long = False
            lines = lines[1:]
            yield None
        if most < _BLOCK and any(len(line) > most for line in lines):
            yield from (None if len(line) > most else line for line in lines)
        elif lines and len(lines[0]) > most:  # only what began in an earlier block can be so long
            yield None
            yield from lines[1:]
        else:
            yield from lines
        if too_long or len(rest) > most:
            too_long, rest = True, b""
        block = stream.read(_BLOCK)
    if too_long:
        yield None
    elif rest:
        yield rest


def _text(stream: BinaryIO, most: int, in_all: int = 0) -> Iterator[str]:
    """The lines as text, each with the same end."""
    total = 0
    for number, line in enumerate(_lines(stream, most), start=1):
        if line is None:
            raise Invalid(f"line {number}: is longer than {most:,} bytes.")
        total += len(line)
        if in_all and total > in_all:
            raise Invalid(f"line {number}: the file is larger than {in_all:,} bytes, too large to convert: split it.")
        try:
            yield line.decode().removesuffix("\r") + "\n"
        except UnicodeDecodeError:
            raise Invalid(f"line {number}: is not UTF-8: save the file as UTF-8.") from None


def _from_fields(number: int, fields: Any) -> Line:
    if not isinstance(fields, dict):
        return Line(number, b"", _NO_OBJECT)
    try:
        body = _encode(as_json(fields))
        strange = _not_in_json(fields) if b"null" in body else None
        return Line(number, b"", f"is no event: JSON has no {strange}") if strange else Line(number, body)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        return Line(number, b"", f"is no event: {error}")


def _not_in_json(value: Any) -> str | None:
    """A number that is none, which would become null."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return next(filter(None, map(_not_in_json, inside)), None)


def _columns(number: int, row: list[str]) -> list[str]:
    columns = [column.strip() for column in row]
    for column in columns:
        if column and columns.count(column) > 1:
            raise Invalid(f"line {number}: `{column}` names two columns: which one is meant?")
    return columns


def _from_row(number: int, columns: list[str], row: list[str]) -> Line:
    if len(row) > len(columns):
        why = f"has {len(row)} cells and only {len(columns)} columns have a name: quote commas"
        return Line(number, b"", why)
    fields: dict[str, Any] = {}
    for column, cell in zip(columns, row, strict=False):
        name, dot, entry = column.partition(".")
        if not cell:
            continue
        if not column:
            place = columns.index("") + 1
            return Line(number, b"", f"has a cell in column {place}, which has no name: name it, or empty the cell")
        if not dot:
            fields[name] = _value(name, cell)
        elif isinstance(entries := fields.setdefault(name, {}), dict):
            entries[entry] = cell
        else:
            return Line(number, b"", f"has a cell under `{name}`, and one under `{column}`: fill in one of them")
    return _from_fields(number, fields)


def _value(name: str, cell: str) -> Any:
    try:
        if name in _NUMBERS and _NUMBER.fullmatch(cell):
            return int(cell)
        if name == "payload":  # only to see whether it is JSON: it stays as it is
            json.loads(cell, parse_int=float, parse_constant=_refuse)
            return msgspec.Raw(cell.encode().translate(_IN_ONE_LINE))
        if name in _LISTS_AND_OBJECTS:
            return json.loads(cell, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return cell
    return _WORDS.get(cell.lower(), cell) if name == "track" else cell


def _refuse(constant: str) -> None:
    """Python takes NaN for JSON; nobody else does."""
    raise ValueError(constant)


def _is_one(line: bytes) -> bool:
    try:
        _any(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
