"""Are the pages about the command line true? The session is typed again, the help is printed again."""

from pathlib import Path

import pytest

from lightsched.cli.main import COMMANDS
from lightsched.cli.page import page
from tests.api.conftest import started
from tests.docs.session import README, commands, record, session, without_times

ROOT = Path(__file__).parents[2]


def test_the_page_is_the_help():
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == page(), "run `make docs`"


def test_the_page_has_every_command():
    text = page()
    for name in [*(name for panel in COMMANDS.values() for name in panel), "topics create"]:
        assert f"`lightsched {name}`" in text


def test_the_session_in_the_readme_is_as_it_happens(tmp_path):
    told = session(README.read_text(encoding="utf-8"))
    with started(tmp_path, partitions=1) as (_, address):
        happened = record(commands(told), address)
    assert without_times(happened) == without_times(told), "run `make docs`"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("fires in 5 s (2026-11-16 09:00:05)", "fires in 4 s (2031-01-01 00:00:00)"),
        ("Mon 2026-11-16 09:30:00 +0100  08:30:00Z  in 3 h", "Tue 2026-06-16 09:30:00 +0200  07:30:00Z  in 9 min"),
    ],
)
def test_only_times_are_left_out_of_the_comparison(one, other):
    assert without_times(one) == without_times(other)
    assert without_times(one) != without_times(one.replace("0", "x"))
