"""How is something asked of many events at once? By a filter, as `list` has it."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.definition import pairs
from lightsched.cli.events import COMMANDS, DueFrom, DueTo, OfLabel, OfStatus, OfType, Prefix, Reason
from lightsched.cli.output import carried_out
from lightsched.cli.printing import console, print_json

if TYPE_CHECKING:
    from lightsched.client import Counts


def bulk(
    context: typer.Context,
    action: Annotated[str, typer.Argument(help=f"What to do: {', '.join(COMMANDS)}.", show_default=False)],
    tenant: Annotated[str, typer.Option(help="Whose events; `*`: everybody's.")] = "default",
    status_: OfStatus = None,
    type_: OfType = None,
    label: OfLabel = None,
    prefix: Prefix = "",
    due_from: DueFrom = None,
    due_to: DueTo = None,
    every_one: Annotated[bool, typer.Option("--all", help="All that are not over, if nothing else is said.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count those that match.")] = False,
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Cancel, pause, resume or trigger all events that match; look first with --dry-run.

    lightsched bulk pause --label team=blue --dry-run
    """
    if action not in COMMANDS:
        raise typer.BadParameter(f"{action!r} is none of {', '.join(COMMANDS)}", param_hint="ACTION")
    which: dict[str, Any] = {
        "status": [word.upper() for word in status_ or ()],
        "type": type_,
        "labels": pairs("--label", label),
        "prefix": prefix,
        "due_from": due_from,
        "due_to": due_to,
    }
    if not any(which.values()) and not every_one:
        raise typer.BadParameter("say which, such as --label or --prefix, or --all")
    with connected(context, tenant) as client:
        counts = client.bulk(cast("Any", action), dry_run=dry_run, reason=reason, all=every_one, **which)
    with nullcontext() if dry_run else carried_out():
        _say(counts, dry_run=dry_run, as_json=as_json)


def _say(counts: "Counts", *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json(counts)
        return
    events = f"{counts.matched:,} event{'' if counts.matched == 1 else 's'}"
    if dry_run:
        console().print(f"{events} match, nothing was done")
        return
    came = [f"{number:,} {outcome}" for outcome, number in sorted(counts.outcomes.items())]
    if counts.unknown:
        came.append(f"{counts.unknown:,} not known: they may be done, or not")
    console().print(": ".join(filter(None, (events, ", ".join(came)))))
