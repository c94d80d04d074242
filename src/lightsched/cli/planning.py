"""When would it fire, and how much is due? To look at before relying on it."""

from datetime import timedelta
from typing import Annotated

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.completing import zones
from lightsched.cli.definition import read_object
from lightsched.cli.printing import console, escape, local, print_json, relative, table

_BAR = 40
_MOST_MINUTES = 1_440


def preview(
    context: typer.Context,
    cron: Annotated[str | None, typer.Argument(help="5 or 6 fields, or @daily.", show_default=False)] = None,
    every: Annotated[str | None, typer.Option(help="A duration, instead of CRON.")] = None,
    timezone: Annotated[str, typer.Option("--timezone", "--tz", help="In which zone.", autocompletion=zones)] = "UTC",
    window: Annotated[str | None, typer.Option(help="As JSON, as in an event.")] = None,
    from_: Annotated[str | None, typer.Option("--from", help="From when on.", show_default="now")] = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, max=1_000, help="How many.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show when a schedule would fire."""
    if (cron is None) == (every is None):
        raise typer.BadParameter("give a cron expression, in quotes, or --every")
    with connected(context) as client:
        found = client.preview(
            cron, every=every, timezone=timezone, window=read_object("--window", window), from_=from_, n=n
        )
    if as_json:
        print_json(found)
        return
    out = console()
    out.print(f"[bold]{escape(found.text)}[/]")
    rows = [
        (f"{at.local:%a %Y-%m-%d %H:%M:%S %z}", f"{at.utc:%H:%M:%SZ}", relative(at.utc), escape(at.note))
        for at in found.times
    ]
    out.print(table(("local", "utc", "when", "note"), rows))


def forecast(
    context: typer.Context,
    minutes: Annotated[int, typer.Option(min=1, max=_MOST_MINUTES, help="How far ahead.")] = 60,
    as_json: AsJson = False,
) -> None:
    """Show how much is due in the coming minutes."""
    with connected(context) as client:
        # The present minute has begun: what is due so far ahead may be in the one after the last.
        found = client.forecast(minutes if as_json else min(minutes + 1, _MOST_MINUTES))
    if as_json:
        for minute in found:
            print_json(minute)
        return
    most = max((minute.pending for minute in found), default=0)
    rows = [
        (local(minute.minute)[11:16], f"{minute.pending:,}", "█" * max(1, minute.pending * _BAR // most))
        for minute in found
        if minute.pending
    ]
    out = console()
    until = local(found[-1].minute + timedelta(minutes=1))[:16]
    out.print(table(("minute", "due", ""), rows) if rows else f"Nothing is due before {until}.")
