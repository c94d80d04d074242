from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.api.conftest import ON_BOTH_LOGS, eventually, fields_of, is_problem

pytestmark = ON_BOTH_LOGS


@pytest.fixture
def event(api, name):
    """On any partition, so on any node."""
    sent = {
        "id": name,
        "key": f"entity-{name}",
        "cron": "30 9 * * *",
        "labels": {"team": "blue", "size": "s"},
        "payload": {"a": {"b": 1.50, "c": [1, 2]}, "d": "x"},
    }
    assert api.post("/events", json=sent).status_code == 201
    return sent


def test_a_patch_changes_what_it_names_and_nothing_else(api, name, event):
    patch = {"labels": {"team": None, "size": "m"}, "payload": {"a": {"c": None, "e": True}}, "priority": 3}
    response = api.patch(f"/events/{name}", json=patch)
    assert response.status_code == 200, response.text
    assert response.json()["outcome"] == "REPLACED"
    assert response.headers["etag"] == '"2"'
    shown = api.get(f"/events/{name}").json()
    assert shown["labels"] == {"size": "m"}
    assert shown["payload"] == {"a": {"b": 1.50, "e": True}, "d": "x"}
    assert (shown["priority"], shown["cron"], shown["key"], shown["revision"]) == (3, event["cron"], event["key"], 2)


def test_a_patch_that_changes_nothing_is_unchanged(api, name, event):
    response = api.patch(f"/events/{name}", json={"cron": event["cron"]})
    assert (response.status_code, response.json()["outcome"]) == (200, "UNCHANGED")
    assert response.headers["etag"] == '"1"'


@pytest.mark.parametrize("schedule", [{"at": "2027-01-01T00:00:00Z"}, {"in": "1h"}, {"every": "2h"}], ids=str)
def test_another_schedule_takes_the_place_of_the_one_there_is(api, name, event, schedule):
    assert api.patch(f"/events/{name}", json=schedule).json()["outcome"] == "REPLACED"
    shown = api.get(f"/events/{name}").json()
    assert "cron" not in shown
    assert shown["payload"] == event["payload"]


def test_the_reason_of_a_patch_is_no_part_of_the_event(api, name, event):
    assert api.patch(f"/events/{name}", json={"reason": "tidying up"}).json()["outcome"] == "UNCHANGED"


def test_a_patch_is_for_the_revision_it_was_made_for(api, name, event):
    stale, current = ({"If-Match": f'"{revision}"'} for revision in (7, 1))
    is_problem(api.patch(f"/events/{name}", json={"priority": 1}, headers=stale), 412)
    assert api.patch(f"/events/{name}", json={"priority": 1}, headers=current).status_code == 200
    is_problem(api.patch(f"/events/{name}", json={"priority": 2}, headers=current), 412)
    assert api.patch(f"/events/{name}", json={"priority": 2}, headers={"If-Match": "*"}).status_code == 200
    is_problem(api.delete(f"/events/{name}", headers=current), 412)
    assert api.delete(f"/events/{name}", headers={"If-Match": '"3"'}).json()["outcome"] == "CANCELLED"


@pytest.mark.parametrize("odd", ["x", '"', "-1", "1.5", '"1", "2"'])
def test_a_revision_that_is_none_is_refused(api, name, event, odd):
    assert fields_of(is_problem(api.patch(f"/events/{name}", json={}, headers={"If-Match": odd}), 400)) == {"If-Match"}


def test_patches_at_the_same_time_are_all_there_in_the_end(api, name, event):
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda n: api.patch(f"/events/{name}", json={"labels": {f"n{n}": "x"}}), range(4)))
    assert [response.status_code for response in done] == [200] * 4
    labels = api.get(f"/events/{name}").json()["labels"]
    assert {f"n{n}" for n in range(4)} <= set(labels)


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"id": "other"}, "id"),
        ({"tenant": "other"}, "tenant"),
        ({"cron": "nonsense"}, "cron"),
        ({"cron": None}, "at"),
        ({"colour": "red"}, "colour"),
        ({"priority": 77}, "priority"),
        ({"at": "2027-01-01T00:00:00Z", "in": "1h"}, "in"),
    ],
)
def test_a_patch_that_makes_no_sense_is_refused_by_field(api, name, event, patch, field):
    assert fields_of(is_problem(api.patch(f"/events/{name}", json=patch), 400)) == {field}
    assert api.get(f"/events/{name}").json()["revision"] == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"a":' * 5000, b'{"reason": 1}'])
def test_what_is_no_patch_is_refused(api, name, event, body):
    is_problem(api.patch(f"/events/{name}", content=body), 400)


def test_an_event_that_is_not_there_is_404(api, name):
    is_problem(api.patch(f"/events/{name}", json={"priority": 1}), 404, outcome="NOT_FOUND")


def test_what_is_over_is_409(api, name):
    api.post("/events", json={"id": name, "in": "1ms"})
    eventually(lambda: api.get(f"/events/{name}").json()["status"] == "SUCCESS")
    is_problem(api.patch(f"/events/{name}", json={"in": "1h"}), 409, outcome="TOO_LATE")


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"colour": None}, "colour"),
        ({"window": {"form": None}}, "window.form"),
        ({"retry": {"delai": None}}, "retry.delai"),
    ],
    ids=str,
)
def test_a_field_that_is_not_known_cannot_be_removed_either(api, name, event, patch, field):
    problem = is_problem(api.patch(f"/events/{name}", json=patch), 400)
    assert fields_of(problem) == {field}
    assert "is not a known field" in problem["detail"]
