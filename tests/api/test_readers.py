"""Does one reader of a group work at a time, and can others take over?"""

import threading

import httpx

from tests.api.conftest import eventually, is_problem


def poll(api, topic, reader, **more):
    answer = api.get(f"/deliveries/{topic}", params={"group": "g", "reader": reader, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_reader_keeps_its_group_until_it_leaves(api, topic, name):
    for n in range(2):
        api.post("/events", json={"id": f"{name}{n}", "in": "1ms", "topics": [topic]}).raise_for_status()
    eventually(lambda: len(api.get(f"/deliveries/{topic}", params={"group": "look"}).json()["deliveries"]) == 2)
    first = poll(api, topic, "a", max=1)
    assert len(first["deliveries"]) == 1
    assert poll(api, topic, "b")["deliveries"] == []
    assert poll(api, topic, "a", max=0)["deliveries"] == []
    ahead = poll(api, topic, "a", cursor=first["cursor"])
    assert [len(page["deliveries"]) for page in (ahead, poll(api, topic, "a"))] == [1, 2]
    assert api.delete(f"/deliveries/{topic}", params={"group": "g", "reader": "a"}).status_code == 204
    assert len(poll(api, topic, "b")["deliveries"]) == 2
    assert poll(api, topic, "a")["deliveries"] == []
    is_problem(api.get(f"/deliveries/{topic}", params={"group": "g", "reader": "not a name"}), 400)


def test_one_whose_connection_breaks_is_gone_at_once(server, api, topic, name):
    with httpx.Client(base_url=f"{server}/api/v1", timeout=1) as dying:
        polling = threading.Thread(target=_poll_and_break, args=(dying, topic))
        polling.start()
        polling.join()
    api.post("/events", json={"id": name, "in": "1ms", "topics": [topic]}).raise_for_status()
    assert len(poll(api, topic, "b", wait="5s")["deliveries"]) == 1


def _poll_and_break(client, topic):
    try:
        poll(client, topic, "a", wait="60s")
    except httpx.ReadTimeout:
        return


def test_many_reports_are_answered_one_by_one(api, topic, name):
    for n in range(3):
        event = {"id": f"{name}{n}", "in": "1ms", "topics": [topic], "track": True, "timeout": "90s"}
        api.post("/events", json=event).raise_for_status()
    look = {"params": {"group": "g"}}
    found = eventually(lambda: len(d := api.get(f"/deliveries/{topic}", **look).json()["deliveries"]) == 3 and d)
    assert {each["timeout"] for each in found} == {"1m30s"}
    reports = [{"delivery": each["delivery"], "token": each["token"], "status": "SUCCESS"} for each in found]
    reports[1] |= {"token": "0" * 32}
    many = [*reports, reports[0], {"delivery": "x", "token": "", "status": "SUCCESS"}]
    answer = api.post("/reports", json=many)
    assert answer.status_code == 200
    results = answer.json()["results"]
    assert [result.get("status", 204) for result in results] == [204, 403, 204, 409, 400]
    assert [result.get("reason", "") for result in results] == ["", "forbidden", "", "finished", ""]
    assert "delivery" in results[-1]["error"]
    lines = b"\n".join(httpx.Request("POST", "http://x", json=each).content for each in reports[1:2])
    again = api.post("/reports", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert again.json()["results"][0]["reason"] == "forbidden"
