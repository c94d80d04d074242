"""Which commands are there? Exit codes: 0 done, 1 failed, 2 wrong usage.

A command's file imports what it needs when it runs: `lightsched --help` and the commands that ask a server wait
neither for the server's code nor for what others need.
"""

import sys
from collections.abc import Callable
from typing import Annotated, Any, NoReturn, TextIO, cast

import typer
from typer.core import TyperGroup

from lightsched.cli import (
    bulk,
    cluster,
    dead_letters,
    doctor,
    events,
    injecting,
    planning,
    scheduling,
    serving,
    tenants,
    topics,
    watching,
)
from lightsched.cli.asking import Server
from lightsched.cli.output import Output
from lightsched.errors import LightschedError

DONE, FAILED, WRONG_USAGE = 0, 1, 2
_BEFORE = frozenset({"--server", "--token"})
_WRONG = frozenset({"BadSettings", "Invalid", "TooLarge"})
USUAL_SERVER = "http://127.0.0.1:8080"
SERVING, EVENTS, PLANNING, DELIVERIES, OPERATIONS = "Servers", "Events", "Planning", "Deliveries", "Operations"


class Program(TyperGroup):
    """All commands, with a word to those who give an option of all of them to one."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except typer.TyperException as error:
            option = getattr(error, "option_name", None)  # of one that there is not
            if option in _BEFORE:
                error.message += f". It goes before the command: lightsched {option} … {ctx.invoked_subcommand}"
            raise


app = typer.Typer(
    name="lightsched",
    cls=Program,
    help="An event scheduler: hand it an event, it is delivered once, on time, to a topic.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    SERVING: {"dev": serving.dev, "serve": serving.serve},
    EVENTS: {
        "schedule": scheduling.schedule,
        "inject": injecting.inject,
        "get": events.get,
        "list": events.list_events,
        **{name: events.command(name) for name in events.COMMANDS},
        "update": scheduling.update,
        "bulk": bulk.bulk,
        "history": events.history,
        "explain": events.explain,
    },
    PLANNING: {"preview": planning.preview, "forecast": planning.forecast},
    DELIVERIES: {"watch": watching.watch, "report": watching.report},
    OPERATIONS: {"nodes": cluster.nodes, "doctor": doctor.doctor},
}
for _panel, _commands in COMMANDS.items():
    for _name, _command in _commands.items():
        app.command(name=_name, rich_help_panel=_panel)(_command)
app.add_typer(dead_letters.app, name="dead-letters", rich_help_panel=OPERATIONS)
app.add_typer(tenants.app, name="tenants", rich_help_panel=OPERATIONS)
app.add_typer(topics.app, name="topics", rich_help_panel=OPERATIONS)


def _show(on: bool) -> None:
    if on:
        from lightsched import __version__  # noqa: PLC0415

        typer.echo(f"lightsched {__version__}")
        raise typer.Exit(DONE)


@app.callback()
def root(
    context: typer.Context,
    server: Annotated[
        str,
        typer.Option(
            envvar="LIGHTSCHED_SERVER",
            help="The server to ask, or kafka://host:port, with ?prefix=… if topics are not lightsched.…",
        ),
    ] = USUAL_SERVER,
    token: Annotated[
        str, typer.Option(envvar="LIGHTSCHED_TOKEN", help="Who asks.", show_default=False, show_envvar=True)
    ] = "",
    _version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and leave.", is_eager=True, callback=_show),
    ] = False,
) -> None:
    """An event scheduler: hand it an event, it is delivered once, on time, to a topic."""
    context.obj = Server(server, token)


def main() -> NoReturn:
    """Run a command; what went wrong is said in one line."""
    stdout = sys.stdout
    sys.stdout = cast("TextIO", Output(stdout))
    try:
        app(prog_name="lightsched")
    except LightschedError as error:
        typer.echo(f"lightsched: {error}", err=True)
        sys.exit(WRONG_USAGE if type(error).__name__ in _WRONG else FAILED)
    finally:
        sys.stdout = stdout
    sys.exit(DONE)
