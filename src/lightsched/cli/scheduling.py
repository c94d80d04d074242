"""How is an event scheduled from the command line? Every field of an event is an option."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.events import pairs, say

WHEN, WHAT, HOW = "When", "What", "Policies"


def _option(*names: str, panel: str, says: str) -> Any:
    return typer.Option(*names, help=says, rich_help_panel=panel, show_default=False)


def schedule(
    context: typer.Context,
    at: Annotated[str | None, _option(panel=WHEN, says="A time, such as 2026-11-16T09:00:00Z.")] = None,
    in_: Annotated[str | None, _option("--in", panel=WHEN, says="A while from now, such as 5m.")] = None,
    cron: Annotated[str | None, _option(panel=WHEN, says="5 or 6 fields, or @daily.")] = None,
    every: Annotated[str | None, _option(panel=WHEN, says="A duration, such as 1h30m.")] = None,
    timezone: Annotated[str | None, _option("--timezone", "--tz", panel=WHEN, says="Such as Europe/Paris.")] = None,
    starts_at: Annotated[str | None, _option(panel=WHEN, says="A recurrence begins here.")] = None,
    ends_at: Annotated[str | None, _option(panel=WHEN, says="A recurrence ends here.")] = None,
    max_runs: Annotated[int | None, _option(panel=WHEN, says="A recurrence ends after so many.")] = None,
    jitter: Annotated[str | None, _option(panel=WHEN, says="Spread over this duration.")] = None,
    window: Annotated[str | None, _option(panel=WHEN, says='Such as \'{"from":"09:00","to":"17:00"}\'.')] = None,
    id: Annotated[str | None, _option(panel=WHAT, says="Its name; without one it gets one.")] = None,
    key: Annotated[str | None, _option(panel=WHAT, says="The entity it is about; keeps order.")] = None,
    tenant: Annotated[str, _option(panel=WHAT, says="Whose event.")] = "default",
    type_: Annotated[str | None, _option("--type", panel=WHAT, says="What kind of work.")] = None,
    payload: Annotated[
        str | None, _option("--payload", "-p", panel=WHAT, says="JSON, else text; @FILE: what is in the file.")
    ] = None,
    topic: Annotated[list[str] | None, _option(panel=WHAT, says="Where to deliver; repeatable.")] = None,
    header: Annotated[list[str] | None, _option(panel=WHAT, says="name=value, travels along; repeatable.")] = None,
    label: Annotated[list[str] | None, _option(panel=WHAT, says="name=value, to search by; repeatable.")] = None,
    priority: Annotated[int | None, _option(panel=HOW, says="0 (first) to 9.")] = None,
    catch_up: Annotated[str | None, _option(panel=HOW, says="Missed ones: latest, all, none.")] = None,
    look_back: Annotated[str | None, _option(panel=HOW, says="How far back catching up goes.")] = None,
    overlap: Annotated[str | None, _option(panel=HOW, says="While a run is out: allow, skip, queue.")] = None,
    retry: Annotated[str | None, _option(panel=HOW, says='Such as \'{"attempts":5,"delay":"1m"}\'.')] = None,
    timeout: Annotated[str | None, _option(panel=HOW, says="Silence that counts as a failure.")] = None,
    until: Annotated[str | None, _option(panel=HOW, says="success: stop at the first one.")] = None,
    expires_in: Annotated[str | None, _option(panel=HOW, says="Worth nothing after this.")] = None,
    on_conflict: Annotated[str | None, _option(panel=HOW, says="It exists: replace, keep, reject.")] = None,
    track: Annotated[bool | None, _option("--track/--no-track", panel=HOW, says="Executors report.")] = None,
    as_json: AsJson = False,
) -> None:
    """Schedule an event: give exactly one of --at, --in, --cron, --every.

    lightsched schedule --id tea --in 5m --payload '{"text": "Your tea is ready"}'
    """
    if sum(value is not None for value in (at, in_, cron, every)) != 1:
        raise typer.BadParameter("give exactly one of --at, --in, --cron, --every")
    fields: dict[str, Any] = {
        "id": id,
        "key": key,
        "type": type_,
        "at": at,
        "in": in_,
        "cron": cron,
        "every": every,
        "timezone": timezone,
        "starts_at": starts_at,
        "ends_at": ends_at,
        "max_runs": max_runs,
        "jitter": jitter,
        "window": read_object("--window", window),
        "catch_up": catch_up,
        "look_back": look_back,
        "overlap": overlap,
        "retry": read_object("--retry", retry),
        "timeout": timeout,
        "until": until,
        "expires_in": expires_in,
        "topics": topic or None,
        "priority": priority,
        "on_conflict": on_conflict,
        "track": track,
        "headers": pairs("--header", header),
        "labels": pairs("--label", label),
    }
    if payload is not None:
        fields["payload"] = read_value("--payload", payload)
    with connected(context, tenant) as client:
        say(client.schedule(**fields), as_json=as_json)


def read_value(option: str, text: str) -> Any:
    """JSON, or text that cannot be meant as JSON; `@FILE`: what is in the file, as bytes if it is no text."""
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
        return json.loads(text)
    except ValueError as error:
        if text.lstrip().startswith(("{", "[")):
            hint = f"looks like JSON and is none: {error}; for such a text write it as a JSON string"
            raise typer.BadParameter(hint, param_hint=option) from None
        return text


def read_object(option: str, text: str | None) -> Any:
    """A JSON object, if one was given."""
    if text is None:
        return None
    value = read_value(option, text)
    if not isinstance(value, dict):
        raise typer.BadParameter(f"must be a JSON object, not {text[:80]!r}", param_hint=option)
    return value
