"""What does a bulk command answer when a part of it fails?"""

import pytest

from lightsched.api import bulk
from lightsched.log.errors import NotAppended
from tests.api.conftest import is_problem

PAUSE = {"action": "pause", "filter": {}}


@pytest.fixture
async def many(own):
    """Thirty events over three partitions."""
    client, log = own
    await client.post("/events", json=[{"id": f"job-{n:02d}", "every": "1h"} for n in range(30)])
    return client, log


async def test_what_is_not_known_of_one_partition_is_counted_and_the_others_are_done(many, monkeypatch):
    client, log = many
    submit = log.submit

    async def submit_elsewhere(topic, partition, records):
        if partition == 1:
            raise NotAppended(topic=topic, why="a test")
        return await submit(topic, partition, records)

    monkeypatch.setattr(log, "submit", submit_elsewhere)
    response = await client.post("/events/bulk", json=PAUSE)
    assert response.status_code == 200, response.text
    counts = response.json()
    assert counts["matched"] == 30
    assert 0 < counts["unknown"] == 30 - counts["outcomes"]["PAUSED"]


async def test_what_was_done_before_a_page_failed_is_answered_with_a_cursor(many, monkeypatch):
    client, _ = many
    next_page, pages = bulk._next_page, []

    async def fail_at_the_second(*arguments):
        pages.append(arguments)
        if len(pages) == 2:
            raise NotAppended(topic="events", why="a test")
        return await next_page(*arguments)

    monkeypatch.setattr(bulk, "AT_ONCE", 10)
    monkeypatch.setattr(bulk, "_next_page", fail_at_the_second)
    counts = (await client.post("/events/bulk", json=PAUSE)).json()
    assert (counts["matched"], counts["outcomes"]) == (10, {"PAUSED": 10})
    rest = (await client.post("/events/bulk", json=PAUSE | {"cursor": counts["cursor"]})).json()
    assert (rest["matched"], rest["outcomes"], rest["cursor"]) == (20, {"PAUSED": 20}, None)
    pages[:] = pages[:1]
    is_problem(await client.post("/events/bulk", json=PAUSE), 503)
