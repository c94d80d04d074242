"""What is delivered? Watch a topic live, read it as a group, report on a delivery."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.definition import read_value
from lightsched.cli.output import carried_out
from lightsched.cli.printing import console, escape, local, print_json, short

if TYPE_CHECKING:
    from lightsched.client import ClientError, Delivery


def watch(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="A delivery topic.")] = "deliveries",
    group: Annotated[
        str | None, typer.Option(help="Read as this group, from where it stands, and acknowledge.")
    ] = None,
    count: Annotated[int | None, typer.Option("--count", "-c", min=1, help="Leave after so many.")] = None,
    idle: Annotated[str | None, typer.Option(help="Leave when none came for so long, such as 10s.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what is delivered, as it happens. Only looks: without --group nobody misses anything.

    If the server goes away meanwhile, it is waited for.
    """
    if idle is not None:
        _check_idle(idle)
    try:
        with connected(context, verbatim=as_json) as client:
            from lightsched.client.telling import tell  # noqa: PLC0415

            tell(client, _say_whether_it_is_there)
            if group is None:
                found = client.watch(topic, limit=count, idle=idle)
            else:
                found = client.deliveries(topic, group=group, limit=count, idle=idle)
            _print(found, topic, as_json=as_json, live=group is None)
    except KeyboardInterrupt:
        return


def _check_idle(idle: str) -> None:
    """Before anything is said, not when the first delivery is waited for."""
    from lightsched.timing import TimingError, parse_duration  # noqa: PLC0415

    try:
        parse_duration(idle)
    except TimingError as error:
        raise typer.BadParameter(str(error), param_hint="--idle") from None


def _say_whether_it_is_there(error: "ClientError | None") -> None:
    words = "The server is back." if error is None else f"{error} It is waited for; leave with Ctrl-C."
    typer.echo(f"lightsched: {words}", err=True)


def _print(deliveries: "Iterator[Delivery]", topic: str, *, as_json: bool, live: bool) -> None:
    if not as_json and live:
        console(err=True).print(f"[dim]Watching {escape(topic)}; leave with Ctrl-C.[/]")
    out = console()
    for delivery in deliveries:
        if as_json:
            print_json(delivery)
            continue
        late_ms = (delivery.delivered_at - delivery.due).total_seconds() * 1000
        again = f" [yellow]attempt {delivery.attempt}[/]" if delivery.attempt > 1 else ""
        out.print(
            f"[dim]{local(delivery.delivered_at)}[/]  [bold]{escape(delivery.id)}[/]  {escape(delivery.type)}"
            f"  [dim]{max(late_ms, 0):+.0f} ms[/]{again}  {short(delivery.payload, 200)}",
            soft_wrap=True,
        )


def report(
    context: typer.Context,
    delivery: Annotated[str, typer.Argument(help="The delivery's id, as `watch --json` shows it.", show_default=False)],
    status: Annotated[
        str,
        typer.Argument(help="CLAIMED, PROCESSING, SUCCESS, RETRIABLE_FAILURE or FATAL_FAILURE.", show_default=False),
    ],
    token: Annotated[str, typer.Option(help="The delivery's token.", show_default=False)],
    result: Annotated[str | None, typer.Option(help="JSON, else text; @FILE: what is in the file.")] = None,
    error: Annotated[str, typer.Option(help="What went wrong.")] = "",
    executor: Annotated[str, typer.Option(help="Who says so.")] = "cli",
    retry_in: Annotated[str | None, typer.Option(help="When to try again, instead of as the event says.")] = None,
    as_json: AsJson = False,
) -> None:
    """Report on a delivery, in an executor's place."""
    from lightsched.client import ReportStatus  # noqa: PLC0415

    word = status.upper()
    if word not in set(ReportStatus):
        raise typer.BadParameter(f"{status!r} is none of {', '.join(ReportStatus)}", param_hint="STATUS")
    said = None if result is None else read_value("--result", result)
    with connected(context) as client:
        client.report(
            delivery,
            ReportStatus(word),
            token=token,
            executor=executor,
            result=said,
            error=error,
            retry_in=retry_in,
        )
    with carried_out():
        if as_json:
            print_json({"delivery": delivery, "status": word})
        else:
            console().print(f"{escape(delivery)}: reported {word}")
