"""Which events does a file hold, and where does each stand?"""

import io
import json

import pytest

from lightsched.client import Invalid
from lightsched.client.converting import EventLine, Problem, Source
from lightsched.client.files import converting, reading
from lightsched.client.stamping import Stamp, mark_of
from lightsched.event.errors import InvalidEvent


def lines_of(text, form, **more):
    return list(reading(form, **more)(io.BytesIO(text.encode() if isinstance(text, str) else text)))


def read(text, form):
    return [(line.number, json.loads(line.body or "{}"), line.problem) for line in lines_of(text, form)]


def stamped(text, form, now_ms=1_000_000, **more):
    content = text.encode()
    stamp = Stamp(mark_of(io.BytesIO(content)), now_ms, **more)
    return [stamp.prepare(line.body, place) for place, line in enumerate(lines_of(text, form), start=1)]


def problems_of(line):
    if line.problem:
        return [line.problem]
    try:
        Stamp("mark", 0).check(line.body)
    except InvalidEvent as error:
        return error.problems
    return []


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("ndjson", '\n{"id": "a", "in": "1m"}\n\n{"id": "b", "at": 5, "labels": {"x": "1"}}\n'),
        ("json", '[\n {"id": "a",\n\n "in": "1m"} ,{"id": "b", "at": 5, "labels": {"x": "1"}}]\n'),
        ("json", '{"id": "a", "in": "1m"}\n{"id": "b", "at": 5, "labels": {"x": "1"}}'),
        ("yaml", "# events\n- id: a\n  in: 1m\n- {id: b, at: 5, labels: {x: '1'}}\n"),
        ("csv", '\ufeffid,in,at,labels.x\na,1m,,\n\nb,,"5",1\n'),
    ],
)
def test_every_form_says_the_same(form, text):
    a, b = read(text, form)
    assert a[1] == {"id": "a", "in": "1m"}
    assert {**b[1], "at": int(b[1]["at"])} == {"id": "b", "at": 5, "labels": {"x": "1"}}


@pytest.mark.parametrize(
    ("form", "text", "numbers"),
    [
        ("ndjson", '\n{"id": "a"}\n\n{"id": "b"}', [2, 4]),
        ("json", '\n[\n {"id":\n"a"},\n\n {"id": "b"}]', [3, 6]),
        ("yaml", "# x\n- id: a\n  in: 1m\n\n- id: b\n", [2, 5]),
        ("csv", 'id,payload\na,"two\nlines"\nb,x\n', [2, 4]),
        ("csv", '\n\nid,payload\n\na,"two\n\nlines"\n\nb,x\n', [5, 9]),
    ],
)
def test_every_event_knows_its_line(form, text, numbers):
    assert [number for number, _, _ in read(text, form)] == numbers


def test_one_object_alone_is_one_event():
    assert read('{\n "id": "a"\n}', "json") == [(1, {"id": "a"}, "")]
    assert read("[]", "json") == read("", "json") == read("", "yaml") == read("", "csv") == []


def test_an_id_comes_from_the_content_and_the_line():
    text = '{"in": "1m"}\n{"at": 5}\n'
    first, second = stamped(text, "ndjson")
    assert first.id.endswith("-1")
    assert second.id.endswith("-2")
    assert json.loads(second.body) == {"id": second.id, "at": 5}
    assert stamped(text, "ndjson") == [first, second]
    assert stamped(text + " ", "ndjson")[0].id != first.id


def test_in_counts_from_one_instant_for_the_whole_file():
    text = '{"in": "1m"}\n{"id": "mine", "in": "1h"}\n'
    first, mine = (json.loads(event.body) for event in stamped(text, "ndjson", now_ms=5_000))
    assert first == {"id": first["id"], "at": 65_000, "on_conflict": "keep"}
    assert mine == {"id": "mine", "at": 3_605_000}


def test_a_tenant_is_for_events_that_name_none():
    text = '{"id": "a", "at": 1}\n{"at": 1, "tenant": "default"}\n{"at": 1, "tenant": "x", "payload": "id"}\n'
    events = stamped(text, "ndjson", tenant="acme")
    assert [event.tenant for event in events] == ["acme", "default", "x"]
    assert [json.loads(event.body)["tenant"] for event in events] == ["acme", "default", "x"]


def test_an_empty_id_is_none():
    (event,) = stamped('{"id": "", "at": 1}', "ndjson")
    assert json.loads(event.body) == {"id": event.id, "at": 1}


@pytest.mark.parametrize("schedule", ['"in": "1m"', '"at": 7'])
def test_a_payload_stays_as_it_is(schedule):
    (event,) = stamped("[{" + schedule + ', "payload": {"b":1.50 , "a":"\\u00e9"}}]', "json")
    assert b'{"b":1.50 , "a":"\\u00e9"}' in event.body


def test_one_event_is_one_line_whatever_it_was():
    (event,) = stamped('[{"at": 7,\r\n "payload": [1,\n2]}]', "json")
    assert b"\n" not in event.body
    assert json.loads(event.body)["payload"] == [1, 2]


