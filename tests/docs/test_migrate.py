"""Is the page about moving true? Its snippets are run on a real server, its crons parsed, and a crontab moves."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lightsched import SyncClient
from lightsched.timing import Cron, TimingError
from tests.api.conftest import started
from tests.docs.running import fences, run

PAGE = (Path(__file__).parents[2] / "docs/migrate.md").read_text(encoding="utf-8")
ADDRESS = "http://127.0.0.1:8080"
CRONS = sorted(set(re.findall(r'cron="([^"]+)"', PAGE)))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server")) as (_, address):
        yield address


async def test_the_page_is_true(server):
    names = {}
    for fence in fences(PAGE):
        await run(fence.replace(ADDRESS, server), names)
    client = names["client"]
    status = {event.id: event.status for event in client.list()}
    assert status == dict.fromkeys(["e2scrub", "invoices", "poll", "renew", "report"], "NOT_STARTED") | {
        "once": "CANCELLED"
    }
    client.close()


@pytest.mark.parametrize("cron", CRONS)
def test_every_cron_of_the_page_fires(cron):
    assert Cron.parse(cron).after(0)


@pytest.mark.parametrize(
    ("cron", "first"),
    [
        ("0 0 * * fri#3", "2026-01-16"),
        ("0 0 * * 5L", "2026-01-30"),
        ("0 0 LW * *", "2026-01-30"),
        ("0 0 * * 0L", "2026-01-25"),
    ],
)
def test_crons_mean_what_the_tables_say(cron, first):
    assert cron in CRONS
    found = Cron.parse(cron).after(1_767_225_600_000)
    assert datetime.fromtimestamp(found / 1000, UTC).date().isoformat() == first


@pytest.mark.parametrize("cron", ["0 0 15W * *", "0 0 L-3 * *", "0 0 ? * 5"])
def test_what_has_no_equivalent_is_refused(cron):
    with pytest.raises(TimingError):
        Cron.parse(cron)


def test_a_crontab_moves_and_goes_by_its_label(server, tmp_path):
    (tmp_path / "jobs").write_text("MAILTO=root\n30 3 * * 0 root scrub\n@daily www-data clean\n")
    inject = [sys.executable, "-m", "lightsched", "--server", server, "inject", "--converter", "system-crontab"]
    for outcome in ("SCHEDULED", "UNCHANGED"):
        done = subprocess.run([*inject, str(tmp_path / "jobs")], capture_output=True, text=True, check=True)
        assert outcome in done.stdout + done.stderr
    with SyncClient(server) as client:
        found = list(client.list(labels={"source": "jobs"}))
        assert sorted(event.cron for event in found) == ["30 3 * * 0", "@daily"]
        assert client.bulk("cancel", labels={"source": "jobs"}).matched == 2
