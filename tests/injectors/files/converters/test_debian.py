"""Do cron files and timers that nobody here wrote convert, or say precisely what has no equivalent?

Looked at is what the machine's own packages have brought. `samples` beside this file has a line for every construct
that was found in the 148 packages of Debian 12 that ship such files (docs/converters.md has the figures), so that this
does not depend on the machine.
"""

import re
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from croniter import croniter

from lightsched.timing import Cron
from lightsched_files.converting import Problem
from tests.injectors.files.converters import calendars
from tests.injectors.files.converters.survey import converted, converter_of

SAMPLES = sorted((Path(__file__).parent / "samples").rglob("*.timer")) + sorted(
    (Path(__file__).parent / "samples" / "cron.d").iterdir()
)
PLACES = ("/etc/crontab", "/etc/cron.d/*", "/lib/systemd/system/*.timer", "/usr/lib/systemd/user/*.timer")
HERE = sorted(
    path for place in PLACES for path in Path("/").glob(place[1:]) if path.is_file() and converter_of(path) is not None
)
ALWAYS = {"apt": ("apt-daily.timer", "apt-daily-upgrade.timer"), "dpkg": ("dpkg-db-backup.timer",)}
PRECISE = re.compile(r"\S+ has no equivalent: .+\. .+, or .+ with `accept: \[\S+\]`|is a template: .+")
START = 1_767_225_600  # 2026-01-01


def test_there_is_something_to_look_at():
    assert len(SAMPLES) >= 12
    for package, timers in ALWAYS.items():
        if Path(f"/var/lib/dpkg/info/{package}.list").exists():
            assert {path.name for path in HERE} >= set(timers)


@pytest.mark.parametrize("path", [*SAMPLES, *HERE], ids=lambda path: path.name)
def test_a_file_converts_or_says_what_has_no_equivalent(path):
    for each in converted(path):
        if isinstance(each, Problem):
            assert PRECISE.fullmatch(each.message), each.message


@pytest.mark.parametrize(
    "path", [path for path in [*SAMPLES, *HERE] if path.suffix != ".timer"], ids=lambda path: path.name
)
def test_every_line_that_cron_runs_is_an_event_or_a_problem(path):
    written = path.read_text(encoding="utf-8").splitlines()
    runs = {number for number, line in enumerate(written, 1) if re.match(r"\s*(@\w|[\d*][^=]*\s)", line)}
    assert {each.line for each in converted(path)} == runs


@pytest.mark.parametrize(
    "path", [path for path in [*SAMPLES, *HERE] if path.suffix != ".timer"], ids=lambda path: path.name
)
def test_a_line_fires_when_croniter_says(path):
    written = path.read_text(encoding="utf-8").splitlines()
    for each in converted(path):
        if isinstance(each, Problem):
            continue
        text = written[each.line - 1].split()
        theirs = croniter(text[0] if text[0].startswith("@") else " ".join(text[:5]), START, implement_cron_bug=True)
        cron = Cron.parse(each.fields["cron"])
        times = [int(theirs.get_next(float)) * 1000 for _ in range(20)]
        assert [cron.after(ms) for ms in [START * 1000, *times[:-1]]] == times
        assert all(first < second for first, second in pairwise(times))


@pytest.mark.skipif(calendars.PROGRAM is None, reason="no systemd-analyze here: test_calendar has what it said")
@pytest.mark.parametrize(
    "path", [path for path in [*SAMPLES, *HERE] if path.suffix == ".timer"], ids=lambda path: path.name
)
def test_a_timer_fires_when_systemd_says(path):
    written = path.read_text(encoding="utf-8").splitlines()
    for each in converted(path):
        if not isinstance(each, Problem) and "cron" in each.fields:
            expression = written[each.line - 1].partition("=")[2].strip()
            cron, ms = Cron.parse(each.fields["cron"], each.fields["timezone"]), START * 1000
            for theirs in calendars.ask(expression):
                ms = cron.after(ms)
                assert as_systemd_writes(ms) == theirs


def as_systemd_writes(ms):
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"