def test_cells_become_what_the_field_is():
    text = 'id,priority,track,topics,payload,window.from\na,3,TRUE,"[""x""]",free text,09:00\nb,x,,,"{""a"": 1}",\n'
    a, b = read(text, "csv")
    assert a[1] == {
        "id": "a",
        "priority": 3,
        "track": True,
        "topics": ["x"],
        "payload": "free text",
        "window": {"from": "09:00"},
    }
    assert b[1] == {"id": "b", "priority": "x", "payload": {"a": 1}}


@pytest.mark.parametrize("payload", ["1.10", "12345678901234567890123", "1e999", "9" * 5_000, '{"a": [1.0]}', '"x"'])
def test_a_cell_that_is_json_stays_as_it_is(payload):
    quoted = payload.replace('"', '""')
    (line,) = lines_of(f'in,payload\n1h,"{quoted}"\n', "csv")
    assert f'"payload":{payload}'.encode() in line.body


def test_json_of_several_lines_in_a_cell_becomes_one():
    (line,) = lines_of('in,payload\n1h,"{""a"":\n1}"\n', "csv")
    assert line.body == b'{"in":"1h","payload":{"a": 1}}'


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "nul", "{", "17:00"])
def test_a_cell_that_is_no_json_is_text(text):
    assert read(f'in,payload\n1h,"{text}"\n', "csv")[0][1]["payload"] == text


@pytest.mark.parametrize("cell", ["²", "--5", "9" * 5_000, "5.0"])
def test_a_number_that_is_none_is_said(cell):
    (line,) = lines_of(f"in,priority\n1h,{cell}\n", "csv")
    assert "priority" in str(problems_of(line)[0])


def test_a_time_of_day_in_yaml_is_no_number():
    text = "- {in: 1h, window: {from: 9:00, to: 17:00}, payload: [12:30:45, 1:2.5, 17, 1.5, 0x10]}"
    ((_, event, _),) = read(text, "yaml")
    assert event["window"] == {"from": "9:00", "to": "17:00"}
    assert event["payload"] == ["12:30:45", "1:2.5", 17, 1.5, 16]


def test_what_is_anchored_is_counted_once_and_has_a_limit():
    many = "- &a {in: 1h, payload: " + "x" * 2_000 + "}\n- &b [" + "y" * 2_000 + "]\n" + "- {in: 1h}\n" * 3_000
    assert len(lines_of(many, "yaml", most_bytes=100_000)) == 3_002
    large = "".join(f"- &a{n} {{in: 1h, payload: {'x' * 90_000}}}\n" for n in range(20))
    with pytest.raises(Invalid, match="line 18: so much is anchored"):
        lines_of(large, "yaml", most_bytes=100_000)


@pytest.mark.parametrize(
    ("form", "text", "complaint"),
    [
        ("yaml", "- {in: 1h, payload: .nan}", "line 1: is no event: JSON has no nan"),
        ("yaml", "- {in: 1h, payload: {a: [1, null, -.inf]}}", "line 1: is no event: JSON has no -inf"),
        ("csv", "in,\n1h,\n1h,x\n", "line 3: has a cell in column 2, which has no name"),
        ("ndjson", '{"id": "a"}\n{"id": ', "line 2: is not valid JSON"),
        ("ndjson", "[1]", "line 1: must be an object"),
        ("json", '[{"id": "a"}, 7]', "line 1: must be an object"),
        ("yaml", "- id: a\n  in: 1m\n- x\n", "line 3: is no event"),
        ("csv", "id\na,b\n", "line 2: has 2 cells"),
        ("ndjson", '{"id": "a", "in": "x", "priority": 10}', "line 1: in: 'x' is not a duration"),
        ("yaml", "- id: a\n  in: 1m\n  colour: red", "line 1: colour: is not a known field"),
    ],
)
def test_what_is_wrong_with_one_line_is_said(form, text, complaint):
    said = [f"line {line.number}: {problem}" for line in lines_of(text, form) for problem in problems_of(line)]
    assert any(words.startswith(complaint) for words in said), said


