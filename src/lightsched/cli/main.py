"""Which commands are there? Exit codes: 0 done, 1 failed, 2 wrong usage."""

import sys
from typing import Annotated, NoReturn

import typer

from lightsched import __version__
from lightsched.cli import serving
from lightsched.errors import LightschedError

DONE, FAILED, WRONG_USAGE = 0, 1, 2

app = typer.Typer(
    name="lightsched",
    help="An event scheduler: hand it an event, it is delivered once, on time, to a topic.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="dev")(serving.dev)
app.command(name="serve")(serving.serve)


def _show(on: bool) -> None:
    if on:
        typer.echo(f"lightsched {__version__}")
        raise typer.Exit(DONE)


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and leave.", is_eager=True, callback=_show),
    ] = False,
) -> None:
    """An event scheduler: hand it an event, it is delivered once, on time, to a topic."""


def main() -> NoReturn:
    """Run a command; what went wrong is said in one line."""
    try:
        app()
    except LightschedError as error:
        from lightsched.node.settings import BadSettings  # noqa: PLC0415 - it takes long, and is here by now

        typer.echo(f"lightsched: {error}", err=True)
        sys.exit(WRONG_USAGE if isinstance(error, BadSettings) else FAILED)
    sys.exit(DONE)
