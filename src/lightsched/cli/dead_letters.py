"""What was put aside, and how is it sent again?"""

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.events import Limit
from lightsched.cli.output import carried_out
from lightsched.cli.printing import console, escape, facts, local, print_json, short, table

if TYPE_CHECKING:
    from lightsched.client import DeadLetter, Redriven

app = typer.Typer(help="What could not be understood or delivered.", no_args_is_help=True)

LetterId = Annotated[str, typer.Argument(help="Its id, such as 0-17.", show_default=False)]


@app.command("list")
def list_letters(
    context: typer.Context,
    reason: Annotated[str | None, typer.Option(help="Only those put aside for it, such as INVALID.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List dead letters, newest first."""
    with connected(context, verbatim=as_json) as client:
        found = client.dead_letters(reason=None if reason is None else reason.upper())
        letters = list(islice(found, limit or None))
    if as_json:
        for letter in letters:
            print_json(letter)
    elif letters:
        rows = [
            (letter.id, local(letter.at), escape(letter.reason), escape(letter.topic), escape(letter.detail[:200]))
            for letter in letters
        ]
        console().print(table(("id", "at", "reason", "topic", "why"), rows))
    else:
        console().print("There are no such dead letters.")


@app.command()
def show(context: typer.Context, id: LetterId, as_json: AsJson = False) -> None:
    """Look at a dead letter: the record as it was, and why it was put aside."""
    with connected(context, verbatim=as_json) as client:
        letter = client.dead_letter(id)
    if as_json:
        print_json(letter)
    else:
        _show(letter)


@app.command()
def redrive(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(help="Their ids, such as 0-17.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Send dead letters again, to where they came from or were to go; those that are refused are named at the end."""
    from lightsched.client import ClientError  # noqa: PLC0415

    refused: list[str] = []
    with connected(context) as client:
        for id_ in ids:
            try:
                redriven = client.redrive(id_)
                with carried_out():
                    _say(redriven, as_json=as_json)
            except ClientError as error:
                if len(ids) == 1:
                    raise
                refused.append(f"{id_}: {error}")
    for line in refused:
        typer.echo(f"lightsched: {line}", err=True)
    if refused:
        raise typer.Exit(1)


def _say(redriven: "Redriven", *, as_json: bool) -> None:
    if as_json:
        print_json(redriven)
        return
    came = redriven.outcome or f"sent to {', '.join(redriven.topics)}"
    why = f", {redriven.error}" if redriven.error else ""
    console().print(f"[bold]{escape(redriven.id)}[/]: {escape(came + why)}")


def _show(letter: "DeadLetter") -> None:
    out = console()
    out.print(f"[bold]{escape(letter.id)}[/]  {escape(letter.reason)}")
    rows = [
        ("at", local(letter.at)),
        ("why", escape(letter.detail)),
        ("topic", escape(letter.topic)),
        ("place", f"{letter.partition}-{letter.offset}" if letter.offset >= 0 else ""),
        ("key", escape(letter.key)),
        ("headers", escape(", ".join(f"{name}={value}" for name, value in letter.headers.items()))),
        ("cut from", "" if letter.cut_from is None else f"{letter.cut_from:,} bytes"),
        ("value", short(letter.value_base64 or letter.value, 2_000)),
    ]
    out.print(facts(rows))
