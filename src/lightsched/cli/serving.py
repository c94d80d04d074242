"""How is lightsched started? `dev` on one's own machine, `serve` as a node that settings describe.

What only a server needs is imported when one is started: that takes a second, and other commands should not wait.
"""

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lightsched.cli.output import CannotPrint

if TYPE_CHECKING:
    import asyncio

    from lightsched.cli.process import Company

USUAL_FILE = Path("lightsched.yml")

Data = Annotated[Path | None, typer.Option(help="Directory that keeps everything.", show_default=".lightsched")]
Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0: a free one.", show_default="8080")
]
Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]


def dev(
    data: Data = None,
    port: Port = None,
    host: Host = None,
    inbox: Annotated[
        Path | None, typer.Option(help="Directory whose files are injected.", show_default="inbox, if it is there")
    ] = None,
    executors: Annotated[bool, typer.Option(help="Run the executors that are installed, such as http.")] = True,
) -> None:
    """Start lightsched on this machine, with nothing else needed: API, page, embedded log, executors, file watcher.

    Settings come from LIGHTSCHED_… variables and from the flags; `LIGHTSCHED_LOG` is for `serve`.
    """
    from lightsched.cli.process import Company  # noqa: PLC0415

    run(None, {"log": "embedded", **_flags(data, port, host)}, Company(executors, inbox))


def serve(
    config: Annotated[
        Path | None, typer.Option(help="The settings.", show_default="lightsched.yml, if there is one here")
    ] = None,
    data: Data = None,
    port: Port = None,
    host: Host = None,
) -> None:
    """Start a node as its settings say: from a file, LIGHTSCHED_… variables and flags, the later the stronger."""
    file = USUAL_FILE if config is None and USUAL_FILE.is_file() else config
    run(file, _flags(data, port, host))


def run(file: Path | None, flags: dict[str, Any], company: "Company | None" = None) -> None:
    """Run a node until it is stopped; with what is to run beside it."""
    import asyncio  # noqa: PLC0415
    import logging  # noqa: PLC0415

    from lightsched.cli import process  # noqa: PLC0415
    from lightsched.node.garbage import collect_seldom  # noqa: PLC0415
    from lightsched.node.settings import Settings  # noqa: PLC0415

    settings = Settings.load(file, **flags)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("uvicorn", "aiokafka", "httpx"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if settings.log == "kafka" and not settings.node_url:
        logging.getLogger(__name__).warning(
            "node.url is not set, and %s is no address that other nodes could ask: commands for the partitions of this "
            "node will only be answered 202 by the others, and reads 503",
            settings.http.host,
        )
    collect_seldom()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        announce = partial(_announce, data=settings.data)
        runner.run(process.serve(settings, announce, company))


def _announce(address: str, data: Path) -> None:
    from lightsched import __version__  # noqa: PLC0415

    lines = (
        f"lightsched {__version__} is running, its data is in {data.absolute()}",
        f"  page  {address}/",
        f"  API   {address}/api/v1",
        f"  docs  {address}/docs",
        "Stop it with Ctrl-C.",
    )
    with suppress(CannotPrint):  # it runs, whether somebody reads this or not
        typer.echo("\n".join(lines))
        sys.stdout.flush()


def _flags(data: Path | None, port: int | None, host: str | None) -> dict[str, Any]:
    """Only those that were given: the others must not override the environment."""
    http = {name: value for name, value in (("port", port), ("host", host)) if value is not None}
    return {name: value for name, value in (("data", data), ("http", http)) if value}


def _loop_factory() -> Any:
    """The faster loop, where there is one."""
    import asyncio  # noqa: PLC0415

    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return asyncio.new_event_loop

    def new_loop() -> asyncio.AbstractEventLoop:
        loop = uvloop.new_event_loop()
        loop.set_exception_handler(_complain)
        return loop

    return new_loop


def _complain(loop: "asyncio.AbstractEventLoop", context: dict[str, Any]) -> None:
    """As usual, but not of a TLS connection that was given up while it was being opened: uvloop calls that fatal."""
    error = context.get("exception")
    if not (isinstance(error, RuntimeError) and str(error).endswith("the handler is closed")):
        loop.default_exception_handler(context)
