"""Where do settings come from, and what is wrong with them?"""

import os
from pathlib import Path

import pytest

from lightsched.node.settings import BadSettings, Settings


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Only what a test says is in the environment."""
    for name in [name for name in os.environ if name.startswith("LIGHTSCHED_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "lightsched.yml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_defaults_are_those_of_the_contract():
    settings = Settings.load()
    assert (settings.http.host, settings.http.port) == ("127.0.0.1", 8080)
    assert (settings.limits.payload, settings.limits.batch) == (262_144, 10_000)
    assert settings.limits.horizon == 3653 * 86_400_000
    assert settings.history.keep == 7 * 86_400_000
    assert settings.embedded.prefix == "lightsched."
    assert (settings.kafka.prefix, settings.kafka.partitions) == ("lightsched.", 12)
    assert settings.kafka.membership().name == "lightsched"


@pytest.mark.parametrize(
    ("kafka", "group"),
    [
        ({"prefix": "prod."}, "prod"),
        ({"prefix": "a-b-"}, "a-b"),
        ({"prefix": "."}, "lightsched"),
        ({"group": "g"}, "g"),
    ],
)
def test_clusters_with_different_prefixes_are_different_groups(kafka, group):
    assert Settings.load(kafka=kafka).kafka.membership().name == group


def test_a_file_is_overridden_by_variables_and_those_by_flags(file, monkeypatch):
    path = file("http: {host: 0.0.0.0, port: 1}\nnode: {id: from-file}\nhistory: {keep: 1d}\n")
    monkeypatch.setenv("LIGHTSCHED_HTTP__PORT", "2")
    monkeypatch.setenv("LIGHTSCHED_NODE__ID", "from-variable")
    settings = Settings.load(path, http={"port": 3})
    assert (settings.http.host, settings.http.port) == ("0.0.0.0", 3)
    assert settings.node.id == "from-variable"
    assert settings.history.keep == 86_400_000


@pytest.mark.parametrize(
    ("text", "payload"),
    [("1000", 1000), ("256KiB", 262_144), ("1 MiB", 1_048_576), ("2MB", 2_000_000), ("1GiB", 2**30), ("7B", 7)],
)
def test_sizes_are_written_as_people_write_them(text, payload):
    assert Settings.load(limits={"payload": text}).limits.payload == payload


@pytest.mark.parametrize(
    ("flags", "where", "why"),
    [
        ({"http": {"prot": 1}}, "http.prot", "not a known setting"),
        ({"bogus": 1}, "bogus", "not a known setting"),
        ({"http": {"port": 70_000}}, "http.port", "65535"),
        ({"http": {"port": "web"}}, "http.port", "integer"),
        ({"history": {"keep": "a while"}}, "history.keep", "is not a duration"),
        ({"history": {"keep": "0s"}}, "history.keep", "is zero"),
        ({"history": {"keep": -1}}, "history.keep", "greater than 0"),
        ({"limits": {"payload": "big"}}, "limits.payload", "write `256KiB`"),
        ({"limits": {"payload": "0"}}, "limits.payload", "greater than 0"),
        ({"embedded": {"partitions": 0}}, "embedded.partitions", "greater than or equal to 1"),
        ({"log": "carrier pigeons"}, "log", "embedded"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named(flags, where, why):
    with pytest.raises(BadSettings) as caught:
        Settings.load(**flags)
    assert f"{where}: " in str(caught.value)
    assert why in str(caught.value)


def test_an_unknown_variable_of_a_section_is_an_error(monkeypatch):
    monkeypatch.setenv("LIGHTSCHED_HTTP__PROT", "1")
    with pytest.raises(BadSettings, match=r"http\.prot"):
        Settings.load()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("http: {prot: 1}", "http.prot"),
        ("http: [", "is not YAML"),
        ("- a\n- b", "by name"),
        ("1: 2", "by name"),
        ("http: {1: 2}", "http.1"),
    ],
)
def test_a_file_that_makes_no_sense_is_an_error(file, text, why):
    with pytest.raises(BadSettings, match=why):
        Settings.load(file(text))


@pytest.mark.parametrize(
    "text",
    ["@s3cret", "'s3cret' s3cret", "*s3cret", "!s3cret", "!s3cret!x 1", '"s3cret', "[s3cret", "{s3cret: '", "%s3cret"],
)
def test_what_stands_in_a_file_is_not_said_because_it_may_be_a_password(file, text):
    with pytest.raises(BadSettings, match=r"is not YAML: .*\(line [1-4], column \d+\)") as refused:
        Settings.load(file(f"kafka:\n  security:\n    password: {text}\n"))
    assert "s3cret" not in str(refused.value)


def test_an_empty_file_changes_nothing(file):
    assert Settings.load(file("")).model_dump() == Settings.load().model_dump()


def test_a_file_that_is_not_there_is_an_error():
    with pytest.raises(BadSettings, match="there is no file"):
        Settings.load(Path("/nowhere/lightsched.yml"))


def test_settings_become_rules_of_the_engine():
    settings = Settings.load(
        limits={"payload": 1000, "horizon": "1d", "in_flight": 3}, history={"keep": "1h"}, embedded={"prefix": "x."}
    )
    rules = settings.rules(2, 5)
    assert (rules.partition, rules.partitions, rules.in_flight) == (2, 5, 3)
    assert (rules.limits.payload, rules.limits.horizon_ms, rules.limits.keep_ms) == (1000, 86_400_000, 3_600_000)
    assert rules.limits.names.deliveries == "x.deliveries"
    assert rules.limits.record >= 1024 * 1024


def test_a_large_payload_fits_into_a_record_in_base64():
    limits = Settings.load(limits={"payload": "10MiB"}).event_limits()
    assert limits.record > limits.payload * 4 // 3


def test_a_variable_that_means_nothing_is_an_error(monkeypatch):
    monkeypatch.setenv("LIGHTSCHED_HTPP__PORT", "2")
    with pytest.raises(BadSettings, match="LIGHTSCHED_HTPP__PORT"):
        Settings.load()


def test_variables_of_the_client_and_of_the_tests_are_not_settings(monkeypatch):
    for name in ("LIGHTSCHED_SERVER", "LIGHTSCHED_TOKEN", "LIGHTSCHED_TEST_KAFKA"):
        monkeypatch.setenv(name, "x")
    assert Settings.load().http.port == 8080
