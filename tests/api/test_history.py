"""What ran lately, of all events?"""

import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


@pytest.fixture
def ran(api, name):
    """Runs of all kinds, over all partitions: of one-shots, of a recurrence, and cancelled before they went."""
    events = [{"id": f"once-{n}", "in": f"{n * 20 + 1}ms", "type": "once"} for n in range(9)]
    events += [{"id": f"often-{n}", "every": "100ms", "max_runs": 3, "type": "often"} for n in range(3)]
    assert api.post("/events", json=events, params={"tenant": name}).status_code == 201

    def get(**parameters):
        response = api.get("/runs", params={"tenant": name, **parameters})
        assert response.status_code == 200, response.text
        return response.json()

    eventually(lambda: len(get()["runs"]) == 18)
    return get


def by_name(page):
    return [(run["id"], run["due"]) for run in page["runs"]]


def test_all_runs_are_there_the_last_first(ran, name):
    page = ran()
    ended = [run["finished_at"] for run in page["runs"]]
    assert ended == sorted(ended, reverse=True)
    assert page["cursor"] is None
    assert len(set(by_name(page))) == 18
    once = next(run for run in page["runs"] if run["id"] == "once-0")
    assert (once["tenant"], once["key"], once["type"], once["status"]) == (name, "once-0", "once", "SUCCESS")
    assert (once["attempt"], len(once["attempts"])) == (1, 1)


@pytest.mark.parametrize("limit", [1, 5, 18])
def test_pages_follow_each_other_without_gap_or_repetition(ran, limit):
    found, cursor = [], {}
    while cursor is not None:
        page = ran(limit=limit, **cursor)
        found += by_name(page)
        cursor = page["cursor"] and {"cursor": page["cursor"]}
    assert found == by_name(ran())


def test_runs_can_be_narrowed_down(ran):
    assert {run["id"] for run in ran(type="often")["runs"]} == {f"often-{n}" for n in range(3)}
    assert len(ran(type="often")["runs"]) == 9
    assert ran(status="FATAL_FAILURE")["runs"] == []
    assert len(ran(status=["SUCCESS", "EXPIRED"])["runs"]) == 18
    runs = ran()["runs"]
    middle = runs[9]["finished_at"]
    earlier, later = ran(to=middle)["runs"], ran(**{"from": middle})["runs"]
    assert later + earlier == runs
    assert all(run["finished_at"] >= middle for run in later)
    assert all(run["finished_at"] < middle for run in earlier)


def test_runs_are_of_one_tenant_unless_all_are_asked_for(api, ran, name):
    assert ran(tenant="nobody-has-this")["runs"] == []
    assert name in {run["tenant"] for run in ran(tenant="*", limit=1000)["runs"]}


def test_a_run_that_never_went_is_there_too(api, name):
    api.post("/events", json={"id": "e", "at": "2020-01-01T00:00:00Z", "expires_in": "1s"}, params={"tenant": name})
    event = {"id": "f", "every": "1h", "timeout": "1h", "retry": {"attempts": 2}}
    api.post("/events", json=event, params={"tenant": name})
    api.post("/events/f/trigger", params={"tenant": name})
    eventually(lambda: api.get("/events/f", params={"tenant": name}).json()["last_executed"])
    assert api.get("/runs", params={"tenant": name}).json()["runs"] == []


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "hgA"}, "cursor"),
        ({"status": "HAPPY"}, "status"),
        ({"from": "soon"}, "from"),
        ({"to": "later"}, "to"),
        ({"tenant": "NOT OK"}, "tenant"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(api, parameters, field):
    assert fields_of(is_problem(api.get("/runs", params=parameters), 400)) == {field}


def test_results_are_shown_byte_for_byte_wherever_they_are_kept(api, name, topic):
    events = [{"id": f"{n}", "in": "1ms", "track": True, "topics": [topic]} for n in range(9)]
    api.post("/events", json=events, params={"tenant": name})
    seen = {}
    while len(seen) < 9:
        page = api.get(f"/deliveries/{topic}", params={"wait": "10s", "group": "g"}).json()
        seen |= {each["id"]: each for each in page["deliveries"]}
    for each in seen.values():
        report = (
            f'{{"delivery":"{each["delivery"]}","token":"{each["token"]}","status":"SUCCESS","result":[1.10,1E400]}}'
        )
        assert api.post("/reports", content=report).status_code == 204
    eventually(lambda: api.get("/runs", params={"tenant": name}).text.count('"result":[1.10,1E400]') == 9)
