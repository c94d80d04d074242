"""Does the doctor find what is wrong, and say what to do?"""

import json
import socket

import pytest


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder without settings, and a port that nobody uses."""
    monkeypatch.chdir(tmp_path)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        monkeypatch.setenv("LIGHTSCHED_HTTP__PORT", str(probe.getsockname()[1]))


def findings(done):
    return {found["what"]: found for found in map(json.loads, done.lines)}


def test_all_is_well(cli):
    done = cli("doctor")
    assert done.code == 0, done.out
    assert [line.split()[:2] for line in done.lines] == [
        ["✓", what] for what in ("settings", "data", "port", "server", "clock")
    ]


def test_nobody_answers(type_in):
    done = type_in("--server", "http://127.0.0.1:9", "doctor", "--json")
    assert done.code == 1
    assert findings(done)["server"]["verdict"] == "bad"
    assert "lightsched dev" in findings(done)["server"]["words"]


def test_a_server_that_is_no_address_is_a_finding(type_in):
    done = type_in("--server", "foo", "doctor", "--json")
    assert done.code == 1
    assert findings(done).keys() == {"settings", "data", "port", "server"}
    assert "'foo' is no address of a server" in findings(done)["server"]["words"]


def test_bad_settings(cli, tmp_path):
    (tmp_path / "lightsched.yml").write_text("colour: red")
    done = cli("doctor", "--json")
    assert done.code == 1
    assert "colour: is not a known setting" in findings(done)["settings"]["words"]


def test_a_port_that_somebody_else_has(cli, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        taken.settimeout(0)
        monkeypatch.setenv("LIGHTSCHED_HTTP__PORT", str(taken.getsockname()[1]))
        monkeypatch.setattr("lightsched.client.rest._TO_CONNECT_S", 0.5)
        monkeypatch.setattr("lightsched.cli.doctor.ANSWERS_WITHIN_S", 0.2)
        found = findings(cli("doctor", "--json"))["port"]
    assert (found["verdict"], "--port" in found["words"]) == ("bad", True)


def test_a_port_that_lightsched_has(cli, server, monkeypatch):
    monkeypatch.setenv("LIGHTSCHED_HTTP__PORT", server.rpartition(":")[2])
    assert "lightsched's own" in findings(cli("doctor", "--json"))["port"]["words"]


def test_data_that_cannot_be_written(cli, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("LIGHTSCHED_DATA", str(tmp_path / "file"))
    found = findings(cli("doctor", "--json"))["data"]
    assert (found["verdict"], "--data" in found["words"]) == ("bad", True)


def test_no_broker(cli, monkeypatch):
    monkeypatch.setenv("LIGHTSCHED_LOG", "kafka")
    monkeypatch.setenv("LIGHTSCHED_KAFKA__BOOTSTRAP", "127.0.0.1:9")
    done = cli("doctor", "--json")
    assert (done.code, findings(done)["broker"]["verdict"]) == (1, "bad")
    assert "127.0.0.1:9" in findings(done)["broker"]["words"]
    assert done.err == "", "the client's own complaint is in the finding"


def test_a_broker_without_topics_and_with_them(type_in, on_kafka, monkeypatch):
    address, place = on_kafka
    monkeypatch.setenv("LIGHTSCHED_LOG", "kafka")
    monkeypatch.setenv("LIGHTSCHED_KAFKA__BOOTSTRAP", place.bootstrap)
    monkeypatch.setenv("LIGHTSCHED_KAFKA__PARTITIONS", "3")
    monkeypatch.setenv("LIGHTSCHED_KAFKA__PREFIX", place.prefix)
    right = findings(type_in("--server", address, "doctor", "--json"))
    assert (right["broker"]["verdict"], right["clock"]["verdict"]) == ("good", "good")
    monkeypatch.setenv("LIGHTSCHED_KAFKA__PARTITIONS", "4")
    wrong = findings(type_in("--server", address, "doctor", "--json"))["broker"]
    assert (wrong["verdict"], "has 3 partitions and must have 4" in wrong["words"]) == ("bad", True)
    monkeypatch.setenv("LIGHTSCHED_KAFKA__PREFIX", "nobody.")
    missing = findings(type_in("--server", address, "doctor", "--json"))["broker"]
    assert (missing["verdict"], "topics create" in missing["words"]) == ("doubtful", True)
