"""How is lightsched started? `dev` on one's own machine, `serve` as a node that settings describe.

What only a server needs is imported when one is started: that takes a second, and other commands should not wait.
"""

import asyncio
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lightsched import __version__

USUAL_FILE = Path("lightsched.yml")

Data = Annotated[Path | None, typer.Option(help="Directory that keeps everything.", show_default=".lightsched")]
Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0: a free one.", show_default="8080")
]
Host = Annotated[str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")]


def dev(data: Data = None, port: Port = None, host: Host = None) -> None:
    """Start lightsched on this machine, with nothing else needed: API, page, embedded log.

    Settings come from LIGHTSCHED_… variables and from the flags.
    """
    run(None, _flags(data, port, host))


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


def run(file: Path | None, flags: dict[str, Any]) -> None:
    """Run a node until it is stopped."""
    from lightsched.api import server  # noqa: PLC0415
    from lightsched.node.garbage import collect_seldom  # noqa: PLC0415
    from lightsched.node.settings import Settings  # noqa: PLC0415

    settings = Settings.load(file, **flags)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    collect_seldom()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(server.serve(settings, lambda address: _announce(address, settings.data)))


def _announce(address: str, data: Path) -> None:
    lines = (
        f"lightsched {__version__} is running, its data is in {data.absolute()}",
        f"  page  {address}/",
        f"  API   {address}/api/v1",
        f"  docs  {address}/docs",
        "Stop it with Ctrl-C.",
    )
    typer.echo("\n".join(lines))
    sys.stdout.flush()


def _flags(data: Path | None, port: int | None, host: str | None) -> dict[str, Any]:
    """Only those that were given: the others must not override the environment."""
    http = {name: value for name, value in (("port", port), ("host", host)) if value is not None}
    return {name: value for name, value in (("data", data), ("http", http)) if value}


def _loop_factory() -> Any:
    """The faster loop, where there is one."""
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop
