"""What may be said about an event on the command line? Every field of its definition is an option."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from lightsched.cli.completing import zones

WHEN, WHAT, HOW = "When", "What", "Policies"

_CALLED = {"in": "in_", "tz": "timezone", "topic": "topics", "header": "headers", "label": "labels"}
"""What the contract or an option calls a field, where that is not its keyword."""


def option(*names: str, panel: str, says: str, offers: Callable[[str], Iterator[str]] | None = None) -> Any:
    """An option among others of its kind. `offers`: values that begin with a text."""
    return typer.Option(*names, help=says, rich_help_panel=panel, show_default=False, autocompletion=offers)


At = Annotated[str | None, option(panel=WHEN, says="A time, such as 2026-11-16T09:00:00Z.")]
In = Annotated[str | None, option("--in", panel=WHEN, says="A while from now, such as 5m.")]
CronText = Annotated[str | None, option(panel=WHEN, says="5 or 6 fields, or @daily.")]
Every = Annotated[str | None, option(panel=WHEN, says="A duration, such as 1h30m.")]
Timezone = Annotated[str | None, option("--timezone", "--tz", panel=WHEN, says="Such as Europe/Paris.", offers=zones)]
StartsAt = Annotated[str | None, option(panel=WHEN, says="A recurrence begins here.")]
EndsAt = Annotated[str | None, option(panel=WHEN, says="A recurrence ends here.")]
MaxRuns = Annotated[int | None, option(panel=WHEN, says="A recurrence ends after so many.")]
Jitter = Annotated[str | None, option(panel=WHEN, says="Spread over this duration.")]
WindowText = Annotated[str | None, option(panel=WHEN, says='Such as \'{"from":"09:00","to":"17:00"}\'.')]
Type = Annotated[str | None, option("--type", panel=WHAT, says="What kind of work.")]
Payload = Annotated[
    str | None, option("--payload", "-p", panel=WHAT, says="JSON, else text; @FILE: what is in the file.")
]
Topics = Annotated[list[str] | None, option("--topic", panel=WHAT, says="Where to deliver; repeatable.")]
Headers = Annotated[list[str] | None, option("--header", panel=WHAT, says="name=value, travels along; repeatable.")]
Labels = Annotated[list[str] | None, option("--label", panel=WHAT, says="name=value, to search by; repeatable.")]
Priority = Annotated[int | None, option(panel=HOW, says="0 (first) to 9.")]
CatchUp = Annotated[str | None, option(panel=HOW, says="Missed ones: latest, all, none.")]
LookBack = Annotated[str | None, option(panel=HOW, says="How far back catching up goes.")]
Overlap = Annotated[str | None, option(panel=HOW, says="While a run is out: allow, skip, queue.")]
RetryText = Annotated[str | None, option(panel=HOW, says='Such as \'{"attempts":5,"delay":"1m"}\'.')]
Timeout = Annotated[str | None, option(panel=HOW, says="Silence that counts as a failure.")]
Until = Annotated[str | None, option(panel=HOW, says="success: stop at the first one.")]
ExpiresIn = Annotated[str | None, option(panel=HOW, says="Worth nothing after this.")]
Track = Annotated[bool | None, option("--track/--no-track", panel=HOW, says="Executors report.")]


def fields_of(given: dict[str, Any]) -> dict[str, Any]:
    """The fields that were given, by the names that they have in an event."""
    return {
        name: _READ[name](value) if name in _READ else value for name, value in given.items() if value not in (None, [])
    }


def read_value(option: str, text: str) -> Any:
    """JSON as it was typed (a `Raw`), or text that cannot be meant as JSON.

    `@FILE`: what is in the file, as bytes if it is no text.
    """
    import msgspec  # noqa: PLC0415 - after `--help`

    if text == "@":
        raise typer.BadParameter("write the name of a file after the @", param_hint=option)
    if text.startswith("@"):
        try:
            content = Path(text[1:]).read_bytes()
        except OSError as error:
            raise typer.BadParameter(f"cannot read {text[1:]}: {error.strerror}", param_hint=option) from None
        try:
            text = content.decode()
        except UnicodeDecodeError:
            return content
    try:
        return msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError) as error:
        if text.lstrip().startswith(("{", "[")):
            hint = f"looks like JSON and is none: {error}; for such a text write it as a JSON string"
            raise typer.BadParameter(hint, param_hint=option) from None
        return text


def read_object(option: str, text: str | None) -> Any:
    """A JSON object, if one was given."""
    if text is None:
        return None
    from lightsched.client.any_json import read_any  # noqa: PLC0415

    typed = read_value(option, text)
    value = None if isinstance(typed, str | bytes) else read_any(bytes(typed))
    if not isinstance(value, dict):
        raise typer.BadParameter(f"must be a JSON object, not {text[:80]!r}", param_hint=option)
    return value


def pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    """From `name=value`, as often as it was given."""
    found = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{text!r} must be written as name=value", param_hint=option)
        found[name] = value
    return found


_READ: dict[str, Callable[[Any], Any]] = {
    "window": partial(read_object, "--window"),
    "retry": partial(read_object, "--retry"),
    "payload": partial(read_value, "--payload"),
    "headers": partial(pairs, "--header"),
    "labels": partial(pairs, "--label"),
}


def field_called(name: str, fields: Collection[str]) -> str | None:
    """The keyword of a field, by its name in the contract or that of its option; None: there is no such field."""
    called = name.replace("-", "_")
    keyword = _CALLED.get(called, called)
    return keyword if keyword in fields and called != "in_" else None
