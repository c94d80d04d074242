"""Is everything that makes no sense refused, with the field and the remedy?"""

import base64

import pytest

from lightsched.event.errors import InvalidEvent, Problem
from lightsched.event.limits import Limits
from tests.unit.event.reading import NOW, accepted, problems, read

AT = {"at": "2026-03-02T12:00:00Z"}
CRON = {"cron": "0 9 * * *"}
YEAR = 365 * 86_400_000

BAD = [
    # unknown fields
    ({**AT, "prioritty": 1}, "prioritty", "did you mean `priority`?"),
    ({**AT, "zzzz": 1}, "zzzz", "check the spelling"),
    ({**AT, "window": {"from": "09:00", "form": "10:00"}}, "window.form", "is not a known field"),
    ({**AT, "retry": {"attempts": 2, "delayy": "1m"}}, "retry.delayy", "is not a known field"),
    ({**AT, "retry": {"attempt": 2}}, "retry.attempt", "did you mean `attempts`?"),
    ({**AT, "window": {"priority": 2}}, "window.priority", "remove it or check the spelling"),
    *(({**AT, theirs: "1"}, theirs, f"did you mean `{ours}`?") for theirs, ours in {
        "data": "payload", "body": "payload", "tz": "timezone", "schedule": "cron", "delay": "in", "when": "at",
        "time": "at",
    }.items()),
    # wrong types
    ({"at": True}, "at", "must be a whole number or text"),
    ({"at": 1.5}, "at", "must be a whole number or text"),
    ({"at": ["2026-03-02T12:00:00Z"]}, "at", "not a list"),
    ({"in": 30}, "in", 'must be text or null, not a whole number: write `"30s"` for seconds'),
    ({"in": 90_000}, "in", 'write `"5s"` for seconds'),
    ({"every": 60}, "every", 'write `"60s"` for seconds'),
    ({**AT, "retry": {"attempts": 2, "delay": 7}}, "retry.delay", 'write `"7s"` for seconds'),
    ({**AT, "id": 7}, "id", "must be text, not a whole number"),
    ({**AT, "id": None}, "id", "must be text, not null"),
    ({**AT, "priority": "5"}, "priority", "must be a whole number, not text"),
    ({**AT, "priority": 1.0}, "priority", "must be a whole number"),
    ({**CRON, "max_runs": "3"}, "max_runs", "must be a whole number"),
    ({**AT, "track": "yes"}, "track", "must be true or false"),
    ({**AT, "topics": "a"}, "topics", "must be a list"),
    ({**AT, "labels": {"b": "1", "a": 1}}, "labels.a", "must be text"),
    ({**AT, "headers": []}, "headers", "must be an object"),
    ({**AT, "window": "09:00-17:00"}, "window", "must be an object"),
    # unknown words
    ({"op": "delete", "id": "e"}, "op", "use one of `schedule`, `cancel`, `pause`, `resume`, `trigger`"),
    ({**CRON, "catch_up": "some"}, "catch_up", "use one of `latest`, `all`, `none`"),
    ({**CRON, "overlap": "wait"}, "overlap", "use one of `allow`, `skip`, `queue`"),
    ({**CRON, "until": "failure"}, "until", "use one of `success`"),
    ({**AT, "on_conflict": "merge"}, "on_conflict", "use one of `replace`, `keep`, `reject`"),
    # schedules
    ({}, "at", "has no schedule: give exactly one of `at`, `in`, `cron`, `every`"),
    ({**AT, "in": "1m"}, "in", "has `at` and `in`: give exactly one of"),
    ({**AT, **CRON}, "cron", "has `at` and `cron`: give exactly one of"),
    ({"in": "1m", "every": "1m", **CRON}, "cron", "give exactly one of"),
    ({"at": "2026-03-02T12:00:00"}, "at", "append Z or an offset"),
    ({"at": "tomorrow"}, "at", "write for example"),
    ({"at": ""}, "at", "write for example"),
    ({"in": ""}, "in", "is not a duration"),
    ({"every": ""}, "every", "is not a duration"),
    ({**CRON, "timezone": ""}, "timezone", "write a name"),
    ({**CRON, "starts_at": ""}, "starts_at", "write for example"),
    ({**CRON, "ends_at": ""}, "ends_at", "write for example"),
    ({"at": "2026-03-02"}, "at", "write for example"),
    ({"at": "2026-02-30T12:00:00Z"}, "at", "does not exist"),
    ({"at": -1}, "at", "must lie in the years 1970 to 9999"),
    ({"at": 10**30}, "at", "must lie in the years 1970 to 9999"),
    ({"at": NOW + 11 * YEAR}, "at", "choose an earlier time"),
    ({"in": "11y"}, "in", "choose an earlier time"),
    ({"in": "0x"}, "in", "unknown unit"),
    ({"in": "-5m"}, "in", "is negative"),
    ({"in": "5"}, "in", "has no unit"),
    ({"in": "5 parsecs"}, "in", "is not a duration"),
    ({"every": "0ms"}, "every", "is zero"),
    ({"every": "-1h"}, "every", "is negative"),
    ({"every": "99ms"}, "every", "is shorter than 100ms, the shortest interval: lengthen it"),
    ({"every": "11y"}, "every", "shorten it"),
    ({"cron": "0 0 31 2 *"}, "cron", "never fires"),
    ({"cron": "*/0 * * * *"}, "cron", "write 1 or more"),
    ({"cron": "61 * * * *"}, "cron", "minute"),
    ({"cron": "* * *"}, "cron", "fields"),
    ({"cron": ""}, "cron", ""),
    ({"cron": "@never"}, "cron", ""),
    ({**CRON, "timezone": "Europe/Pariss"}, "timezone", "did you mean Europe/Paris?"),
    ({**CRON, "timezone": "+01:00"}, "timezone", "IANA"),
    ({"at": "2026-03-02T12:00:00", "timezone": "Mars/Olympus"}, "timezone", "unknown timezone"),
    ({**CRON, "starts_at": "2026-03-02T12:00:00"}, "starts_at", "append Z or an offset"),
    ({**CRON, "ends_at": "never"}, "ends_at", "write for example"),
    ({**CRON, "starts_at": NOW + 2, "ends_at": NOW + 1}, "ends_at", "is before `starts_at`: swap or correct them"),
    ({**CRON, "starts_at": NOW + 11 * YEAR}, "starts_at", "choose an earlier time"),
    ({**CRON, "max_runs": 0}, "max_runs", "must be 1 or more"),
    ({**CRON, "max_runs": -3}, "max_runs", "must be 1 or more"),
    ({**CRON, "max_runs": 10**30}, "max_runs", "at most 1,000,000,000"),
    *(({**AT, **more}, next(iter(more)), "give `cron` or `every`, or leave it out") for more in (
        {"starts_at": NOW}, {"ends_at": NOW}, {"max_runs": 1}, {"until": "success"}
    )),
    # policies
    ({**CRON, "jitter": "x"}, "jitter", "is not a duration"),
    ({**CRON, "look_back": "0s"}, "look_back", "is zero"),
    ({**AT, "timeout": "-1s"}, "timeout", "is negative"),
    ({**AT, "expires_in": "0s"}, "expires_in", "is zero"),
    ({**AT, "window": {}}, "window", "leave it out"),
    ({**AT, "window": {"from": "9am"}}, "window.from", "write 00:00 to 23:59"),
    ({**AT, "window": {"from": "09:00", "to": "09:00"}}, "window", "write from 00:00 to 24:00"),
    ({**AT, "window": {"days": ["someday"]}}, "window.days", "write mon"),
    ({**AT, "window": {"days": []}}, "window.days", "never opens"),
    ({**AT, "window": {"exclude": ["christmas"]}}, "window.exclude", "write for example 2026-12-25"),
    ({**AT, "window": {"from": "09:00", "timezone": "Nowhere"}}, "window.timezone", "unknown timezone"),
    ({**AT, "retry": {}}, "retry", "write for example attempts 5"),
    ({**AT, "retry": {"attempts": 0}}, "retry.attempts", "from 1 to 1,000"),
    ({**AT, "retry": {"attempts": 2, "delays": ["1m"]}}, "retry", "the list already says"),
    ({**AT, "retry": {"delays": []}}, "retry.delays", "entries"),
    ({**AT, "retry": {"attempts": 2, "delay": "0s", "max": "0s"}}, "retry.max", "is zero"),
    ({**AT, "retry": {"attempts": 2, "factor": 0.5}}, "retry.factor", "of 1 or more"),
    ({**AT, "retry": {"attempts": 2, "jitter": 2}}, "retry.jitter", "from 0 to 1"),
    ({**AT, "retry": {"attempts": 2, "delay": "2h", "max": "1h"}}, "retry", "make it shorter"),
    ({**AT, "priority": 10}, "priority", "from 0 (first) to 9"),
    ({**AT, "priority": -1}, "priority", "from 0 (first) to 9"),
    *(({**CRON, "track": False, **more}, "track", "drop one or the other") for more in (
        {"retry": {"attempts": 2}}, {"timeout": "1m"}, {"until": "success"}, {"overlap": "skip"}, {"overlap": "queue"}
    )),
    # content
    ({**AT, "payload": 1, "payload_base64": "AA=="}, "payload_base64", "give one of them"),
    ({**AT, "payload": "x" * 262_143}, "payload", "the limit is 262144: store it elsewhere"),
    ({**AT, "payload_base64": base64.b64encode(bytes(262_145)).decode()}, "payload_base64", "the limit is 262144"),
    ({**AT, "payload_base64": "not base64"}, "payload_base64", "encode the bytes again"),
    ({**AT, "payload_base64": "AAA"}, "payload_base64", "with padding"),
    ({**AT, "payload_base64": "ä"}, "payload_base64", "encode the bytes again"),
    ({**AT, "type": ""}, "type", "such as `email.send`"),
    ({**AT, "type": "two words"}, "type", "such as `email.send`"),
    ({**AT, "type": "x" * 201}, "type", "1 to 200"),
    ({**AT, "topics": ["a b"]}, "topics", "use letters, digits and `._-`"),
    ({**AT, "topics": [""]}, "topics", "is no topic name"),
    ({**AT, "topics": [".."]}, "topics", "is no topic name"),
    ({**AT, "topics": ["a", "a"]}, "topics", "name each once"),
    ({**AT, "topics": [f"t{n}" for n in range(17)]}, "topics", "at most 16"),
    ({**AT, "topics": ["__consumer_offsets"]}, "topics", "as Kafka's own topics do: deliver to another"),
    *(({**AT, "topics": [f"lightsched.{own}"]}, "topics", "deliver to another")
      for own in ("events", "reports", "changelog", "audit", "dead-letter", "nodes")),
    ({**AT, "headers": {"ls_id": "x"}}, "headers", "the prefixes `ls_` and `ce_` are reserved: use another name"),
    ({**AT, "headers": {"CE_type": "x"}}, "headers", "are reserved"),
    ({**AT, "headers": {"a b": "x"}}, "headers", "use visible ASCII characters"),
    ({**AT, "headers": {"": "x"}}, "headers", "use visible ASCII characters"),
    ({**AT, "headers": {"a": "\0"}}, "headers", "remove it"),
    ({**AT, "headers": {f"h{n}": "" for n in range(65)}}, "headers", "at most 64"),
    ({**AT, "headers": {"a": "x" * 16_384}}, "headers", "shorten it"),
    ({**AT, "labels": {"a": "\0"}}, "labels", "remove it"),
    ({**AT, "labels": {f"h{n}": "" for n in range(65)}}, "labels", "at most 64"),
    ({**AT, "labels": {"a": "x" * 16_384}}, "labels", "shorten it"),
    # names
    ({**AT, "id": "a\x00b"}, "id", "use printable ones only"),
    ({**AT, "id": "a\nb"}, "id", "use printable ones only"),
    ({**AT, "id": "a\u200bb"}, "id", "use printable ones only"),
    ({**AT, "id": "x" * 201}, "id", "at most 200"),
    ({**AT, "id": "."}, "id", "means a folder in the address of an event, so nobody could ask for it: use another"),
    ({**AT, "id": ".."}, "id", "use another"),
    ({**AT, "id": "auto:mine"}, "id", "is reserved for ids that lightsched assigns: use another"),
    ({**AT, "key": "a\tb"}, "key", "use printable ones only"),
    ({**AT, "key": "x" * 201}, "key", "at most 200"),
    ({**AT, "tenant": "Acme"}, "tenant", "must be lower-case letters"),
    ({**AT, "tenant": ""}, "tenant", "must be lower-case letters"),
    ({**AT, "tenant": "-a"}, "tenant", "letter or digit first"),
    ({**AT, "tenant": "a" * 64}, "tenant", "at most 63"),
    ({**AT, "tenant": "acme\n"}, "tenant", "must be lower-case letters"),
    ({**AT, "reason": "x" * 1001}, "reason", "shorten it"),
    *(({"op": op}, "id", "say which event is meant") for op in ("cancel", "pause", "resume", "trigger")),
]  # fmt: skip


