"""What does docs/cli.md say? What `--help` says, of every command: `python -m lightsched.cli.page` writes it."""

import re

import typer

from lightsched.cli.main import app

ABOUT = """
Made from the commands' own help by `make docs`.

Exit codes: 0 done, 1 failed, 2 wrong usage. `--json` prints one JSON value a line, for programs; without it tables are
for people, in colour on a terminal (not in a pipe, nor with `NO_COLOR`). What goes wrong is said on standard error,
with what to do about it. `lightsched --install-completion` teaches your shell the commands and their
options, and what could be meant: ids of events, statuses, timezones.
"""
_SHORTENED = re.compile(r"\*\*Commands\*\*:\n\n(?:\* .*\n)+\n")


def page() -> str:
    """The whole page."""
    from typer.cli import get_docs_for_click  # noqa: PLC0415

    command = typer.main.get_command(app)
    text = get_docs_for_click(obj=command, ctx=typer.Context(command), name="lightsched", title="The command line")
    title, _, rest = _SHORTENED.sub("", text).partition("\n\n")
    return f"{title}\n{ABOUT}\n{rest.rstrip()}\n"


if __name__ == "__main__":
    from pathlib import Path

    Path("docs/cli.md").write_text(page(), encoding="utf-8")
