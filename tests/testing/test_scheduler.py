"""Is it the real scheduler, in the test's hands?"""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempdir

import pytest
from msgspec import structs

from lightsched.event.model import Event
from lightsched.event.report import Report as SentReport
from lightsched.event.tenant import Tenant, TenantLimits
from lightsched.testing import CommandRefused, Report, Scheduler
from lightsched.testing.asking import EventFields, ReportFields
from lightsched.testing.scheduler import LoopIsRunning
from lightsched.testing.seen import SeveralEvents


def test_an_event_is_shown_as_it_is(scheduler):
    done = scheduler.schedule(id="daily", type="report", cron="0 9 * * *", key="ada")
    assert (done.outcome, done.key, done.next_execution) == ("SCHEDULED", "ada", datetime(2026, 1, 5, 9, tzinfo=UTC))
    scheduler.advance("1d")
    event = scheduler.get("daily")
    assert (event.type, event.key, event.status, event.runs) == ("report", "ada", "NOT_STARTED", 1)
    assert (event.last_executed, event.next_execution) == (
        datetime(2026, 1, 5, 9, tzinfo=UTC),
        datetime(2026, 1, 6, 9, tzinfo=UTC),
    )
    assert "09:00" in event.schedule_text
    assert scheduler.events() == [event]


def test_runs_come_in_the_order_of_their_dues(scheduler):
    scheduler.schedule(id="tick", every="1m", track=True)
    scheduler.advance("3m")
    scheduler.report(scheduler.deliveries()[1], "SUCCESS", result="second")
    runs = scheduler.runs("tick")
    assert [run.due.minute for run in runs] == [1, 2, 3]
    assert [run.result for run in runs] == [None, "second", None]
    assert [run.finished_at is None for run in runs] == [True, False, True]


def test_a_payload_arrives_as_it_was_sent(scheduler):
    scheduler.schedule(id="json", in_="1m", payload={"ö": [1, None]}, headers={"trace": "x"})
    scheduler.schedule(id="bytes", in_="1m", payload_base64="AAH/")
    scheduler.schedule(id="none", in_="1m")
    scheduler.advance("1m")
    payloads = {delivery.id: delivery.payload for delivery in scheduler.deliveries()}
    assert payloads == {"json": {"ö": [1, None]}, "bytes": b"\0\1\xff", "none": b""}
    assert scheduler.deliveries(id="json")[0].headers["trace"] == "x"


def test_an_event_that_makes_no_sense_is_refused(scheduler):
    with pytest.raises(CommandRefused, match=r"INVALID: .*cron"):
        scheduler.schedule(id="bad", cron="61 * * * *")
    with pytest.raises(CommandRefused, match="colour"):
        scheduler.schedule({"colour": "red"}, in_="1m")
    assert [letter.reason for letter in scheduler.dead_letters()] == ["INVALID", "INVALID"]
    scheduler.schedule(id="once", in_="1m")
    with pytest.raises(CommandRefused, match="REJECTED 'once'"):
        scheduler.schedule(id="once", in_="2m", on_conflict="reject")


def test_a_bad_follow_up_is_a_dead_letter(scheduler):
    scheduler.on("event")(lambda _: Report(then=[{"id": "x"}]))
    scheduler.schedule(in_="1m", track=True)
    scheduler.advance("1m")
    (letter,) = scheduler.dead_letters()
    assert "at" in letter.detail


def test_where_an_id_has_several_keys_the_key_is_asked_for(scheduler):
    scheduler.schedule(id="same", key="a", in_="1m")
    scheduler.schedule(id="same", key="b", in_="1m")
    with pytest.raises(SeveralEvents, match="'a', 'b'"):
        scheduler.cancel("same")
    scheduler.cancel("same", key="a")
    assert (scheduler.get("same", key="a").status, scheduler.get("same", key="b").status) == (
        "CANCELLED",
        "NOT_STARTED",
    )


def test_tenants_have_their_rules():
    with Scheduler(
        "2026-06-01T12:00:00Z", tenants={"acme": Tenant(limits=TenantLimits(in_flight=1), topics=("acme",))}
    ) as scheduler:
        for id_ in "ab":
            scheduler.schedule(id=id_, tenant="acme", in_="1m", track=True)
        scheduler.advance("2m")
        (first,) = scheduler.assert_delivered(topic="acme", times=1)
        scheduler.report(first, "SUCCESS")
        scheduler.assert_delivered(topic="acme", id="b", at="2026-06-01T12:02:00Z")


def test_nothing_is_left_behind():
    def folders():
        return set(Path(gettempdir()).glob("lightsched-testing-*"))

    before = folders()
    with Scheduler() as scheduler:
        (ours,) = folders() - before
        assert list(ours.iterdir())
        scheduler.schedule(in_="1m")
    assert not ours.exists()


async def test_a_loop_that_is_running_is_noticed(scheduler):
    with pytest.raises(LoopIsRunning, match="async_scheduler"):
        scheduler.schedule(in_="1m")


def test_the_keywords_are_the_fields_of_the_model():
    fields = {field.name for field in structs.fields(Event)} - {"op"}
    assert EventFields.__annotations__.keys() == fields
    said = {field.name for field in structs.fields(SentReport)} - {"delivery", "token", "status"}
    assert ReportFields.__annotations__.keys() == said
    assert Report.__dataclass_fields__.keys() == said | {"status"}


@pytest.mark.parametrize("module", ["lightsched", "lightsched.pytest_plugin", "lightsched.testing"])
def test_nobody_pays_for_what_was_not_asked_for(module):
    """lightsched does without its test kit, pytest's start without the scheduler, and the test kit without pytest."""
    heavy = {"lightsched": ["lightsched.testing", "pytest"], "lightsched.pytest_plugin": ["lightsched.testing"]}
    absent = heavy.get(module, ["pytest", "fastapi", "aiokafka"])
    code = f"import sys, {module}; print([name for name in {absent} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
