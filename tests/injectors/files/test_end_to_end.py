"""Does a crontab run? Dropped into the inbox of `lightsched dev`, all the way to the program and back."""

import json

from lightsched import SyncClient
from tests.api.conftest import eventually, started
from tests.executors.conftest import OVER

ALLOWED = {"/bin/sh": {"path": "/bin/sh", "env": ["SHELL", "PATH", "GREETING"]}}
NEXT_MINUTE_S = 90


def test_a_crontab_that_is_dropped_runs_at_the_next_minute(tmp_path):
    inbox, said = tmp_path / "inbox", tmp_path / "greeting"
    programs = {"LIGHTSCHED_EXECUTOR_COMMAND_PROGRAMS": json.dumps(ALLOWED)}
    with started(tmp_path, "--inbox", str(inbox), executors=True, **programs) as (_, address):
        (aside := tmp_path / "aside").write_text(
            f"GREETING=hello\n* * * * * echo $GREETING | tee {said}\n@yearly /usr/bin/never\n"
        )
        aside.rename(inbox / "mine.crontab")
        eventually((inbox / "done" / "mine.crontab").exists)
        with SyncClient(address) as client:
            events = {event.cron: event for event in client.list(labels={"source": "mine.crontab"})}
            assert {event.type for event in events.values()} == {"command.run"}
            assert set(events) == {"* * * * *", "@yearly"}
            id_ = events["* * * * *"].id
            run = eventually(lambda: next((run for run in client.runs(id_) if run.status in OVER), None), NEXT_MINUTE_S)
            assert run.status == "SUCCESS", run
            assert run.result["stdout"] == "hello\n"
            assert run.attempts[0].executor
            assert run.due.second == 0
            assert said.read_text() == "hello\n"
            assert list(client.runs(events["@yearly"].id)) == []


def test_a_program_that_is_not_allowed_does_not_run_and_the_run_says_so(tmp_path):
    inbox, said = tmp_path / "inbox", tmp_path / "greeting"
    with started(tmp_path, "--inbox", str(inbox), executors=True) as (_, address), SyncClient(address) as client:
        (inbox / "mine.crontab").write_text(f"@yearly touch {said}\n")
        eventually((inbox / "done" / "mine.crontab").exists)
        (event,) = client.list(labels={"source": "mine.crontab"})
        client.trigger(event.id)
        run = eventually(lambda: next((run for run in client.runs(event.id) if run.status in OVER), None))
        assert run.status == "FATAL_FAILURE"
        assert "/bin/sh" in run.error
        assert not said.exists()
