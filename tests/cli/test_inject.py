"""How does a file get in? Once, and every bad line is named."""

import io
import json

import pytest

from lightsched.client.converting import EventLine, Problem

EVENTS = '{"id": "%(name)s1", "in": "1h"}\n{"id": "%(name)s2", "in": "soon", "priority": 11}\nnot json\n'


def test_a_file_is_injected_and_bad_lines_are_named(cli, name, tmp_path):
    file = tmp_path / "events.ndjson"
    file.write_text(EVENTS % {"name": name})
    done = cli("inject", file)
    assert done.code == 1
    assert f"{file}:2: in: 'soon' is not a duration" in done.err
    assert f"{file}:3: is not valid JSON" in done.err
    assert done.out == f"{file}: 1 of 3 events injected: 2 INVALID, 1 SCHEDULED\n"
    assert cli("get", f"{name}1").code == 0


def test_checking_injects_nothing_and_finds_everything(type_in, name, tmp_path):
    file = tmp_path / "events.ndjson"
    file.write_text(EVENTS % {"name": name})
    done = type_in("--server", "http://127.0.0.1:9", "inject", "--check", file)
    assert done.code == 1
    assert [line.partition(": ")[0] for line in done.err.splitlines()] == [f"{file}:2", f"{file}:2", f"{file}:3"]
    assert done.out == f"{file}: 3 events checked: 2 INVALID, 1 good\n"


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("yml", "- in: 1h\n  labels: {t: NAME}\n- at: 2030-01-01T00:00:00Z\n  labels: {t: NAME}\n"),
        ("json", '[{"in": "1h", "labels": {"t": "NAME"}}, {"cron": "@daily", "labels": {"t": "NAME"}}]'),
        ("csv", "in,labels.t\n1h,NAME\n2h,NAME\n"),
    ],
)
def test_a_file_that_is_injected_twice_schedules_once(cli, name, tmp_path, suffix, text):
    file = tmp_path / f"events.{suffix}"
    file.write_text(text.replace("NAME", name))
    assert cli("inject", file).out == f"{file}: 2 events injected: 2 SCHEDULED\n"
    assert cli("inject", file).out == f"{file}: 2 events injected: 2 UNCHANGED\n"
    assert len(cli("list", "--label", f"t={name}", "--json").lines) == 2


def test_many_from_standard_input(cli, name, monkeypatch):
    lines = "\n".join(json.dumps({"id": f"{name}-{n}", "in": "1h"}) for n in range(1_500))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    done = cli("inject", "-", "--json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["counts"] == {"SCHEDULED": 1_500}


def test_a_file_that_cannot_be_read_injects_nothing(cli, tmp_path):
    file = tmp_path / "events.json"
    file.write_text('[{"in": "1h"}\n{"in": "2h"}]')
    done = cli("inject", file)
    assert (done.code, done.out) == (2, "")
    assert f"{file}, line 2: is not JSON: a comma is missing" in done.err
    assert done.err.endswith(". Nothing was injected.\n")


def words(lines, source):
    for number, line in enumerate(lines, start=1):
        good = EventLine(number, {"in": line, "labels": {"t": source.name}})
        yield good if line else Problem(number, "is empty: write a duration")


def test_a_converter_turns_other_formats_into_events(cli, type_in, tmp_path):
    file = tmp_path / "times.txt"
    file.write_text("1h\n\nsoon\n")
    done = type_in("--server", "http://127.0.0.1:9", "inject", "--check", "--converter", f"{__name__}:words", file)
    assert done.code == 1
    assert [line.split(": ")[0] for line in done.err.splitlines()] == [f"{file}:2", f"{file}:3"]
    assert done.out == f"{file}: 3 events checked: 2 INVALID, 1 good\n"
    done = cli("inject", "--converter", f"{__name__}:words", file)
    assert done.out == f"{file}: 1 of 3 events injected: 2 INVALID, 1 SCHEDULED\n"
    done = type_in("inject", "--check", "--converter", "nobody", file)
    assert (done.code, done.out) == (2, "")
    assert "There is no converter 'nobody'" in done.err


def labelled(lines, source):
    for number, line in enumerate(lines, start=1):
        yield EventLine(number, {"in": line, "labels": source.options["labels"]})


def test_a_converter_is_given_options(cli, type_in, tmp_path, name):
    file = tmp_path / "times.txt"
    file.write_text("1h\n")
    converter = ("--converter", f"{__name__}:labelled")
    done = cli("inject", *converter, "--option", f"labels={{of: {name}}}", file)
    assert done.out == f"{file}: 1 event injected: 1 SCHEDULED\n"
    assert name in cli("list", "--label", f"of={name}", "--json").out
    for wrong in ("labels", "=1", "labels={"):
        done = type_in("inject", "--check", *converter, "--option", wrong, file)
        assert (done.code, "is not NAME=VALUE" in done.err) == (2, True)
    done = type_in("inject", "--check", "--option", "labels=1", "--format", "ndjson", file)
    assert (done.code, "name one with --converter" in done.err) == (2, True)
