import time

import pytest

from tests.api.conftest import ON_BOTH_LOGS, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


def preview(api, **parameters):
    return api.get("/preview", params=parameters)


def test_a_preview_shows_clock_changes(api):
    shown = preview(api, cron="30 2 * * *", timezone="Europe/Paris", **{"from": "2027-03-27T00:00:00Z"}, n=3).json()
    assert shown["text"] == "at 02:30 every day, Europe/Paris"
    assert [time["local"] for time in shown["times"]] == [
        "2027-03-27T02:30:00.000+01:00",
        "2027-03-28T03:00:00.000+02:00",
        "2027-03-29T02:30:00.000+02:00",
    ]
    assert shown["times"][1]["utc"] == "2027-03-28T01:00:00.000Z"
    assert "skipped" in shown["times"][1]["note"]


def test_a_preview_of_an_interval_counts_from_its_start(api):
    shown = preview(api, every="90m", **{"from": "2027-01-01T00:00:00Z"}, n=2).json()
    assert [time["utc"] for time in shown["times"]] == ["2027-01-01T01:30:00.000Z", "2027-01-01T03:00:00.000Z"]


def test_a_preview_knows_windows(api):
    window = '{"from": "09:00", "to": "17:00", "days": ["mon"]}'
    shown = preview(api, cron="0 6 * * *", window=window, **{"from": "2027-01-01T00:00:00Z"}, n=2).json()
    assert [time["utc"] for time in shown["times"]] == ["2027-01-04T09:00:00.000Z", "2027-01-11T09:00:00.000Z"]


def test_a_preview_is_ten_times_from_now_on_by_default(api):
    assert len(preview(api, cron="@hourly").json()["times"]) == 10
    assert len(preview(api, cron="* * * * * *", n=1000).json()["times"]) == 1000


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({}, "cron"),
        ({"cron": "*/0 * * * *"}, "cron"),
        ({"cron": "0 0 31 2 *"}, "cron"),
        ({"cron": "* * * * *", "every": "5m"}, "every"),
        ({"every": "5 parsecs"}, "every"),
        ({"cron": "* * * * *", "timezone": "Mars/Olympus"}, "timezone"),
        ({"cron": "* * * * *", "timezone": "\0"}, "timezone"),
        ({"cron": "* * * * *", "timezone": "../../etc/passwd"}, "timezone"),
        ({"cron": "* * * * *", "window": "nine to five"}, "window"),
        ({"cron": "* * * * *", "window": "[" * 5000}, "window"),
        ({"cron": "* * * * *", "window": '{"form": "09:00"}'}, "window.form"),
        ({"cron": "* * * * *", "window": '{"from": "25:00"}'}, "window.from"),
        ({"cron": "* * * * *", "from": "soon"}, "from"),
        ({"cron": "* * * * *", "n": 0}, "n"),
        ({"cron": "* * * * *", "n": 1001}, "n"),
        ({"cron": "* * * * *", "at": "now"}, "at"),
    ],
)
def test_a_preview_that_makes_no_sense_is_refused(api, parameters, field):
    assert fields_of(is_problem(preview(api, **parameters), 400)) == {field}


def test_a_forecast_counts_the_coming_minutes_by_tenant(api, name):
    events = [{"in": f"{minutes}m"} for minutes in (5, 10, 10, 15)]
    assert api.post("/events", json=events, params={"tenant": name}).status_code == 201
    minutes = api.get("/forecast", params={"minutes": 30}).json()["minutes"]
    assert len(minutes) == 30
    assert [minute["minute"] for minute in minutes] == sorted({minute["minute"] for minute in minutes})
    assert sorted(count for minute in minutes if (count := minute["tenants"].get(name))) == [1, 1, 2]
    assert all(minute["pending"] == sum(minute["tenants"].values()) for minute in minutes)
    assert len(api.get("/forecast").json()["minutes"]) == 60
    assert len(api.get("/forecast", params={"minutes": 1440}).json()["minutes"]) == 1440


@pytest.mark.parametrize("minutes", ["0", "1441", "x", "-5", ""])
def test_a_forecast_has_limits(api, minutes):
    assert fields_of(is_problem(api.get("/forecast", params={"minutes": minutes}), 400)) == {"minutes"}


def test_what_fires_next_comes_soonest_first_whatever_its_priority(api, name):
    events = [{"id": f"{name}-{s}", "in": f"{s}s", "priority": (s * 7) % 10} for s in range(100, 140)]
    assert api.post("/events", json=events, params={"tenant": name}).status_code == 201
    shown = api.get("/upcoming", params={"limit": 200}).json()["events"]
    assert [event["due"] for event in shown] == sorted(event["due"] for event in shown)
    mine = [event["id"] for event in shown if event["tenant"] == name]
    assert mine == [event["id"] for event in events][: len(mine)]
    assert mine
    assert shown[0]["schedule_text"]


def test_of_very_many_the_soonest_are_found(api, name):
    """More than are looked at together, all in one priority, and the soonest in another."""
    crowd = [{"at": f"2026-12-31T23:{s // 60:02d}:{s % 60:02d}Z", "priority": 0} for s in range(1500)]
    assert api.post("/events", json=crowd, params={"tenant": name}).status_code == 201
    soon = [{"id": f"{name}-{i}", "in": f"{30 + i}s", "priority": 9} for i in range(5)]
    assert api.post("/events", json=soon, params={"tenant": name}).status_code == 201
    shown = [event["id"] for event in api.get("/upcoming", params={"limit": 200}).json()["events"]]
    assert [id for id in shown if id.startswith(name)] == [event["id"] for event in soon]


def pages(api, limit, between=lambda: None):
    """All that fires next, page by page; `between` is called after each."""
    cursor = None
    while True:
        page = api.get("/upcoming", params={"limit": limit, **({"cursor": cursor} if cursor else {})}).json()
        yield page["events"]
        cursor = page["cursor"]
        if cursor is None:
            return
        between()


@pytest.mark.parametrize("limit", [100, 173])
def test_all_are_found_once_however_many_share_a_millisecond(api, name, limit):
    """Among them several priorities; page after page, while some of those already shown leave and more arrive."""
    at_ms = int(time.time() * 1000) + 30 * 86_400_000
    sent = [{"id": f"{name}-{i:04d}", "at": at_ms, "priority": i % 3 + 4} for i in range(1600)]
    assert api.post("/events", json=sent, params={"tenant": name}).status_code == 201
    seen = []
    gone = iter(range(10))

    def change():
        if seen and (number := next(gone, None)) is not None:
            api.delete(f"/events/{seen[0]}", params={"tenant": name})
            api.post("/events", json={"id": f"{name}-late-{number}", "in": "365d"}, params={"tenant": name})

    last = ""
    for page in pages(api, limit, change):
        assert len(page) <= limit
        assert [last, *(event["due"] for event in page)] == sorted([last, *(event["due"] for event in page)])
        last = page[-1]["due"] if page else last
        seen += [event["id"] for event in page if event["tenant"] == name and "late" not in event["id"]]
    assert sorted(seen) == [event["id"] for event in sent]


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "e", "n", "nkgE", "n" + "A" * 60, "n\0", "nlM-AAAAAAAAAAAAAAA", "nlAX_AAA", "nlAUAAM___________w"],
)
def test_a_cursor_of_another_list_is_refused(api, cursor):
    assert fields_of(is_problem(api.get("/upcoming", params={"cursor": cursor}), 400)) == {"cursor"}
