"""Does every command do what it says, for people and for programs?"""

import json
import re
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import httpx
import msgspec
import pytest

from lightsched import SyncClient
from lightsched.cli import dead_letters
from lightsched.client import DeadLetter
from lightsched.event.record import Record
from lightsched.node.peers import Submitted, encode


def only_json(done):
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.lines]


def test_schedule_look_cancel(cli, name):
    done = cli("schedule", "--id", name, "--in", "5m", "--payload", '{"text": "tea"}', "--label", "team=blue")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{name}: SCHEDULED, fires in 5 min (")
    shown = cli("get", name)
    for words in (f"{name}  NOT_STARTED", "once at", "(in 5 min)", "team=blue", '{"text":"tea"}'):
        assert words in shown.out
    assert cli("cancel", name, "--reason", "coffee").out == f"{name}: CANCELLED\n"
    assert "It was cancelled. coffee" in cli("explain", name).out


def test_what_is_too_old_is_said_to_be_over(cli, name):
    done = cli("schedule", "--id", name, "--at", "2020-01-01T00:00:00Z")
    assert done.out == f"{name}: SCHEDULED, and already EXPIRED: its time is too long past\n"


def test_what_is_late_is_said_to_fire_now(cli, name):
    past = (datetime.now(UTC) - timedelta(days=2)).isoformat()
    done = cli("schedule", "--id", name, "--at", past)
    assert re.fullmatch(rf"{name}: SCHEDULED, was due 2 d ago \(\S+ \S+\), fires now\n", done.out)


def test_every_option_of_schedule_reaches_the_event(cli, name, server):
    options = {
        "--cron": "0 9 * * *",
        "--tz": "Europe/Paris",
        "--starts-at": "2030-01-01T00:00",
        "--max-runs": "3",
        "--ends-at": "2031-01-01T00:00:00Z",
        "--jitter": "1m",
        "--window": '{"from": "08:00", "to": "17:00"}',
        "--key": "k",
        "--type": "mail.send",
        "--topic": name,
        "--header": "h=1",
        "--label": "l=2",
        "--priority": "2",
        "--catch-up": "all",
        "--look-back": "2h",
        "--overlap": "queue",
        "--until": "success",
        "--retry": '{"attempts": 2, "delay": "1s"}',
        "--timeout": "1m",
        "--expires-in": "1h",
        "--on-conflict": "reject",
        "--payload": "just text",
    }
    arguments = [part for option in options.items() for part in option]
    (result,) = only_json(cli("schedule", "--id", name, *arguments, "--track", "--json"))
    assert result["outcome"] == "SCHEDULED"
    (event,) = only_json(cli("get", name, "--json"))
    expected = {
        "cron": "0 9 * * *",
        "timezone": "Europe/Paris",
        "starts_at": "2030-01-01T00:00",
        "max_runs": 3,
        "ends_at": "2031-01-01T00:00:00Z",
        "jitter": "1m",
        "window": {"from": "08:00", "to": "17:00"},
        "key": "k",
        "type": "mail.send",
        "topics": [name],
        "headers": {"h": "1"},
        "labels": {"l": "2"},
        "priority": 2,
        "catch_up": "all",
        "look_back": "2h",
        "overlap": "queue",
        "until": "success",
        "retry": {"attempts": 2, "delay": "1s"},
        "timeout": "1m",
        "expires_in": "1h",
        "payload": "just text",
        "track": True,
        "status": "NOT_STARTED",
        "revision": 1,
    }
    assert {field: event[field] for field in expected} == expected
    assert (event["next_execution"][:16], event["next_execution"][-1]) == ("2030-01-01T08:00", "Z")


def test_a_payload_that_was_meant_as_json_is_not_taken_as_text(cli, name):
    done = cli("schedule", "--id", name, "--in", "1h", "--payload", '{"a": 1')
    assert done.code == 2
    assert "looks like JSON and is none" in done.err


def test_a_payload_from_a_file(cli, name, tmp_path):
    (tmp_path / "p.json").write_text('{"from": "file"}')
    (tmp_path / "p.bin").write_bytes(b"\xff\x00")
    cli("schedule", "--id", name, "--in", "1h", "--payload", f"@{tmp_path / 'p.json'}")
    assert only_json(cli("get", name, "--json"))[0]["payload"] == {"from": "file"}
    cli("schedule", "--id", name, "--in", "1h", "--payload", f"@{tmp_path / 'p.bin'}")
    (shown,) = only_json(cli("get", name, "--json"))
    assert (shown["payload_base64"], "payload" in shown) == ("/wA=", False)
    assert cli("schedule", "--in", "1h", "--payload", "@/nowhere").code == 2


def test_lists(cli, name):
    for n in range(3):
        cli("schedule", "--id", f"{name}{n}", "--in", f"{n + 1}h", "--label", f"t={name}")
    cli("pause", f"{name}1")
    shown = cli("list", "--label", f"t={name}")
    assert shown.lines[0].split() == ["ID", "STATUS", "TYPE", "NEXT", "SCHEDULE"]
    assert [line.split()[:2] for line in shown.lines[1:]] == [
        [f"{name}0", "NOT_STARTED"],
        [f"{name}1", "PAUSED"],
        [f"{name}2", "NOT_STARTED"],
    ]
    assert [event["id"] for event in only_json(cli("list", "--prefix", name, "--status", "paused", "--json"))] == [
        f"{name}1"
    ]
    short = cli("list", "--prefix", name, "--limit", "2")
    assert len(short.lines) == 3
    assert "and more" in short.err
    assert len(only_json(cli("list", "--prefix", name, "--limit", "0", "--json"))) == 3
    assert cli("list", "--prefix", f"{name}x").out == "There are no such events.\n"


def test_pause_trigger_history(cli, name):
    cli("schedule", "--id", name, "--every", "1h", "--payload", "1")
    assert cli("trigger", name).out.startswith(f"{name}: TRIGGERED")
    assert cli("pause", name, "--json").out.startswith('{"id":"')
    assert cli("resume", name).out.startswith(f"{name}: RESUMED, fires in ")
    shown = cli("history", name)
    assert shown.lines[0].split() == ["DUE", "STATUS", "ATTEMPTS", "DELIVERED", "EXECUTOR", "RESULT"]
    assert "SUCCESS" in shown.lines[1]
    (run,) = only_json(cli("history", name, "--json"))
    assert (run["status"], run["attempt"]) == ("SUCCESS", 1)
    (last,) = [run for run in only_json(cli("history", "--limit", "0", "--json")) if run["id"] == name]
    assert last.items() >= run.items()
    assert cli("history").lines[0].split()[:2] == ["ID", "DUE"]
    story = cli("explain", name)
    assert story.lines[0].split() == [name, "NOT_STARTED"]
    assert "It was scheduled: every hour" in story.lines[1]
    assert story.lines[-1].split()[0] == "now"
    assert only_json(cli("explain", name, "--json"))[0]["reasons"]


def test_previews_and_forecasts(cli):
    shown = cli("preview", "30 9 * * mon-fri", "--tz", "Europe/Paris", "--n", "2", "--from", "2026-10-23T00:00:00Z")
    assert shown.lines[0] == "at 09:30 on weekdays, Europe/Paris"
    assert "Fri 2026-10-23 09:30:00 +0200  07:30:00Z" in shown.lines[2]
    assert "Mon 2026-10-26 09:30:00 +0100  08:30:00Z" in shown.lines[3]
    (found,) = only_json(cli("preview", "--every", "1h", "-n", "1", "--json"))
    assert found["times"][0].keys() == {"utc", "local", "note"}
    assert len(only_json(cli("forecast", "--minutes", "3", "--json"))) == 3
    assert cli("preview").code == 2


def test_forecast_has_what_is_due_in_the_last_seconds_of_its_span(cli, name):
    """The present minute has begun, so they lie in the one after the last."""
    cli("schedule", "--id", name, "--in", "59s")
    assert "█" in cli("forecast", "--minutes", "1").out
    cli("cancel", name)


def test_forecast_draws_what_is_due(cli, name):
    cli("schedule", "--id", name, "--in", "30s")
    assert "█" in cli("forecast", "--minutes", "2").out


def test_watching(cli, name):
    for n in range(2):
        cli("schedule", "--id", f"{name}{n}", "--in", "1ms", "--topic", name, "--payload", f'{{"n": {n}}}')
    seen = cli("watch", name, "--group", "g", "--count", "2")
    assert [line.split()[2][:-1] for line in seen.lines] == [name, name]
    assert '{"n":' in seen.out
    assert cli("watch", name, "--group", "g", "--idle", "1ms").out == ""
    live = cli("watch", name, "--idle", "1ms")
    assert (live.out, "leave with Ctrl-C" in live.err) == ("", True)


def test_reporting(cli, name):
    cli("schedule", "--id", name, "--in", "1ms", "--topic", name, "--track")
    (seen,) = only_json(cli("watch", name, "--group", "g", "--count", "1", "--json"))
    done = cli("report", seen["delivery"], "success", "--token", seen["token"], "--result", '{"sent": 1}')
    assert done.out == f"{seen['delivery']}: reported SUCCESS\n"
    assert only_json(cli("history", name, "--json"))[0]["result"] == {"sent": 1}
    assert cli("report", seen["delivery"], "SUCCESS", "--token", seen["token"]).code == 1
    assert cli("report", seen["delivery"], "DONE", "--token", "x").code == 2


def test_nodes(cli):
    shown = cli("nodes")
    assert shown.lines[1].split()[:2] == ["node-1", "0-2"]
    assert all(len(line.rstrip()) <= 80 for line in shown.lines[:2])
    assert re.fullmatch(r"node-1  \S+ on embedded, started .*: scheduler, api, injector", shown.lines[2])
    assert shown.lines[0].split("PARTITIONS")[1].split()[:5] == ["PENDING", "LAG", "IN", "FLIGHT", "FIRED/S"]
    assert only_json(cli("nodes", "--json"))[0]["partitions"] == [0, 1, 2]


def test_a_tenant_and_a_key_can_be_named(cli, name):
    cli("schedule", "--id", name, "--key", "k1", "--in", "1h", "--tenant", "acme")
    cli("schedule", "--id", name, "--key", "k2", "--in", "1h", "--tenant", "acme")
    several = cli("get", name, "--tenant", "acme")
    assert (several.code, "`k1`, `k2`" in several.err) == (1, True)
    assert cli("cancel", name, "--tenant", "acme", "--key", "k1").code == 0


def test_names_cannot_paint_the_terminal(cli, name, server):
    with SyncClient(server) as client:
        client.schedule(id=f"{name}[red]", in_="1h", payload="\x1b[31m[bold]")
    shown = cli("list", "--prefix", name).out + cli("get", f"{name}[red]").out
    assert f"{name}[red]" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["get", "nobody"], 1, "lightsched: The tenant `default` has no event 'nobody'"),
        (["schedule", "--in", "soon"], 2, "lightsched: in: 'soon' is not a duration: write for example"),
        (["schedule"], 2, "exactly one of --at, --in, --cron, --every"),
        (["schedule", "--in", "1s", "--at", "x"], 2, "exactly one of"),
        (["schedule", "--in", "1s", "--label", "x"], 2, "name=value"),
        (["schedule", "--in", "1s", "--retry", "5"], 2, "JSON object"),
        (["schedule", "--in", "1s", "--id", ""], 2, "lightsched: id: is empty"),
        (["get", ""], 2, "lightsched: id: is empty"),
        (["cancel", ""], 2, "lightsched: id: is empty"),
        (["history", ""], 2, "lightsched: id: is empty"),
        (["update", "", "--priority", "1"], 2, "lightsched: id: is empty"),
        (["list", "--status", "done"], 2, "lightsched: status"),
        (["schedule", "--in", "1s", "--payload", "@"], 2, "write the name of a file after the @"),
        (["schedule", "--in", "1s", "--payload", f'"{"x" * 300_000}"'], 2, "lightsched: payload"),
        (["watch", "--idle", "foo"], 2, "'foo' is not a duration"),
        (["list", "--server", "x"], 2, "option: --server. It goes before the command: lightsched --server"),
        (["tenants", "list", "--token", "x"], 2, "It goes before the command: lightsched --token … tenants"),
        (["list", "--sever", "x"], 2, "No such option: --sever"),
        (["frobnicate"], 2, "No such command"),
        (["inject", "/nowhere.json"], 2, "cannot read /nowhere.json"),
        (["inject", __file__], 2, "--format"),
    ],
)
def test_what_goes_wrong_is_said_with_what_to_do(cli, arguments, code, complaint):
    done = cli(*arguments)
    assert done.code == code
    assert complaint in " ".join(done.err.replace("│", " ").split())
    assert (done.out, "Watching" in done.err) == ("", False)


