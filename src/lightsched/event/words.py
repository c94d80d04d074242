"""How does the decoder's complaint read to a person? Field first, then what was wrong and what to do."""

import difflib
import re

import msgspec

from lightsched.event.errors import InvalidEvent, invalid
from lightsched.event.model import RetrySpec, WindowSpec

_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*?)`(?: - at `\$\.?(?P<path>[^`]*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*?)`(?: - at `\$\.?(?P<path>[^`]*)`)?", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<wanted>.*?)`, got `(?P<got>.*?)`(?: - at `\$\.?(?P<path>[^`]*)`)?")
_RANGE = re.compile(r"(?:Integer value|Number) out of range(?: - at `\$\.?(?P<path>[^`]*)`)?")
_BOUND = re.compile(r"Expected `(?P<wanted>.*?)` (?P<bound>[<>]=? \S+)(?: - at `\$\.?(?P<path>[^`]*)`)?")
_ENUM = re.compile(r"Invalid enum value (?P<value>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?", re.DOTALL)
_HALVED = ("Input data was truncated", "unexpected end of hex escape", "invalid utf-16 surrogate pair")
"""What the decoder says of a surrogate that stands alone, besides much else."""
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""Two surrogates that are a character, one that is none, or any other escape."""
INSIDE = {"window": WindowSpec.__struct_encode_fields__, "retry": RetrySpec.__struct_encode_fields__}
"""The names inside a field."""
_MEANT = {
    "data": ("payload", "task_blob"),
    "body": ("payload", "task_blob"),
    "payload": ("task_blob",),
    "tz": ("timezone",),
    "schedule": ("cron",),
    "delay": ("in", "schedule"),
    "when": ("at", "schedule"),
    "time": ("at", "schedule"),
    **dict.fromkeys(("at", "in", "cron", "every"), ("schedule",)),
    "tenant": ("user_id",),
}
"""What others call it → what it is called here, in an event or in a task."""
_DURATIONS = frozenset({"in", "every", "jitter", "look_back", "timeout", "expires_in", "retry_in", "delay", "max"})
_ANY_NAME = "[...]"
"""How the decoder names the place of a value, under any name."""
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "object": "an object",
    "array": "a list",
}


def refused(
    error: Exception, fields: tuple[str, ...], choices: dict[str, tuple[str, ...]], sent: bytes = b""
) -> InvalidEvent:
    """A decoder's error as problems with the fields of what was sent."""
    text = str(error)
    if match := _UNKNOWN.fullmatch(text):
        inside = (match["path"] or "").rpartition(".")[2]
        return unknown(match["name"], INSIDE.get(inside, ()) if inside else fields, match["path"])
    if match := _MISSING.fullmatch(text):
        return invalid(_join(match["path"], match["name"]), "is missing: give it")
    if match := _EXPECTED.fullmatch(text):
        return _wrong_type(match["path"] or "", match["wanted"], match["got"], sent)
    if match := _BOUND.fullmatch(text):
        return invalid(match["path"] or "", f"must be {_words(match['wanted'])} {match['bound']}")
    if match := _ENUM.fullmatch(text):
        path = match["path"] or ""
        known = choices.get(path)
        hint = f"use one of {', '.join(f'`{choice}`' for choice in known)}" if known else "see the documentation"
        return invalid(path, f"{match['value'][:80]} is not a known value: {hint}")
    if match := _RANGE.fullmatch(text):
        return invalid(match["path"] or "", "is too large a number: give a smaller one")
    return invalid("", f"is not valid JSON ({why_not_json(error, sent)}): send one JSON object")


def _wrong_type(path: str, wanted: str, got: str, sent: bytes) -> InvalidEvent:
    hint = ""
    if got in ("int", "float") and path.rpartition(".")[2] in _DURATIONS:
        number = _at(sent, path)
        hint = f': write `"{number if isinstance(number, int) and 0 < number < 1000 else 5}s"` for seconds'
    elif path.endswith(_ANY_NAME):
        path = path.removesuffix(_ANY_NAME)
        values = _at(sent, path)
        if isinstance(values, dict):
            wrong = next((name for name, value in values.items() if not isinstance(value, str)), "")
            path = _join(path, wrong[:80]) if wrong else path
    return invalid(path, f"must be {_words(wanted)}, not {_words(got)}{hint}")


def _at(sent: bytes, path: str) -> object:
    """What was sent at a place; None if that cannot be told."""
    try:
        found: object = msgspec.json.decode(sent)
    except (msgspec.DecodeError, RecursionError):
        return None
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def unknown(name: str, fields: tuple[str, ...], path: str | None = None) -> InvalidEvent:
    """A field that is none of those there are."""
    name = name[:80]
    meant = [other for other in _MEANT.get(name.lower(), ()) if other in fields]
    near = meant or difflib.get_close_matches(name, fields, 1)
    hint = f"did you mean `{near[0]}`?" if near else "remove it or check the spelling"
    return invalid(_join(path, name), f"is not a known field: {hint}")


def why_not_json(error: Exception, sent: bytes = b"") -> str:
    """A decoder's complaint about text that is no JSON."""
    text = str(error).removeprefix("JSON is malformed: ")
    if text.startswith(_HALVED) and (half := _half_in(sent)):
        return f"{half} is half of a character: without its other half it is no text"
    if text == "Input data was truncated":
        return "it is empty, or ends too early"
    return text[:1].lower() + text[1:]


def _half_in(sent: bytes) -> str:
    """The first surrogate that stands alone, as it was written."""
    return next((found[1].decode() for found in _ESCAPES.finditer(sent) if found[1]), "")


def _join(path: str | None, name: str) -> str:
    return f"{path}.{name}" if path else name


def _words(types: str) -> str:
    return " or ".join(_WORDS.get(name, name) for name in types.split(" | "))
