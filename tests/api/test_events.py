import pytest

from tests.api.conftest import ON_BOTH_LOGS, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


def test_an_event_is_shown_as_sent_with_what_is_known_about_it(api, name):
    sent = {
        "id": name,
        "type": "email.send",
        "cron": "30 9 * * mon-fri",
        "timezone": "Europe/Paris",
        "labels": {"team": "blue"},
        "payload": {"b": 1.50, "a": [1, 2]},
    }
    api.post("/events", json=sent)
    response = api.get(f"/events/{name}")
    event = response.json()
    assert {field: event[field] for field in sent} == sent
    assert (event["tenant"], event["key"], event["status"], event["revision"]) == ("default", name, "NOT_STARTED", 1)
    assert event["schedule_text"] == "at 09:30 on weekdays, Europe/Paris"
    assert (event["runs"], event["failures"], event["last_executed"]) == (0, 0, None)
    assert len(event["next_executions"]) == 10
    assert event["next_executions"] == sorted(set(event["next_executions"]))
    assert event["next_execution"] == event["next_executions"][0]
    assert event["created_at"].endswith("Z")
    assert response.headers["etag"] == '"1"'


def test_a_time_in_milliseconds_is_shown_as_a_time(api, name):
    api.post("/events", json={"id": name, "at": 1798761600000})
    event = api.get(f"/events/{name}").json()
    assert event["at"] == event["next_execution"] == "2027-01-01T00:00:00.000Z"


def test_max_runs_bounds_the_next_executions(api, name):
    api.post("/events", json={"id": name, "every": "1h", "max_runs": 3})
    assert len(api.get(f"/events/{name}").json()["next_executions"]) == 3


def test_a_paused_event_has_no_next_execution(api, name):
    api.post("/events", json={"id": name, "every": "1h"})
    api.post(f"/events/{name}/pause")
    event = api.get(f"/events/{name}").json()
    assert (event["status"], event["next_execution"], event["next_executions"]) == ("PAUSED", None, [])


def test_an_unknown_event_is_404(api, name):
    is_problem(api.get(f"/events/{name}"), 404, outcome="NOT_FOUND")
    is_problem(api.get(f"/events/{name}", params={"key": "k"}), 404)
    is_problem(api.get(f"/events/{name}", params={"tenant": "somebody"}), 404)


def test_several_events_with_one_id_are_told_apart_by_key(api, name):
    for key in ("red", "green", "blue"):
        api.post("/events", json={"id": name, "key": key, "in": "1h", "payload": key})
    problem = is_problem(api.get(f"/events/{name}"), 409)
    assert problem["keys"] == ["blue", "green", "red"]
    assert api.get(f"/events/{name}", params={"key": "green"}).json()["payload"] == "green"
    is_problem(api.delete(f"/events/{name}"), 409)
    assert api.delete(f"/events/{name}", params={"key": "red"}).json()["outcome"] == "CANCELLED"


def test_without_a_key_every_partition_is_asked(api, name):
    for number in range(6):
        api.post("/events", json={"id": f"{name}-{number}", "key": f"entity-{number}", "in": "1h"})
        assert api.get(f"/events/{name}-{number}").json()["key"] == f"entity-{number}"


@pytest.mark.parametrize("odd", ["a/b", "ä ö ü", "50%", "a%2Fb", "x?y#z", "..a", "/", "日本", "a+b&c=d", "'\"<>"])
def test_an_id_may_hold_any_printable_character(api, name, odd):
    id = f"{name}{odd}"
    assert api.post("/events", json={"id": id, "in": "1h"}).status_code == 201
    path = "/events/" + "".join(f"%{byte:02X}" for byte in id.encode())
    assert api.get(path).json()["id"] == id
    assert api.get(f"{path}/explain").json()["id"] == id
    assert api.delete(path).json()["id"] == id


@pytest.mark.parametrize(
    "path",
    [
        *("/events/%00", "/events/a%00b", "/events/%FF%FE", "/events/%1F", "/events/" + "x" * 500, "/events/%E2%80%A8"),
        *(
            "/events/x?tenant=%00",
            "/events/x?key=%00",
            "/events/x?tenant=UPPER",
            "/events/x?foo=1",
            "/events/x?key=%FF",
        ),
        *("/events/x/runs?cursor=%00", "/events/x/runs?limit=0", "/events/x/explain?key=%0A"),
    ],
)
def test_odd_characters_are_refused_not_a_server_error(api, path):
    response = api.get(path)
    assert response.status_code in {400, 404}
    is_problem(response, response.status_code)


# lists


def ids(page):
    return [event["id"] for event in page["events"]]


@pytest.fixture
def listed(api, name):
    """Twelve events of a tenant of their own, over all partitions."""
    events = [
        {
            "id": f"job-{number:02d}",
            "at": f"2027-01-{number + 1:02d}T00:00:00Z",
            "type": "even" if number % 2 == 0 else "odd",
            "labels": {"third": str(number % 3), "all": "yes"},
        }
        for number in range(12)
    ]
    assert api.post("/events", json=events, params={"tenant": name}).status_code == 201
    api.post("/events/job-03/pause", params={"tenant": name})
    api.delete("/events/job-04", params={"tenant": name})

    def get(**parameters):
        response = api.get("/events", params={"tenant": name, **parameters})
        assert response.status_code == 200, response.text
        return response.json()

    return get


def test_a_list_is_in_the_order_of_the_ids_over_all_partitions(listed):
    page = listed()
    assert ids(page) == [f"job-{number:02d}" for number in range(12)]
    assert page["cursor"] is None
    assert page["events"][0]["schedule_text"] == "once at 2027-01-01 00:00:00 UTC"