def test_a_server_that_is_not_there(type_in):
    done = type_in("--server", "http://127.0.0.1:9", "get", "x")
    assert done.code == 1
    assert "`lightsched dev` starts one" in done.err
    assert type_in("--server", "here", "get", "x").code == 2


@pytest.mark.parametrize("more", ["/", "/api/v1", "/api/v1/"])
def test_an_address_may_be_that_of_the_api(type_in, server, more):
    assert type_in("--server", server + more, "nodes").code == 0


def test_on_kafka(type_in, on_kafka, name):
    address, place = on_kafka
    topics = f"kafka://{place.bootstrap}?prefix={place.prefix}"
    assert type_in("--server", topics, "schedule", "--id", name, "--every", "1h").out == f"{name}: sent\n"
    assert type_in("--server", address, "schedule", "--id", f"{name}2", "--in", "1ms", "--payload", "1").code == 0
    seen = type_in("--server", address, "watch", "--group", name, "--count", "1", "--json")
    assert json.loads(seen.out)["id"] == f"{name}2"
    for command in (["get", f"{name}2"], ["list"], ["history", f"{name}2"], ["explain", f"{name}2"], ["nodes"]):
        assert type_in("--server", address, *command).code == 0
    assert type_in("--server", address, "cancel", name).code == 0
    refused = type_in("--server", topics, "list")
    assert (refused.code, "ask a server" in refused.err) == (1, True)


