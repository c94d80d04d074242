"""How is something shown? As a table for people, as JSON for programs, and times by how far away they are.

Colours and widths follow the terminal; there are none in a pipe, nor with NO_COLOR.
"""

import sys
from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_PIPED_COLUMNS = 500
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")  # in JSON they stand between values only
COLOURS = {
    "NOT_STARTED": "cyan",
    "CLAIMED": "blue",
    "PROCESSING": "blue",
    "SUCCESS": "green",
    "RETRIABLE_FAILURE": "yellow",
    "FATAL_FAILURE": "red",
    "PAUSED": "magenta",
    "CANCELLED": "dim",
    "EXPIRED": "dim",
}


def console(*, err: bool = False) -> "Console":
    """Where people read."""
    from rich.console import Console  # noqa: PLC0415 - who wants JSON does not wait for it

    stream = sys.stderr if err else sys.stdout
    return Console(stderr=err, width=None if stream.isatty() else _PIPED_COLUMNS, highlight=False, soft_wrap=False)


def print_json(value: Any) -> None:
    """One value, on one line; what is JSON already, as it is, but for its lines."""
    import msgspec  # noqa: PLC0415

    if isinstance(value, msgspec.Raw):
        typer.echo(bytes(value).translate(_ONE_LINE).decode())
        return
    plain = msgspec.to_builtins(value, builtin_types=(datetime, bytes, Decimal))
    typer.echo(_json(_contract(plain)))


def _json(value: Any) -> str:
    """Numbers that are too large for Python are numbers, too."""
    import msgspec  # noqa: PLC0415

    return msgspec.json.Encoder(decimal_format="number").encode(value).decode()


def _contract(value: Any) -> Any:
    """In the forms of the contract: times in UTC with milliseconds, and bytes only once."""
    match value:
        case datetime():
            return utc(value)
        case bytes():
            return b64encode(value).decode()
        case dict():
            without = {"payload"} if value.get("payload_base64") is not None else set()
            return {name: _contract(inner) for name, inner in value.items() if name not in without}
        case list() | tuple():
            return [_contract(inner) for inner in value]
        case _:
            return value


def utc(when: datetime) -> str:
    """As everywhere in the API; a local time keeps its offset."""
    text = when.isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def local(when: datetime) -> str:
    """On the clock of whoever reads it."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def relative(when: datetime | None, now: datetime | None = None) -> str:
    """How far away: `in 3 min`, `2 h ago`."""
    if when is None:
        return "—"
    seconds = (when - (now or datetime.now(UTC))).total_seconds()
    away = round(abs(seconds))
    if away == 0:
        return "now"
    size, unit = next((size, unit) for size, unit in _UNITS if away >= size)
    count = f"{round(away / size)} {unit}"
    return f"in {count}" if seconds > 0 else f"{count} ago"


def status(word: str) -> str:
    """A status in its colour, as rich writes it."""
    return f"[{COLOURS[word]}]{word}[/]" if word in COLOURS else word


def escape(text: str) -> str:
    """Text from elsewhere, which may hold what looks like rich's markup, or a terminal's."""
    from rich.markup import escape as rich_escape  # noqa: PLC0415

    printable = "".join(char if char.isprintable() else "�" for char in text)
    return rich_escape(printable)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> "RenderableType":
    """Rows under their headings; the cells are in rich's markup."""
    from rich.table import Table  # noqa: PLC0415

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(column.upper(), overflow="fold")
    for row in rows:
        shown.add_row(*row)
    return shown


def facts(rows: Iterable[tuple[str, str]]) -> "RenderableType":
    """Names and values, one pair a line; pairs without a value are left out."""
    from rich.table import Table  # noqa: PLC0415

    shown = Table.grid(padding=(0, 2))
    shown.add_column(style="dim")
    shown.add_column(overflow="fold")
    for name, value in rows:
        if value:
            shown.add_row(f"  {name}", value)
    return shown


def short(value: Any, most: int = 60) -> str:
    """A payload or a result, as much as fits."""
    if value is None:
        return ""
    text = f"{len(value)} bytes" if isinstance(value, bytes) else _json(value)
    return escape(text if len(text) <= most else f"{text[: most - 1]}…")
