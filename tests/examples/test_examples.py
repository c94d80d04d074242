"""Does every example do what it says? Run as a reader would, on a server and on Kafka; what came of it is looked at."""

import re

import psycopg
import pytest

from lightsched import SyncClient
from lightsched.client import NotFound
from tests.api.conftest import eventually
from tests.examples.program import EXAMPLES, Program


@pytest.fixture(params=["server", "kafka"])
def place(request):
    """What LIGHTSCHED_SERVER says, and where one can look at what came of it."""
    if request.param == "server":
        address = request.getfixturevalue("server")
        return address, address
    address, kafka = request.getfixturevalue("on_kafka")
    return f"kafka://{kafka.bootstrap}?prefix={kafka.prefix}", address


@pytest.fixture
def example(place, tmp_path):
    """Runs one to its end; the lines it printed."""

    def run(name, **variables):
        said = tmp_path / name
        with Program(f"{name}.py", {"LIGHTSCHED_SERVER": place[0], **variables}, said=said) as program:
            assert program.ends() == 0, program.all
        return program.said.splitlines()

    return run


@pytest.fixture
def client(place):
    with SyncClient(place[1]) as client:
        yield client


def ended(client, id, **of):
    """The event, once it is over: a report on Kafka takes a moment."""

    def look():
        try:
            event = client.get(id, **of)
        except NotFound:
            return None
        return event if event.status in {"SUCCESS", "FATAL_FAILURE", "CANCELLED"} else None

    return eventually(look).status


def test_delayed_job(example, client):
    first, second = example("delayed_job")
    assert first == "Ada has signed up: a mail in 2s"
    assert re.fullmatch(r"'Welcome' to ada@example.org, \d+ ms after it was due", second), "never early"
    assert ended(client, "welcome-ada") == "SUCCESS"
    (run,) = client.runs("welcome-ada")
    assert run.result == {"sent_to": "ada@example.org"}


def test_retry_1_2_4_16_256(example, client):
    lines = example("retry_1_2_4_16_256")
    waited = [int(re.fullmatch(r"attempt \d, (\d+) units after the one before", line)[1]) for line in lines]
    assert len(waited) == 6
    assert all(took >= delay - 1 for took, delay in zip(waited, [0, 1, 2, 4, 16, 256], strict=True)), waited
    assert ended(client, "order-7") == "SUCCESS"
    (run,) = client.runs("order-7")
    assert [each.error for each in run.attempts] == ["ACME does not answer"] * 5 + [""]
    assert run.result == "ACME has taken it"


def test_timeout_check(example, client):
    lines = example("timeout_check")
    assert lines[:2] == ["question-1: asked ACME", "question-2: asked Initech"]
    assert lines[2].startswith("question-1: answered, the check is ")
    assert lines[3:] == ["question-2: Initech has not answered within 2s, somebody should call"]
    assert (ended(client, "question-1"), ended(client, "question-2")) == ("CANCELLED", "SUCCESS")
    assert list(client.runs("question-1")) == []


def test_polling_until_done(example, client):
    assert example("polling_until_done") == [
        "cats.mp4: 30 %",
        "cats.mp4: 70 %",
        "cats.mp4: 100 %",
        "cats.mp4: published",
    ]
    assert (ended(client, "ask-for-cats.mp4"), ended(client, "publish")) == ("SUCCESS", "SUCCESS")
    assert sorted(run.status for run in client.runs("ask-for-cats.mp4")) == ["FATAL_FAILURE"] * 2 + ["SUCCESS"]


def test_suspended_workflow(example, client):
    lines = example("suspended_workflow")
    one, two = ([line for line in lines if line.startswith(order)] for order in ("order-1", "order-2"))
    assert one == [
        "order-1: reserved a yacht",
        "order-1: Ada is asked",
        "order-1: approved",
        "order-1: shipped a yacht",
    ]
    assert two == [
        "order-2: reserved a castle",
        "order-2: Bob is asked",
        "order-2: no answer within 3s",
        "order-2: released a castle",
    ]
    assert lines.index(one[-1]) < lines.index(two[-2]), "an answer does not wait"
    for id, stage in (("order-1", "ship"), ("order-2", "release")):
        assert ended(client, f"{id}.{stage}", key=id) == "SUCCESS"


def test_nightly_batch(example, client):
    lines = example("nightly_batch")
    assert [line for line in lines if line.startswith("  ")] == [
        f"  invoice for {who}" for who in ("Ada", "Bob", "Cleo")
    ]
    assert ended(client, "nightly-batch") == "CANCELLED"
    event = client.get("nightly-batch")
    assert event.schedule_text == "at 02:00 every day, Europe/Paris"
    (run,) = client.runs("nightly-batch")
    assert (run.status, run.result) == ("SUCCESS", {"invoices": 3})


def test_order_per_entity(example, client):
    lines = example("order_per_entity")
    assert lines[-3:] == [f"{who:5} open → deposit → withdraw → close" for who in ("ada", "bob", "cleo")]
    assert any("while 2 others" in line for line in lines), "nobody waits for another account"
    assert ended(client, "bob-3-close", key="bob") == "SUCCESS"


def test_exactly_once(example, client, database):
    lines = example("exactly_once", **database)
    assert lines[0] == "attempt 1: paid"
    assert lines[1] == "the worker was killed"
    again = lines[2:-3]  # the delivery, or another attempt, or both
    assert again
    assert all(re.fullmatch(r"attempt \d+: was paid before", line) for line in again), lines
    assert lines[-3:] == ["receipt: one report has counted", "the worker ended with 0", "Ada has 500 cents"]
    where = {"host": database["PGHOST"], "user": database["PGUSER"], "dbname": database["PGDATABASE"]}
    with psycopg.connect(**where) as db:
        assert db.execute("SELECT cents FROM balance").fetchall() == [(500,)]
        assert db.execute("SELECT count(*) FROM done").fetchone() == (1,)
    assert ended(client, "pay-ada") == "SUCCESS"
    (run,) = client.runs("pay-ada")
    assert run.result["run"].count("pay-ada") == 1


def test_execution_window(tmp_path):
    with Program("execution_window.py", {}, said=tmp_path / "said") as program:
        assert program.ends() == 0, program.all
    assert program.said.splitlines()[:3] == [
        "Friday 16:50  attempt 1: calling Ada",
        "Monday 09:00  attempt 2: calling Ada",
        "Monday 09:30  attempt 3: calling Ada",
    ]
    assert "The retry fell outside the window and was moved" in program.said


def test_every_example_is_run_and_in_the_index():
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f"test_{path.stem}" in globals(), f"{path.name} is run by no test"
        assert f"[{path.name}]({path.name})" in index, f"{path.name} is not in the index"