def test_an_event_is_changed_in_part(cli, name, tmp_path):
    cli("schedule", "--id", name, "--cron", "0 9 * * *", "--jitter", "1m", "--payload", '{"a": 1}', "--label", "x=1")
    changed = cli("update", name, "--every", "1h", "--label", "y=2", "--remove", "jitter", "--reason", "sooner")
    assert (changed.code, changed.err) == (0, "")
    assert changed.out.startswith(f"{name}: REPLACED, fires in 1 h ")
    (shown,) = only_json(cli("get", name, "--json"))
    assert (shown["every"], shown["labels"], shown["payload"]) == ("1h", {"x": "1", "y": "2"}, {"a": 1})
    assert not shown.get("cron")
    assert not shown.get("jitter")
    (result,) = only_json(cli("update", name, "--priority", "1", "--revision", "2", "--json"))
    assert result["outcome"] == "REPLACED"
    (tmp_path / "p.bin").write_bytes(b"\xff\x00")
    assert cli("update", name, "--payload", f"@{tmp_path / 'p.bin'}").code == 0
    assert only_json(cli("get", name, "--json"))[0]["payload_base64"] == "/wA="
    assert cli("update", name, "--payload", "text").code == 0
    assert only_json(cli("get", name, "--json"))[0]["payload"] == "text"