@pytest.mark.parametrize("limit", [1, 5, 6, 11, 12, 13])
def test_pages_follow_each_other_without_gap_or_repetition(listed, limit):
    found, cursor = [], None
    while True:
        page = listed(limit=limit, **({"cursor": cursor} if cursor else {}))
        assert len(page["events"]) <= limit
        found += ids(page)
        cursor = page["cursor"]
        if cursor is None:
            break
    assert found == [f"job-{number:02d}" for number in range(12)]


def test_a_cursor_stays_good_while_events_come_and_go(api, listed, name):
    page = listed(limit=4)
    api.post("/events", json=[{"id": "job-02x", "in": "1h"}, {"id": "job-05x", "in": "1h"}], params={"tenant": name})
    rest = listed(cursor=page["cursor"])
    assert ids(rest) == ["job-04", "job-05", "job-05x", *(f"job-{number:02d}" for number in range(6, 12))]


@pytest.mark.parametrize(
    ("parameters", "numbers"),
    [
        ({"status": "PAUSED"}, [3]),
        ({"status": ["PAUSED", "CANCELLED"]}, [3, 4]),
        ({"type": "odd"}, [1, 3, 5, 7, 9, 11]),
        ({"label": "third=0"}, [0, 3, 6, 9]),
        ({"label": ["third=0", "all=yes"], "type": "even"}, [0, 6]),
        ({"label": "third=9"}, []),
        ({"prefix": "job-1"}, [10, 11]),
        ({"due_from": "2027-01-11T00:00:00Z"}, [10, 11]),
        ({"due_to": "2027-01-03T00:00:00Z"}, [0, 1]),
        ({"due_from": "2027-01-02T00:00:00Z", "due_to": "2027-01-04T00:00:00Z"}, [1, 2]),
    ],
)
def test_a_list_can_be_narrowed_down(listed, parameters, numbers):
    assert ids(listed(**parameters)) == [f"job-{number:02d}" for number in numbers]


def test_a_prefix_is_of_the_id_whatever_the_key(api, listed, name):
    keyed = [{"id": "job-1x", "key": "a"}, {"id": "other", "key": "job-1"}, {"id": "job-1y", "key": "job-1y"}]
    api.post("/events", json=[event | {"in": "1h"} for event in keyed], params={"tenant": name})
    found, cursor = [], {}
    while cursor is not None:
        page = listed(prefix="job-1", limit=2, **cursor)
        found += ids(page)
        cursor = page["cursor"] and {"cursor": page["cursor"]}
    assert found == ["job-1x", "job-10", "job-11", "job-1y"]


def test_a_list_is_of_one_tenant_unless_all_are_asked_for(api, listed, name):
    assert ids(listed(tenant="nobody-has-this")) == []
    tenants, cursor = set(), {}
    while cursor is not None:  # a page ends where enough was looked at, and other tests have left many events
        asked = {"tenant": "*", "prefix": "job-0", "limit": 1000, "type": "odd", **cursor}
        page = api.get("/events", params=asked).json()
        tenants |= {event["tenant"] for event in page["events"]}
        cursor = page["cursor"] and {"cursor": page["cursor"]}
    assert name in tenants


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        *(({"limit": limit}, "limit") for limit in ("0", "1001", "x", "-1", "1e3", "9" * 5000)),
        *(({"cursor": cursor}, "cursor") for cursor in ("", "x", "eAAAA", "r", "e\0", "ekgE", "e" * 30_000, "eé")),
        ({"status": "HAPPY"}, "status"),
        ({"due_from": "soon"}, "due_from"),
        ({"due_to": "2027-01-01"}, "due_to"),
        ({"label": "red"}, "label"),
        ({"tenant": "NOT OK"}, "tenant"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(api, parameters, field):
    assert fields_of(is_problem(api.get("/events", params=parameters), 400)) == {field}


def test_what_is_wrong_with_a_request_is_said_in_words(api):
    assert is_problem(api.get("/events", params={"status": "HAPPY"}), 400)["detail"].startswith(
        "status: is not a known value: use 'NOT_STARTED', 'CLAIMED'"
    )
    wrong = is_problem(api.post("/events/bulk", json={"action": "explode", "colour": "red"}), 400)["errors"]
    assert {error["field"]: error["message"] for error in wrong} == {
        "action": "is not a known value: use 'cancel', 'pause', 'resume' or 'trigger'",
        "filter": "is missing: give it",
        "colour": "is not a known field: remove it or check the spelling",
    }
    assert (
        "a partition and an offset, as in `0-17`" in is_problem(api.post("/dead-letters/none/redrive"), 400)["detail"]
    )
    assert is_problem(api.post("/events", content="{"), 400)["detail"] == (
        "The event is not valid JSON (it is empty, or ends too early): send one JSON object"
    )


def test_a_list_shows_payloads_byte_for_byte_wherever_they_live(api, name):
    for n in range(9):
        api.post("/events", content=f'{{"id":"{n}","tenant":"{name}","in":"1h","payload":[1.10,1E400,  {"7" * 5000}]}}')
    listed = api.get("/events", params={"tenant": name})
    assert listed.status_code == 200, listed.text
    assert listed.text.count(f'"payload":[1.10,1E400,  {"7" * 5000}]') == 9
    assert api.get("/tasks", params={"user_id": name}).json()["tasks"][0]["task_status"] == "NOT_STARTED"
