"""What can be done with an event that is there? Look at it, list it, stop it, start it, and ask it why."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from lightsched.cli.asking import AsJson, Id, Key, Tenant, connected
from lightsched.cli.completing import event_ids, statuses
from lightsched.cli.definition import pairs
from lightsched.cli.output import carried_out
from lightsched.cli.printing import console, escape, facts, local, print_json, relative, short, status, table

if TYPE_CHECKING:
    from lightsched.client import Result, Run, ScheduledEvent

OfStatus = Annotated[
    list[str] | None, typer.Option("--status", help="Only in this status; may be repeated.", autocompletion=statuses)
]
OfType = Annotated[str | None, typer.Option("--type", help="Only of this type.")]
OfLabel = Annotated[list[str] | None, typer.Option(help="Only with this label, as name=value; repeatable.")]
Prefix = Annotated[str, typer.Option(help="Only ids that begin with this.")]
DueFrom = Annotated[str | None, typer.Option(help="Only what fires next at or after this time.")]
DueTo = Annotated[str | None, typer.Option(help="Only what fires next before this time.")]
Reason = Annotated[str, typer.Option(help="Why, for the audit and for `explain`.")]
Limit = Annotated[int, typer.Option(min=0, help="At most so many; 0: all.")]


def get(context: typer.Context, id: Id, tenant: Tenant = "default", key: Key = None, as_json: AsJson = False) -> None:
    """Look at an event: what it is, how it is, when it fires next."""
    with connected(context, tenant, verbatim=as_json) as client:
        event = client.get(id, key=key)
    if as_json:
        print_json(event)
    else:
        _show(event)


def list_events(
    context: typer.Context,
    tenant: Annotated[str, typer.Option(help="Whose events; `*`: everybody's.")] = "default",
    status_: OfStatus = None,
    type_: OfType = None,
    label: OfLabel = None,
    prefix: Prefix = "",
    due_from: DueFrom = None,
    due_to: DueTo = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List events."""
    with connected(context, tenant, verbatim=as_json) as client:
        found = client.list(
            status=[word.upper() for word in status_ or ()],
            type=type_,
            labels=pairs("--label", label),
            prefix=prefix,
            due_from=due_from,
            due_to=due_to,
        )
        if as_json:
            for event in islice(found, limit or None):
                print_json(event)
            return
        events = list(islice(found, limit + 1 if limit else None))
    if not events:
        console().print("There are no such events.")
        return
    rows = events[:limit] if limit else events
    console().print(table(("id", "status", "type", "next", "schedule"), map(_row, rows)))
    if len(events) > len(rows):
        console(err=True).print(f"[dim]… and more: --limit {limit * 10}, or --limit 0 for all[/]")


COMMANDS = {
    "cancel": "Cancel an event: it fires no more.",
    "pause": "Pause an event: nothing is delivered until it is resumed.",
    "resume": "Resume an event after a pause.",
    "trigger": "Run an event now: a recurrence once more, a one-shot instead of later.",
}
"""What can be asked of an event by its name alone."""


def command(name: str) -> Callable[..., None]:
    """One of `COMMANDS`."""

    def ask(
        context: typer.Context,
        id: Id,
        tenant: Tenant = "default",
        key: Key = None,
        reason: Reason = "",
        as_json: AsJson = False,
    ) -> None:
        with connected(context, tenant) as client:
            say(getattr(client, name)(id, key=key, reason=reason), as_json=as_json)

    ask.__doc__ = COMMANDS[name]
    return ask


def history(
    context: typer.Context,
    id: Annotated[
        str | None, typer.Argument(help="The event's id; without one: what ran last.", autocompletion=event_ids)
    ] = None,
    tenant: Tenant = "default",
    key: Key = None,
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """The runs of an event, newest first; or those of all events that ended last."""
    with connected(context, tenant, verbatim=as_json) as client:
        found: Iterator[Run] = client.all_runs() if id is None else client.runs(id, key=key)
        runs = list(islice(found, limit or None))
    if as_json:
        for run in runs:
            print_json(run)
    elif runs:
        columns = ("due", "status", "attempts", "delivered", "executor", "result")
        console().print(table(columns if id else ("id", *columns), [_run_row(run) for run in runs]))
    else:
        console().print(f"{escape(id)} has not run yet." if id else "Nothing has run lately.")


def _run_row(run: "Run") -> tuple[str, ...]:
    name = getattr(run, "id", None)
    return (
        *(() if name is None else (escape(name),)),
        local(run.due),
        status(run.status),
        str(run.attempt),
        relative(run.delivered_at),
        escape(run.attempts[-1].executor) if run.attempts else "",
        escape(run.error) or short(run.result),
    )


def explain(
    context: typer.Context, id: Id, tenant: Tenant = "default", key: Key = None, as_json: AsJson = False
) -> None:
    """Tell why an event fired, or did not."""
    with connected(context, tenant) as client:
        told = client.explain(id, key=key)
    if as_json:
        print_json(told)
        return
    out = console()
    out.print(f"[bold]{escape(told.id)}[/]  {status(told.status)}")
    out.print(facts((told_at(reason.at), escape(reason.text)) for reason in told.reasons))


def told_at(at: str | None) -> str:
    """When a decision was taken; what holds at present has no time."""
    return local(datetime.fromisoformat(at)) if at else "now"


def say(result: "Result", *, as_json: bool) -> None:
    """What came of a command."""
    with carried_out():
        if as_json:
            print_json(result)
        else:
            console().print(f"[bold]{escape(result.id)}[/]: {result.outcome or 'sent'}{_when(result)}")


def _when(result: "Result") -> str:
    due = result.next_execution
    if due is None:
        return ", and already EXPIRED: its time is too long past" if result.status == "EXPIRED" else ""
    away = relative(due)
    if not away.endswith("ago"):
        return f", fires {away} ({local(due)})"
    return f", was due {away} ({local(due)}), fires now"


def _row(event: "ScheduledEvent") -> tuple[str, ...]:
    return (
        escape(event.id),
        status(event.status),
        escape(event.type),
        relative(event.next_execution),
        escape(event.schedule_text),
    )


def _show(event: "ScheduledEvent") -> None:
    out = console()
    out.print(f"[bold]{escape(event.id)}[/]  {status(event.status)}")
    ahead = [f"{local(when)}  ({relative(when)})" for when in event.next_executions[:3]]
    rows = [
        ("schedule", escape(event.schedule_text)),
        ("next", "\n".join(ahead)),
        ("last", f"{local(event.last_executed)}  ({relative(event.last_executed)})" if event.last_executed else ""),
        ("runs", f"{event.runs}" + (f", {event.failures} failed" if event.failures else "")),
        ("type", escape(event.type)),
        ("tenant", "" if event.tenant == "default" else escape(event.tenant)),
        ("key", "" if event.key == event.id else escape(event.key)),
        ("topics", escape(", ".join(event.topics))),
        ("labels", escape(", ".join(f"{name}={value}" for name, value in event.labels.items()))),
        ("payload", short(event.payload, 2_000)),
        ("created", f"{local(event.created_at)}  (revision {event.revision})"),
    ]
    out.print(facts(rows))
