"""The terminal session in the README: recorded from the real thing by `python -m tests.docs.session`.

A line with `$` is typed, what follows is what comes out. The test runs it again and compares, times aside.
"""

import os
import re
import shlex
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from lightsched.cli import main

README = Path(__file__).parents[2] / "README.md"
SESSION = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
PROMPT = "$ "
_TIMES = (
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d (\d\d:\d\d:\d\d) [+-]\d{4} +[\d:]+Z", r"<day> \2"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?", "<time>"),
    (r"in \d+ (s|min|h|d)\b", "<ahead>"),
    (r"now|\d+ (s|min|h|d) ago", "<lately>"),
    (r", \d+\.\d s after its time", ""),
    (r"\+\d+ ms", "<late>"),
    (r" +", " "),
)


def session(readme: str) -> str:
    """The session, as it stands in the README."""
    found = SESSION.search(readme)
    assert found, "the README has no ```console block"
    return found[1]


def commands(text: str) -> list[str]:
    return [line.removeprefix(PROMPT) for line in text.splitlines() if line.startswith(PROMPT)]


def record(typed: list[str], server: str) -> str:
    """Type the commands, one after the other; what they say on both outputs follows each.

    They run in this process: starting nine would take longer than all they do.
    """
    said = ""
    for command in typed:
        program, *arguments = shlex.split(command)
        assert program == "lightsched"
        with (
            redirect_stdout(StringIO()) as out,
            redirect_stderr(out),
            suppress(SystemExit),
            patch.object(sys, "argv", [program, *arguments]),
            patch.dict(os.environ, LIGHTSCHED_SERVER=server),
        ):
            main()
        lines = [line.rstrip() for line in out.getvalue().splitlines()]
        said += "\n".join([PROMPT + command, *lines]) + "\n"
    return said


def without_times(text: str) -> list[str]:
    """What must be the same whenever it is run."""
    for pattern, mark in _TIMES:
        text = re.sub(pattern, mark, text)
    return [line.strip() for line in text.splitlines()]


if __name__ == "__main__":
    from tests.api.conftest import started

    with tempfile.TemporaryDirectory() as data, started(Path(data), partitions=1) as (_, address):
        text = README.read_text(encoding="utf-8")
        README.write_text(SESSION.sub(lambda _: record(commands(session(text)), address), text, 1), encoding="utf-8")
