"""How is an event scheduled or changed from the command line? Every field of an event is an option."""

from typing import Annotated, Any

import typer

from lightsched.cli import definition as its
from lightsched.cli.asking import AsJson, Id, Key, Tenant, connected
from lightsched.cli.definition import HOW, WHAT, fields_of, option
from lightsched.cli.events import Reason, say


def schedule(
    context: typer.Context,
    at: its.At = None,
    in_: its.In = None,
    cron: its.CronText = None,
    every: its.Every = None,
    timezone: its.Timezone = None,
    starts_at: its.StartsAt = None,
    ends_at: its.EndsAt = None,
    max_runs: its.MaxRuns = None,
    jitter: its.Jitter = None,
    window: its.WindowText = None,
    id: Annotated[str | None, option(panel=WHAT, says="Its name; without one it gets one.")] = None,
    key: Annotated[str | None, option(panel=WHAT, says="The entity it is about; keeps order.")] = None,
    tenant: Annotated[str, option(panel=WHAT, says="Whose event.")] = "default",
    type_: its.Type = None,
    payload: its.Payload = None,
    topics: its.Topics = None,
    headers: its.Headers = None,
    labels: its.Labels = None,
    priority: its.Priority = None,
    catch_up: its.CatchUp = None,
    look_back: its.LookBack = None,
    overlap: its.Overlap = None,
    retry: its.RetryText = None,
    timeout: its.Timeout = None,
    until: its.Until = None,
    expires_in: its.ExpiresIn = None,
    on_conflict: Annotated[str | None, option(panel=HOW, says="It exists: replace, keep, reject.")] = None,
    track: its.Track = None,
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
        "in_": in_,
        "cron": cron,
        "every": every,
        "timezone": timezone,
        "starts_at": starts_at,
        "ends_at": ends_at,
        "max_runs": max_runs,
        "jitter": jitter,
        "window": window,
        "catch_up": catch_up,
        "look_back": look_back,
        "overlap": overlap,
        "retry": retry,
        "timeout": timeout,
        "until": until,
        "expires_in": expires_in,
        "topics": topics,
        "priority": priority,
        "on_conflict": on_conflict,
        "track": track,
        "headers": headers,
        "labels": labels,
        "payload": payload,
    }
    fields = fields_of(fields)
    with connected(context, tenant) as client:
        say(client.schedule(**fields), as_json=as_json)


def update(
    context: typer.Context,
    id: Id,
    at: its.At = None,
    in_: its.In = None,
    cron: its.CronText = None,
    every: its.Every = None,
    timezone: its.Timezone = None,
    starts_at: its.StartsAt = None,
    ends_at: its.EndsAt = None,
    max_runs: its.MaxRuns = None,
    jitter: its.Jitter = None,
    window: its.WindowText = None,
    type_: its.Type = None,
    payload: its.Payload = None,
    topics: its.Topics = None,
    headers: its.Headers = None,
    labels: its.Labels = None,
    priority: its.Priority = None,
    catch_up: its.CatchUp = None,
    look_back: its.LookBack = None,
    overlap: its.Overlap = None,
    retry: its.RetryText = None,
    timeout: its.Timeout = None,
    until: its.Until = None,
    expires_in: its.ExpiresIn = None,
    track: its.Track = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="Take this field away, such as window; repeatable.", show_default=False)
    ] = None,
    revision: Annotated[
        int | None, typer.Option(min=1, help="Only if this is still its revision.", show_default=False)
    ] = None,
    reason: Reason = "",
    tenant: Tenant = "default",
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Change an event in part: what is given replaces what is there, all else stays.

    One of --at, --in, --cron, --every takes the place of the schedule; what is an object, such as a payload or labels,
    is merged with what is there.

    lightsched update stand-up --cron '0 10 * * mon-fri' --remove jitter
    """
    fields: dict[str, Any] = {
        "type": type_,
        "at": at,
        "in_": in_,
        "cron": cron,
        "every": every,
        "timezone": timezone,
        "starts_at": starts_at,
        "ends_at": ends_at,
        "max_runs": max_runs,
        "jitter": jitter,
        "window": window,
        "catch_up": catch_up,
        "look_back": look_back,
        "overlap": overlap,
        "retry": retry,
        "timeout": timeout,
        "until": until,
        "expires_in": expires_in,
        "topics": topics,
        "priority": priority,
        "track": track,
        "headers": headers,
        "labels": labels,
        "payload": payload,
    }
    if sum(value is not None for value in (at, in_, cron, every)) > 1:
        raise typer.BadParameter("give at most one of --at, --in, --cron, --every")
    changes = fields_of(fields)
    if not changes and not remove:
        raise typer.BadParameter("say what to change, such as --cron or --payload, or what to --remove")
    for text in remove or ():
        name = its.field_called(text, fields)
        if name is None:
            raise typer.BadParameter(f"{text!r} is no field that an event may have", param_hint="--remove")
        if name in changes:
            raise typer.BadParameter(f"{text} is both given and removed", param_hint="--remove")
        changes[name] = None
    with connected(context, tenant) as client:
        say(client.change(id, key=key, revision=revision, reason=reason, **changes), as_json=as_json)