@pytest.mark.parametrize(("event", "field", "remedy"), BAD, ids=lambda value: str(value)[:60])
def test_what_makes_no_sense_is_refused_with_field_and_remedy(event, field, remedy):
    found = problems(event)
    assert field in found, found
    assert remedy in found[field]


def test_all_problems_are_named_at_once():
    event = {"at": "x", "in": "y", "timezone": "z", "priority": 10, "tenant": "T", "type": "", "topics": ["a b"]}
    assert set(problems(event)) == {"at", "in", "timezone", "priority", "tenant", "type", "topics"}


@pytest.mark.parametrize(
    "event",
    [
        {**AT, "id": "x" * 200},
        {**AT, "id": "..."},
        {**AT, "id": "e", "key": ".."},
        {**AT, "id": "Zoë 🍵 / #1 'quoted'"},
        {**AT, "tenant": "a" * 63},
        {**AT, "tenant": "0.a_b-c"},
        {"at": "2026-03-02T12:00:00", "timezone": "Europe/Paris"},
        {"at": "2020-01-01T00:00:00Z"},
        {"at": NOW + 9 * YEAR},
        {"at": "2036-03-02T10:00:00Z"},  # ten years ahead, to the second, with three leap days
        {"every": "100ms"},
        {"cron": "*/5 * * * * *"},
        {"cron": "@daily", "timezone": "America/New_York"},
        {"cron": "0 0 29 2 *"},
        {**CRON, "starts_at": NOW, "ends_at": NOW},
        {**CRON, "max_runs": 1_000_000_000},
        {**CRON, "track": False, "overlap": "allow"},
        {**AT, "payload": "x" * 262_142},
        {**AT, "payload": None},
        {**AT, "payload_base64": base64.b64encode(bytes(262_144)).decode()},
        {**AT, "payload_base64": ""},
        {**AT, "topics": ["lightsched.deliveries", "a" * 249]},
        {**AT, "headers": {"a": "ä" * 8000}, "labels": {"ä b": "\n"}},
        {"op": "cancel", "id": "auto:3-7-0"},
        {"op": "cancel", "id": ".."},
        {"op": "pause", "id": "e", "reason": "x" * 1000},
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_makes_sense_is_accepted(event):
    accepted(event)


@pytest.mark.parametrize("many", [{"topics": ["a b"] * 100_000}, {"headers": {f" {n}": "" for n in range(50_000)}}])
def test_a_million_problems_are_told_in_a_sentence(many):
    limits = Limits(record=10_000_000)
    refused = read({**AT, **many}, limits=limits)
    assert len(refused.problems) <= 2
    assert len("; ".join(map(str, refused.problems))) < 200


def test_limits_are_those_of_the_server():
    limits = Limits(payload=10, horizon_ms=1000, min_every_ms=60_000, topics=1)
    found = problems({"every": "1m", "payload": "x" * 10, "topics": ["a", "b"]}, limits=limits)
    assert set(found) == {"every", "payload", "topics"}
    assert "0 days" in problems({"in": "2s"}, limits=limits)["in"]


def test_a_record_that_is_too_large_is_refused_before_it_is_read():
    assert problems(b"[" * 1_048_577) == {"": "has 1048577 bytes, the limit is 1048576: send less"}


def test_an_error_reads_as_sentences():
    error = InvalidEvent([Problem("at", "is no time"), Problem("", "is strange")])
    assert str(error) == "at: is no time; is strange"
    assert [problem.field for problem in error.problems] == ["at", ""]
