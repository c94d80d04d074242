"""Do assertions fail when they should, and do they say why?"""

import pytest

from lightsched.testing import CommandRefused, NoSuchEvent


@pytest.fixture
def tea(scheduler):
    """One delivery, of `tea` at 00:05; `cake` comes at 00:40."""
    scheduler.schedule(id="tea", type="kitchen.timer", in_="5m", payload={"say": "ready"}, topics=["kitchen"])
    scheduler.schedule(id="cake", type="kitchen.timer", in_="40m", key="oven")
    scheduler.advance("10m")
    return scheduler


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"times": 1},
        {"type": "kitchen.timer"},
        {"id": "tea", "key": "tea", "tenant": "default", "topic": "kitchen", "attempt": 1},
        {"at": "2026-01-05T00:05:00Z"},
        {"after": "2026-01-05T00:04:59.999Z"},
        {"payload": {"say": "ready"}},
        {"id": "cake", "times": 0},
    ],
)
def test_what_happened_is_confirmed(tea, wanted):
    found = tea.assert_delivered(**wanted)
    assert [delivery.id for delivery in found] == ["tea"] * wanted.get("times", 1)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"times": 0}, "expected a delivery never, but it happened once"),
        ({"times": 3}, "expected a delivery 3 times, but it happened once"),
        ({"type": "mail"}, "expected a delivery with type='mail' at least once, but it happened never"),
        ({"id": "cake"}, "(another id)"),
        ({"key": "oven"}, "(another key)"),
        ({"tenant": "acme", "topic": "garden"}, "(another tenant, topic)"),
        ({"attempt": 2}, "(another attempt)"),
        ({"at": "2026-01-05T00:05:00.001Z"}, "(another at)"),
        ({"after": "2026-01-05T00:05:00Z"}, "(another after)"),
        ({"payload": None}, "(another payload)"),
        ({"payload": {"say": "ready", "more": 1}}, '2026-01-05T00:05:00.000Z kitchen.timer id=\'tea\' {"say":"ready"}'),
        ({"id": "cake"}, "2026-01-05T00:40:00.000Z kitchen.timer id='cake' (once at"),
        ({"id": "cake"}, "It is 2026-01-05T00:10:00.000Z."),
    ],
)
def test_what_did_not_happen_is_told(tea, wanted, said):
    with pytest.raises(AssertionError) as failed:
        tea.assert_delivered(**wanted)
    assert said in str(failed.value)


def test_nothing_delivered(tea):
    tea.assert_nothing_delivered(id="cake")
    tea.assert_nothing_delivered(after="2026-01-05T00:05:00Z")
    with pytest.raises(AssertionError, match="never, but it happened once"):
        tea.assert_nothing_delivered(id="tea")
    with pytest.raises(AssertionError):
        tea.assert_nothing_delivered()


def test_where_nothing_is_there_that_is_said(scheduler):
    with pytest.raises(AssertionError, match="Delivered so far:\n  nothing\nStill to come:\n  nothing"):
        scheduler.assert_delivered()


def test_only_the_last_of_many_are_shown(scheduler):
    scheduler.schedule(every="1m")
    scheduler.advance("50m")
    with pytest.raises(AssertionError) as failed:
        scheduler.assert_delivered(type="other")
    assert "… 30 before these" in str(failed.value)
    assert str(failed.value).count("another type") == 20


def test_a_wrong_status_comes_with_the_story(tea):
    tea.assert_status("tea", "SUCCESS")
    with pytest.raises(AssertionError, match=r"expected 'tea' to be PAUSED, but it is SUCCESS(.|\n)*was delivered"):
        tea.assert_status("tea", "PAUSED")
    with pytest.raises(ValueError, match="'SUCESS' is not a valid Status"):
        tea.assert_status("tea", "SUCESS")


def test_a_filter_that_does_not_exist_is_no_filter(tea):
    with pytest.raises(TypeError, match="a delivery has no 'typ': ask for type, id"):
        tea.assert_nothing_delivered(typ="kitchen.timer")


def test_an_event_that_is_not_there_is_named(tea):
    for ask in (tea.get, tea.runs, tea.explain):
        with pytest.raises(NoSuchEvent, match=r"has no event 'coffee'.*'cake', 'tea'"):
            ask("coffee")
    with pytest.raises(CommandRefused, match="NOT_FOUND 'coffee'"):
        tea.cancel("coffee")
