"""Is the page about converters true? Its converter is the template's, is run by its own test, and works by its name."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from lightsched.client.converting import converter_named
from tests.docs.running import fences

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/converters.md").read_text(encoding="utf-8")
TEMPLATE = ROOT / "injectors/files/template"


def run(*command, cwd=None):
    environment = {**os.environ, "PYTHONPATH": str(TEMPLATE), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", *command], env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )


def test_the_converter_of_the_page_is_that_of_the_template_in_twenty_lines():
    (fence,) = fences(PAGE)
    assert fence == (TEMPLATE / "birthdays.py").read_text(encoding="utf-8")
    assert len(fence.splitlines()) <= 20


def test_the_template_passes_its_own_test():
    done = run("pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(TEMPLATE), str(TEMPLATE))
    assert "2 passed" in done.stdout, done.stdout


def test_it_is_used_as_the_page_says(tmp_path):
    (tmp_path / "friends.txt").write_text("24 Dec Ada\n31 Feb Bob\nEve\n")
    (command,) = re.findall(r"PYTHONPATH=\. lightsched (.*)", PAGE)
    done = run("lightsched", *command.split(), cwd=tmp_path)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert "3" in said
    assert "is no birthday" in said
    assert "never fires" in said


@pytest.mark.parametrize(("name", "function"), re.findall(r"^\| `([a-z-]+)` \| `(\S+:\S+)` \|", PAGE, re.MULTILINE))
def test_converters_are_found_by_both_names(name, function):
    assert converter_named(name) is converter_named(function)


def test_the_page_names_all_converters():
    names = {entry.name for entry in entry_points(group="lightsched.converters")}
    assert names == set(re.findall(r"^\| `([a-z-]+)` \| `\S+:\S+` \|", PAGE, re.MULTILINE))
