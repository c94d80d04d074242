"""How does a file of events get in? A thousand at a time; what is wrong is shown with its line.

It is read twice: first everything is checked and its content marked, for the ids; then it is sent. Neither holds more
than a part of it in memory.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from lightsched.cli.asking import AsJson, connected
from lightsched.cli.output import carried_out
from lightsched.cli.printing import console, print_json

if TYPE_CHECKING:
    from lightsched.client.fields import Prepared
    from lightsched.client.files import Line, Read
    from lightsched.client.stamping import Stamp

CHUNK = 1_000
_STDIN = Path("-")
_FORMS = ("ndjson", "json", "yaml", "csv")
_BAD = frozenset({"INVALID", "REJECTED", "QUOTA", "TOO_LATE", "NOT_FOUND", "UNKNOWN"})
_REFUSED = ("INVALID", "REJECTED", "QUOTA", "TOO_LATE", "NOT_FOUND", "UNKNOWN")
_ANY_SIZE = 1 << 40  # how large a payload may be, and how far ahead a time, the server says: it knows its limits
Complain = Callable[[int, str], None]


def inject(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="NDJSON, JSON, YAML or CSV; `-`: standard input.", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Only look for problems, inject nothing.")] = False,
    form: Annotated[
        str | None, typer.Option("--format", help="ndjson, json, yaml or csv.", show_default="by the file's name")
    ] = None,
    converter: Annotated[
        str | None, typer.Option(help="What turns it into events: a converter's name, or module:function.")
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--option", help="For the converter, as NAME=VALUE (the value as in YAML).", show_default=False),
    ] = None,
    tenant: Annotated[str, typer.Option("--tenant", help="Of events that name none.")] = "default",
    as_json: AsJson = False,
) -> None:
    """Schedule all events of a file. Injecting it again changes nothing, but for commands and `in`.

    With --check every problem is shown with its line, and nothing is injected.
    """
    name = "standard input" if file == _STDIN else str(file)
    counts: Counter[str] = Counter()

    def complain(number: int, why: str) -> None:
        if as_json:
            print_json({"line": number, "error": why})
        else:
            typer.echo(f"{name}:{number}: {why}", err=True)

    with _opened(file) as stream:
        read = _reading(file, form, converter, options or [], stream)
        stamp = _stamp(stream, tenant, check=check)
        good, bad = _examine(file, stream, read, stamp, complain)
        counts["INVALID"] += len(bad)
        if check:
            counts["good"] += good
        else:
            stream.seek(0)
            _send(context, _prepared(read(stream), stamp, bad), tenant, counts, complain, good)
    counts = +counts  # only what there is
    with nullcontext() if check else carried_out():
        _summarise(name, counts, check=check, as_json=as_json)
    if counts.keys() & _BAD:
        raise typer.Exit(1)


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    """The file; standard input is put aside first, since it can be read only once."""
    from shutil import copyfileobj  # noqa: PLC0415
    from tempfile import TemporaryFile  # noqa: PLC0415

    if file == _STDIN:
        with TemporaryFile() as aside:
            copyfileobj(sys.stdin.buffer, aside)
            aside.seek(0)
            yield aside
        return
    try:
        stream = file.open("rb")
    except OSError as error:
        raise typer.BadParameter(f"cannot read {file}: {error.strerror}", param_hint="FILE") from None
    with stream:
        yield stream


def _reading(file: Path, form: str | None, converter: str | None, options: Sequence[str], stream: BinaryIO) -> "Read":
    import os  # noqa: PLC0415

    from lightsched.client.converting import Source, converter_named  # noqa: PLC0415
    from lightsched.client.files import SUFFIXES, converting, reading  # noqa: PLC0415

    if converter is not None:
        if form is not None:
            raise typer.BadParameter("give this or --converter", param_hint="--format")
        modified_ms = os.fstat(stream.fileno()).st_mtime_ns // 1_000_000
        return converting(converter_named(converter), Source(file.name, modified_ms, _options(options)))
    if options:
        raise typer.BadParameter("is for a converter: name one with --converter", param_hint="--option")
    form = form or ("json" if file == _STDIN else SUFFIXES.get(file.suffix.lower()))
    if form not in _FORMS:
        raise typer.BadParameter(f"say which of {', '.join(_FORMS)} {file} is", param_hint="--format")
    return reading(form)


def _options(given: Sequence[str]) -> dict[str, Any]:
    """What a converter is told, as `service.yml` would say it under `options`."""
    import yaml  # noqa: PLC0415

    options: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        try:
            options[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            equals = ""
        if not name or not equals:
            raise typer.BadParameter(f"{each!r} is not NAME=VALUE", param_hint="--option")
    return options


def _stamp(stream: BinaryIO, tenant: str, *, check: bool) -> "Stamp":
    from time import time_ns  # noqa: PLC0415

    from lightsched.client.stamping import Stamp, mark_of  # noqa: PLC0415
    from lightsched.event.limits import DEFAULT_LIMITS, Limits  # noqa: PLC0415

    limits = DEFAULT_LIMITS if check else Limits(payload=_ANY_SIZE, horizon_ms=_ANY_SIZE * 1000)
    mark = mark_of(stream)
    stream.seek(0)
    return Stamp(mark, time_ns() // 1_000_000, tenant, limits)


def _examine(file: Path, stream: BinaryIO, read: "Read", stamp: "Stamp", complain: Complain) -> tuple[int, set[int]]:
    """Say what is wrong; how many events are good, and the places of the bad ones."""
    from lightsched.client.errors import Invalid  # noqa: PLC0415
    from lightsched.event.errors import InvalidEvent  # noqa: PLC0415

    good = 0
    bad: set[int] = set()
    try:
        for place, line in enumerate(read(stream), start=1):
            if line.problem:
                problems: tuple[object, ...] = (line.problem,)
            else:
                try:
                    stamp.check(line.body)
                except InvalidEvent as error:
                    problems = error.problems
                else:
                    good += 1
                    continue
            bad.add(place)
            for problem in problems:
                complain(line.number, str(problem))
    except Invalid as error:
        raise Invalid(f"{file}, {error} Nothing was injected.") from None
    return good, bad


def _prepared(lines: "Iterator[Line]", stamp: "Stamp", bad: set[int]) -> "Iterator[tuple[int, Prepared]]":
    """The good ones, each with its line."""
    for place, line in enumerate(lines, start=1):
        if place not in bad:
            yield line.number, stamp.prepare(line.body, place)


def _send(
    context: typer.Context,
    events: "Iterator[tuple[int, Prepared]]",
    tenant: str,
    counts: Counter[str],
    complain: Complain,
    total: int,
) -> None:
    with connected(context, tenant) as client, _progress(total) as advance:
        while chunk := list(islice(events, CHUNK)):
            for (number, _), result in zip(chunk, client.send([event for _, event in chunk]), strict=True):
                counts[result.outcome or ("UNKNOWN" if result.error else "SENT")] += 1
                if not result.ok:
                    complain(number, result.error)
            advance(len(chunk))


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """How far it is, where somebody looks on."""
    if total <= CHUNK or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=console(err=True), transient=True) as progress:
        task = progress.add_task("injecting", total=total)
        yield lambda some: progress.advance(task, some)


def _summarise(name: str, counts: Counter[str], *, check: bool, as_json: bool) -> None:
    if as_json:
        print_json({"file": name, "checked": check, "counts": dict(counts)})
        return
    total = sum(counts.values())
    words = ", ".join(f"{count:,} {word}" for word, count in sorted(counts.items()))
    refused = 0 if check else sum(counts[word] for word in _REFUSED)
    some = f"{total - refused:,} of {total:,}" if refused else f"{total:,}"
    done = "checked" if check else "injected"
    console().print(f"{name}: {some} event{'' if total == 1 else 's'} {done}" + (f": {words}" if words else ""))
