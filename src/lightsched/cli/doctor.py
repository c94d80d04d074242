"""Is everything as it must be? Settings, data, port, broker, clock, server: one line each, and what to do about it.

Here alone a command looks at the machine and not only at the server, so it imports some of the server's code.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.printing import console, escape, print_json
from lightsched.cli.serving import USUAL_FILE
from lightsched.errors import LightschedError

if TYPE_CHECKING:
    from lightsched.client import SyncClient
    from lightsched.node.settings import Settings

LITTLE_BYTES = 1024**3
SKEW_S = 5.0
"""A clock that is off by more is not believed by a node either."""
ANSWERS_WITHIN_S = 5.0
_BEGINNING_S = 1_750_000_000
MARKS = {"good": "[green]✓[/]", "doubtful": "[yellow]![/]", "bad": "[red]✗[/]"}


class Finding(NamedTuple):
    """What was found, and what to do."""

    what: str
    verdict: Literal["good", "doubtful", "bad"]
    words: str


def doctor(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option(help="The settings.", show_default="lightsched.yml, if there is one here")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check settings, data, port, broker, clock and server, and say what to do. Exit code 1 if something is bad."""
    bad = False
    out = None if as_json else console()
    for finding in examine(context, config):
        bad = bad or finding.verdict == "bad"
        if out is None:
            print_json(finding._asdict())
        else:
            out.print(f"{MARKS[finding.verdict]} [bold]{finding.what:<8}[/]  {escape(finding.words)}", soft_wrap=True)
    if bad:
        raise typer.Exit(1)


def examine(context: typer.Context, config: Path | None) -> Iterator[Finding]:
    """All findings, as they are made."""
    from lightsched.node.settings import BadSettings, Settings  # noqa: PLC0415

    file = USUAL_FILE if config is None and USUAL_FILE.is_file() else config
    source = f"{file} and the environment" if file else "the environment and what is usual"
    try:
        settings = Settings.load(file)
    except BadSettings as error:
        yield Finding("settings", "bad", str(error))
    else:
        yield Finding("settings", "good", f"from {source}: log {settings.log}, node {settings.node_id}")
        yield data(settings)
        yield port(settings)
        if settings.log == "kafka":
            yield broker(settings)
    if time.time() < _BEGINNING_S:
        yield Finding("clock", "bad", f"this machine thinks it is {time.ctime()}: set its clock, and let NTP keep it")
    try:
        with connected(context) as client:
            yield from server(client, context.obj.url)
    except LightschedError as error:  # what was given is no address
        yield Finding("server", "bad", str(error))


def data(settings: "Settings") -> Finding:
    """May it be written, and is there room?"""
    place = settings.data.absolute()
    there = next(folder for folder in (place, *place.parents) if folder.exists())
    try:
        probe = there / f".lightsched-doctor-{time.time_ns()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        words = f"{there} cannot be written ({error.strerror}): give another with `data` or --data"
        return Finding("data", "bad", words)
    free = shutil.disk_usage(there).free
    words = f"{place} can be written, {free / 1024**3:.1f} GiB are free"
    if free < LITTLE_BYTES:
        return Finding("data", "doubtful", f"{words}: that is little, make room")
    return Finding("data", "good", words)


def port(settings: "Settings") -> Finding:
    """Is it free, or is it lightsched that has it?"""
    from lightsched.client import ClientError, SyncClient  # noqa: PLC0415
    from lightsched.node.listening import CannotListen, bind  # noqa: PLC0415

    host, number = settings.http.host, settings.http.port
    try:
        bind(settings.http).close()
    except CannotListen as error:
        try:
            address = f"http://{host}:{number}"
            with SyncClient(address, token="", timeout=ANSWERS_WITHIN_S, retries=0) as client:
                version = client.health().version
        except ClientError:
            return Finding("port", "bad", str(error))
        return Finding("port", "good", f"{host}:{number} is lightsched's own ({version} is running)")
    return Finding("port", "good", f"{host}:{number} is free")


def broker(settings: "Settings") -> Finding:
    """Does Kafka answer, and are the topics as they must be?"""
    import asyncio  # noqa: PLC0415
    import logging  # noqa: PLC0415

    from lightsched.log.kafka.errors import TopicsMissing  # noqa: PLC0415
    from lightsched.log.kafka.topics import check_all  # noqa: PLC0415

    kafka = settings.kafka
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what it would say is in the finding
    try:
        asyncio.run(check_all(kafka.connection("doctor"), kafka.names(), kafka.partitions, kafka.replication))
    except TopicsMissing as error:
        verdict: Literal["doubtful", "bad"] = "doubtful" if kafka.create_topics else "bad"
        return Finding("broker", verdict, f"{error} The first node does it too, if it may.")
    except LightschedError as error:
        return Finding("broker", "bad", str(error))
    words = f"Kafka at {kafka.bootstrap} answers, all topics are right ({kafka.partitions} partitions)"
    return Finding("broker", "good", words)


def server(client: "SyncClient", url: str) -> Iterator[Finding]:
    """Does it answer, does it run all partitions, and does it trust its clock?"""
    from lightsched import __version__  # noqa: PLC0415
    from lightsched.client import ClientError  # noqa: PLC0415

    checks: tuple[Callable[[], Finding], ...] = (lambda: ready(client, url, __version__), lambda: clock(client))
    for check in checks:
        try:
            yield check()
        except ClientError as error:
            yield Finding("server", "bad", str(error))
            return


def ready(client: "SyncClient", url: str, own_version: str) -> Finding:
    """Is the server ready, and of this version?"""
    health, nodes = client.health(), client.nodes()
    words = f"{url} is ready: {health.version}, {len(nodes)} node{'' if len(nodes) == 1 else 's'}, log {nodes[0].log}"
    if health.version != own_version:
        return Finding("server", "doubtful", f"{words}; this command is {own_version}: bring both to the same version")
    return Finding("server", "good", words)


def clock(client: "SyncClient") -> Finding:
    """Do all partitions trust the clock, and is ours the server's?"""
    partitions = client.partitions()
    distrusted = [str(each.partition) for each in partitions if not each.clock_trusted]
    if distrusted:
        words = f"partitions {', '.join(distrusted)} fire nothing, their clock has jumped: check NTP on their nodes"
        return Finding("clock", "bad", words)
    off_s = max((abs(time.time() - node.heartbeat.timestamp()) for node in client.nodes()), default=0.0)
    if off_s > SKEW_S + 10:  # a heartbeat may itself be 10 s old
        words = f"this machine and the server differ by {off_s:.0f} s: let NTP keep the clock of both"
        return Finding("clock", "doubtful", words)
    return Finding("clock", "good", f"trusted in all {len(partitions)} partitions")