@pytest.mark.parametrize(
    ("form", "text", "complaint"),
    [
        ("json", '[{"id": "a"}\n {"id": "b"}]', "line 2: is not JSON: a comma is missing"),
        ("json", '[\n{"id": "a",\n}]', "line 3: is not JSON"),
        ("json", '[{"id": "a"}', "is not JSON"),
        ("json", "[1] x", "there is more"),
        ("json", "[" * 100_000, "nested too deeply"),
        ("yaml", "id: a", "must be a list"),
        ("yaml", "- a: [1\n- b", "line 2: is not YAML"),
        ("yaml", "- id: a\n---\n- id: b\n", "line 2: after the end of the list there is more"),
        ("yaml", "- " + "[" * 3000, "nested too deeply"),
        ("csv", 'id\n"a', "is not CSV"),
        ("csv", "\nid,in,id\na,1h,b\n", "line 2: `id` names two columns"),
        ("csv", b"id\n\xff", "line 2: is not UTF-8"),
        ("ndjson", "{}".encode("utf-16"), "line 1: is UTF-16"),
        ("csv", "id".encode("utf-16"), "line 1: is UTF-16"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(form, text, complaint):
    with pytest.raises(Invalid, match=complaint):
        read(text, form)


def test_a_large_list_takes_time_in_proportion():
    events = [{"id": f"e{n}", "in": "1h"} for n in range(20_000)]
    assert len(read(json.dumps(events, indent=1), "json")) == 20_000


BOMB = "- &a {x: aaaaaaaaaa}\n" + "".join(
    f"- &{this} [{', '.join([f'*{last}'] * 10)}]\n" for last, this in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_aliases_are_written_out_only_as_far_as_an_event_may_be_long():
    problems = [line.problem for line in lines_of(BOMB, "yaml")]
    assert problems[:2] == ["", "is no event: write an object with its fields"]
    assert "with its aliases" in problems[-1]
    assert lines_of("- &a [*a]", "yaml")[0].problem == "is no event: it contains itself"
    merged = "- &base {in: 1m, labels: {a: b}}\n- {<<: *base, id: x}\n"
    assert read(merged, "yaml")[1][1] == {"in": "1m", "labels": {"a": "b"}, "id": "x"}


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", '[{"payload": "%s"}]'),
        ("json", '{\n"payload": "%s"}'),
        ("yaml", "- payload: %s"),
        ("yaml", "- payload: '\n %s'"),
        ("csv", "payload\n%s\n"),
    ],
)
def test_nothing_longer_than_an_event_is_held(form, text):
    with pytest.raises(Invalid, match="longer than 100,000 bytes"):
        lines_of(text % ("x" * 300_000), form, most_bytes=100_000)


def test_a_line_that_is_too_long_is_passed_over():
    text = '{"id": "a"}\n' + "x" * 10_000 + '\n{"id": "b"}\n' + "y" * 10_000
    numbers = [(line.number, line.problem[:14]) for line in lines_of(text, "ndjson", most_bytes=1_000)]
    assert numbers == [(1, ""), (2, "is longer than"), (3, ""), (4, "is longer than")]


@pytest.mark.parametrize("size", [65_530, 65_536, 131_072])
def test_where_blocks_end_does_not_matter(size):
    events = [{"id": "é" * n, "payload": ["x\\", "]", n]} for n in range(60)]
    text = json.dumps(events, ensure_ascii=False)
    text = "[" + " " * (size - 2000) + "\n" + text[1:]
    assert [fields for _, fields, _ in read(text, "json")] == events


def test_mac_and_windows_line_ends_and_a_bom_change_nothing():
    text = '\ufeff{"id": "a"}\r\n\r\n{"id": "b"}\r\n'
    assert [(number, fields["id"]) for number, fields, _ in read(text, "ndjson")] == [(1, "a"), (3, "b")]


def converter(lines, source):
    for number, line in enumerate(lines, start=1):
        if line == "boom":
            raise KeyError(line)
        yield EventLine(number, {"at": source.modified_ms, "payload": line}) if line else Problem(number, "is empty")


def test_a_converter_yields_events_and_problems():
    convert = converting(converter, Source("x.txt", 7))
    good, bad = convert(io.BytesIO("\ufeffhé\r\n\r\n".encode()))
    assert (good.number, json.loads(good.body)) == (1, {"at": 7, "payload": "hé"})
    assert (bad.number, bad.problem) == (2, "is empty")
    with pytest.raises(Invalid, match="the converter failed: KeyError"):
        list(convert(io.BytesIO(b"a\nboom\n")))


@pytest.mark.parametrize("id_", [None, "", "a", "x" * 201, "auto:1", "tab\t", "é"])
@pytest.mark.parametrize("at", [0, -1, 5_000, 10**15, 10**30, True, 1.5, "2026-11-16T09:00:00Z", None])
@pytest.mark.parametrize(
    "more", [{}, {"key": "k\0"}, {"key": "k"}, {"payload": "x" * 300_000}, {"payload": None}, {"in": "1m"}]
)
def test_the_quick_check_says_what_the_thorough_one_says(id_, at, more):
    body = json.dumps({"at": at, **({} if id_ is None else {"id": id_}), **more}).encode()
    outcomes = []
    for tries in (100, 0):
        stamp = Stamp("mark", 1_000_000)
        stamp._tries = tries
        try:
            outcomes.append(stamp.check(body))
        except InvalidEvent as error:
            outcomes.append(error.problems)
    assert outcomes[0] == outcomes[1]


def test_most_events_are_checked_quickly():
    stamp = Stamp("mark", 1_000_000)
    stamp.check(b'{"at": 5, "payload": {"a": [1]}}')
    assert stamp._tries == 100