def test_a_field_is_removed_by_its_name_or_that_of_its_option(cli, name):
    given = ("--tz", "Europe/Paris", "--label", "x=1", "--header", "y=2", "--max-runs", "3", "--catch-up", "all")
    cli("schedule", "--id", name, "--cron", "0 9 * * *", *given)
    for field in ("in", "topic", "topics", "header", "labels", "tz", "max-runs", "catch_up"):
        assert cli("update", name, "--remove", field).code == 0, field
    (shown,) = only_json(cli("get", name, "--json"))
    assert not shown.keys() & {"labels", "headers", "max_runs", "topics", "timezone", "catch_up"}


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ([], 2, "say what to change"),
        (["--at", "2030-01-01T00:00:00Z", "--in", "1h"], 2, "at most one of"),
        (["--window", "7"], 2, "must be a JSON object"),
        (["--priority", "1", "--remove", "priority"], 2, "priority is both given and removed"),
        (["--remove", "nothing"], 2, "'nothing' is no field"),
        (["--remove", "in_"], 2, "'in_' is no field"),
        (["--topic", "t", "--remove", "topics"], 2, "topics is both given and removed"),
        (["--every", "soon"], 2, "every"),
        (["--priority", "1", "--revision", "7"], 1, "Its revision is 1, not 7"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(cli, name, options, code, words):
    cli("schedule", "--id", name, "--in", "1h")
    refused = cli("update", name, *options)
    assert (refused.code, words in " ".join(refused.err.split())) == (code, True), refused.err
    assert cli("update", f"{name}-not-there", "--priority", "1").code == 1


def test_many_events_are_asked_at_once(cli, name):
    for n in range(3):
        cli("schedule", "--id", f"{name}{n}", "--in", "1h", "--label", f"t={name}")
    assert cli("bulk", "pause", "--label", f"t={name}", "--dry-run").out == "3 events match, nothing was done\n"
    assert cli("bulk", "pause", "--label", f"t={name}", "--reason", "holidays").out == "3 events: 3 PAUSED\n"
    (counts,) = only_json(cli("bulk", "cancel", "--prefix", f"{name}1", "--json"))
    assert (counts["matched"], counts["outcomes"]) == (1, {"CANCELLED": 1})
    assert cli("schedule", "--id", name, "--in", "1h", "--tenant", name).code == 0
    assert cli("bulk", "cancel", "--all", "--tenant", name).out == "1 event: 1 CANCELLED\n"
    for options, words in ((["pause"], "say which"), (["stop", "--all"], "'stop' is none of cancel, pause")):
        refused = cli("bulk", *options)
        assert (refused.code, words in " ".join(refused.err.split())) == (2, True)


def test_a_reason_is_shown_as_it_is(type_in, monkeypatch):
    texts = dict.fromkeys(("detail", "topic", "key"), "[/]")
    letter = DeadLetter(id="0-0", reason="[/red] [b]", at=datetime.now(UTC), partition=0, offset=0, headers={}, **texts)
    client = SimpleNamespace(dead_letters=lambda **_: [letter], dead_letter=lambda _: letter)
    monkeypatch.setattr(dead_letters, "connected", lambda _, **_how: nullcontext(client))
    for arguments in (["list"], ["show", "0-0"]):
        done = type_in("dead-letters", *arguments)
        assert (done.code, "[/red] [b]" in done.out) == (0, True), done.err


def test_dead_letters_are_listed_shown_and_sent_again(cli, name, server):
    with SyncClient(server) as client:
        client.schedule(id=name, in_="1ms", timeout="1h", topics=[name])
        (delivery,) = client.deliveries(name, group=name, limit=1)
    body = {"delivery": delivery.delivery, "token": delivery.token, "status": "SUCCESS", "then": [{"in": "soon"}] * 2}
    assert httpx.post(f"{server}/api/v1/reports", json=body).status_code == 204
    letters = only_json(cli("dead-letters", "list", "--reason", "invalid_then", "--json"))
    ids = [letter["id"] for letter in letters if name in letter["detail"]]
    assert len(ids) == 2
    assert ids[0] in cli("dead-letters", "list").out
    assert '{"in":"soon"}' in cli("dead-letters", "show", ids[0]).out
    assert only_json(cli("dead-letters", "show", ids[0], "--json"))[0]["value"] == {"in": "soon"}
    for some in (ids[:1], ids):
        refused = cli("dead-letters", "redrive", *some)
        assert (refused.code, refused.err.count("makes no sense this time either")) == (1, len(some))
    assert cli("dead-letters", "show", "0-999999").code == 1
    assert cli("dead-letters", "list", "--reason", "nothing").out == "There are no such dead letters.\n"


def test_a_dead_letter_that_is_sent_again_says_what_came_of_it(cli, name, server):
    event = msgspec.json.encode({"in": "1h", "tenant": name, "key": name})
    for partition in range(3):
        lost = encode(Submitted("lightsched.events", [(partition, Record(None, event, (("ls_hops", b"9"),)))]))
        httpx.post(f"{server}/api/v1/internal/submit", content=lost, headers={"x-lightsched-hop": "1"})
    letters = only_json(cli("dead-letters", "list", "--json"))
    id_ = next(letter["id"] for letter in letters if (letter.get("value") or {}).get("key") == name)
    assert cli("dead-letters", "redrive", id_).out == f"{id_}: FORWARDED\n"
    assert only_json(cli("dead-letters", "redrive", id_, "--json"))[0]["outcome"] == "FORWARDED"


def test_tenants_have_rules(cli, name, tmp_path):
    put = cli("tenants", "put", name, f'{{"topics": ["{name}.jobs"], "limits": {{"in_flight": 10}}}}')
    assert (put.code, "in_flight 10" in put.out) == (0, True)
    assert f"{name}.jobs" in cli("tenants", "list").out
    assert name in [tenant["name"] for tenant in only_json(cli("tenants", "list", "--json"))]
    (tmp_path / "rules.json").write_text('{"weight": 3}')
    assert only_json(cli("tenants", "put", name, f"@{tmp_path / 'rules.json'}", "--json"))[0]["weight"] == 3
    assert "in_flight" not in cli("tenants", "show", name).out
    assert cli("tenants", "put", name, "[]").code == 2
    wrong = cli("tenants", "put", name, '{"weigth": 3}')
    assert (wrong.code, "weigth" in wrong.err) == (2, True)


def test_huge_numbers_are_shown_as_they_are(cli, name, server):
    sent = f'{{"id":"{name}","in":"1h","payload":[1E400,{"7" * 5000}]}}'
    assert httpx.post(f"{server}/api/v1/events", content=sent).status_code == 201
    assert "1E+400,777" in cli("get", name).out
    assert name in cli("list", "--prefix", name).out


def test_json_is_shown_as_it_was_sent(cli, name, server):
    payload = '{"a": 1.10,  "b":1e2,\n "c":1E400}'
    sent = f'{{"id":"{name}","in":"1ms","track":true,"topics":["{name}"],"payload":{payload}}}'
    assert httpx.post(f"{server}/api/v1/events", content=sent).status_code == 201
    shown = '"payload":{"a": 1.10,  "b":1e2,  "c":1E400}'
    seen = cli("watch", name, "--group", "g", "--count", "1", "--json")
    got, listed = cli("get", name, "--json"), cli("list", "--prefix", name, "--json")
    for done in (seen, got, listed):
        assert (done.code, len(done.lines)) == (0, 1), done
        assert shown in done.out
    (delivery,) = only_json(seen)
    cli("report", delivery["delivery"], "success", "--token", delivery["token"], "--result", "[1.10]")
    assert '"result":[1.10]' in cli("history", name, "--json").out
    assert '"result":[1.10]' in cli("history", "--json").out


def test_json_is_sent_as_it_was_typed(cli, name, server, tmp_path):
    def stored():
        return httpx.get(f"{server}/api/v1/events/{name}").text

    typed = '{"a": 1.10,  "b":1e2, "c": 1E400}'
    assert cli("schedule", "--id", name, "--in", "1h", "--payload", typed).code == 0
    assert f'"payload":{typed}' in stored()
    assert cli("update", name, "--payload", "[1.10,  2]").code == 0
    assert '"payload":[1.10,  2]' in stored()
    (tmp_path / "p.json").write_text("[\n  1.0\n]\n")
    assert cli("schedule", "--id", name, "--in", "1h", "--payload", f"@{tmp_path / 'p.json'}").code == 0
    assert '"payload":[\n  1.0\n]' in stored()
    assert cli("schedule", "--id", name, "--in", "1h", "--payload", "NaN").code == 0
    assert '"payload":"NaN"' in stored()


def test_a_result_is_reported_as_it_was_typed(cli, name, server):
    cli("schedule", "--id", name, "--in", "1ms", "--topic", name, "--track")
    (seen,) = only_json(cli("watch", name, "--group", "g", "--count", "1", "--json"))
    assert cli("report", seen["delivery"], "success", "--token", seen["token"], "--result", "[1.10,  2]").code == 0
    assert '"result":[1.10,  2]' in httpx.get(f"{server}/api/v1/events/{name}/runs").text
