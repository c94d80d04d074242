import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


@pytest.fixture
def delivery(api, name, topic):
    """The first delivery of a tracked event with a retry left."""
    event = {"id": name, "in": "1ms", "topics": [topic], "retry": {"attempts": 2, "delay": "1h"}, "timeout": "1h"}
    assert api.post("/events", json=event).status_code == 201
    return next_delivery(api, topic)


def next_delivery(api, topic):
    page = api.get(f"/deliveries/{topic}", params={"group": "executor", "wait": "20s"}).json()
    api.post(f"/deliveries/{topic}/ack", json={"group": "executor", "cursor": page["cursor"]})
    return page["deliveries"][0]


def report(api, delivery, status, **more):
    body = {"delivery": delivery["delivery"], "token": delivery["token"], "status": status, **more}
    return api.post("/reports", json=body)


def test_reports_move_the_event_along(api, name, delivery):
    for status in ("CLAIMED", "PROCESSING", "PROCESSING", "SUCCESS"):
        response = report(api, delivery, status, executor="kettle-1", result={"done": True})
        assert (response.status_code, response.content) == (204, b"")
        assert api.get(f"/events/{name}").json()["status"] == status
    (run,) = api.get(f"/events/{name}/runs").json()["runs"]
    assert (run["status"], run["attempt"], run["result"], run["error"]) == ("SUCCESS", 1, {"done": True}, "")
    assert run["finished_at"] >= run["delivered_at"] >= run["due"]
    (attempt,) = run["attempts"]
    assert attempt == {
        "attempt": 1,
        "delivered_at": run["delivered_at"],
        "status": "SUCCESS",
        "executor": "kettle-1",
        "error": "",
    }


def test_a_failure_is_tried_again_and_shows_in_the_runs(api, name, topic, delivery):
    assert report(api, delivery, "RETRIABLE_FAILURE", error="no water").status_code == 204
    event = api.get(f"/events/{name}").json()
    assert event["status"] == "RETRIABLE_FAILURE"
    assert event["next_executions"] == [event["next_execution"]]
    (run,) = api.get(f"/events/{name}/runs").json()["runs"]
    assert (run["status"], run["finished_at"], run["error"]) == ("RETRIABLE_FAILURE", None, "no water")
    reasons = api.get(f"/events/{name}/explain").json()["reasons"]
    assert [reason["at"] is None for reason in reasons[-2:]] == [False, True], "what holds at present has no time"
    texts = " ".join(reason["text"] for reason in reasons)
    assert f"at {event['next_execution']}" in texts
    assert api.post(f"/events/{name}/trigger").json()["outcome"] == "TRIGGERED"
    again = next_delivery(api, topic)
    assert again["attempt"] == 2
    is_problem(report(api, delivery, "SUCCESS"), 409, reason="stale")
    assert report(api, again, "FATAL_FAILURE", error="kettle broken").status_code == 204
    event = api.get(f"/events/{name}").json()
    assert (event["status"], event["failures"], event["runs"]) == ("FATAL_FAILURE", 1, 1)


def test_a_report_that_comes_twice_or_late_changes_nothing(api, delivery):
    assert report(api, delivery, "CLAIMED").status_code == 204
    is_problem(report(api, delivery, "CLAIMED"), 409, reason="repeated")
    assert report(api, delivery, "SUCCESS").status_code == 204
    is_problem(report(api, delivery, "SUCCESS"), 409, reason="finished")


def test_a_wrong_token_is_403(api, delivery):
    is_problem(report(api, delivery | {"token": "0" * 32}, "SUCCESS"), 403, reason="forbidden")
    is_problem(report(api, delivery | {"token": "é"}, "SUCCESS"), 403)


def test_a_report_may_schedule_what_follows(api, name, delivery):
    assert report(api, delivery, "SUCCESS", then=[{"id": f"{name}-next", "in": "1h"}]).status_code == 204
    assert eventually(lambda: api.get(f"/events/{name}-next").status_code == 200)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"delivery": "nonsense"}, "delivery"),
        ({"delivery": "99:default//x/1/1#1"}, "delivery"),
        ({"delivery": "-1:default//x/1/1#1"}, "delivery"),
        ({"delivery": "0:default//%00/1/1#1"}, "delivery"),
        ({"status": "MAYBE"}, "status"),
        ({"status": 7}, "status"),
        ({"retry_in": "later"}, "retry_in"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_report_that_makes_no_sense_is_refused(api, delivery, change, field):
    body = {"delivery": delivery["delivery"], "token": delivery["token"], "status": "SUCCESS"}
    assert fields_of(is_problem(api.post("/reports", json=body | change), 400)) == {field}


@pytest.mark.parametrize("body", [b"", b"{", b"[", b"\xff", b"null", b"[" * 100_000])
def test_a_body_that_is_no_report_is_refused(api, body):
    is_problem(api.post("/reports", content=body), 400)


def test_too_large_a_report_is_413(api):
    is_problem(api.post("/reports", content=b"x" * 2_000_000), 413)


def test_an_event_that_is_unknown_has_no_runs(api, name):
    is_problem(api.get(f"/events/{name}/runs"), 404)
    is_problem(api.get(f"/events/{name}/explain"), 404)


def test_runs_are_paged_newest_first(api, name):
    """Five that are over and two that are out: a tracked event first untracked, then with a timeout."""
    api.post("/events", json={"id": name, "every": "1h"})
    trigger(api, name, 5)
    api.post("/events", json={"id": name, "every": "1h", "timeout": "1h"})
    trigger(api, name, 2)
    everything = api.get(f"/events/{name}/runs").json()
    assert len(everything["runs"]) == 7
    assert everything["cursor"] is None
    dues = [run["due"] for run in everything["runs"]]
    assert dues == sorted(dues, reverse=True)
    assert sum(run["finished_at"] is None for run in everything["runs"]) == 2
    for limit in (1, 2, 3, 6, 7):
        paged, cursor = [], None
        while True:
            page = api.get(f"/events/{name}/runs", params={"limit": limit, **({"cursor": cursor} if cursor else {})})
            paged += page.json()["runs"]
            cursor = page.json()["cursor"]
            if cursor is None:
                break
        assert paged == everything["runs"]


def trigger(api, name, times):
    for _ in range(times):
        assert api.post(f"/events/{name}/trigger").json()["outcome"] == "TRIGGERED"


def test_a_cursor_of_another_list_is_refused(api, name):
    api.post("/events", json={"id": name, "every": "1h"})
    for cursor in ("x", "e", "r", "rkgE", "rks-AAAAAAAAAAAE", "r" + "A" * 100):
        assert fields_of(is_problem(api.get(f"/events/{name}/runs", params={"cursor": cursor}), 400)) == {"cursor"}
