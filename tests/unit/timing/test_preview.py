import pytest

from lightsched.timing import At, Cron, Every, FireTime, Plan, Window, preview, zone
from tests.unit.timing.oracle import ms

PARIS = zone("Europe/Paris")
FORWARD = "clock went forward since the one before"
BACK = "clock went back since the one before"


def notes(plan: Plan, from_: str, n: int) -> list[tuple[str, str]]:
    return [(time.local[5:16], time.note) for time in preview(plan, PARIS, ms(from_), n)]


def test_a_fire_time_is_shown_in_utc_and_in_local_time():
    plan = Plan(Cron.parse("30 9 * * *", "Europe/Paris"))
    assert preview(plan, PARIS, ms("2026-11-16T00:00:00Z"), 1) == [
        FireTime("2026-11-16T08:30:00.000Z", "2026-11-16T09:30:00.000+01:00", "")
    ]


def test_a_skipped_time_says_that_it_was_moved():
    plan = Plan(Cron.parse("30 2 * * *", "Europe/Paris"))
    assert notes(plan, "2026-03-28T00:00:00Z", 3) == [
        ("03-28T02:30", ""),
        ("03-29T03:00", "moved out of the skipped hour (clock goes forward)"),
        ("03-30T02:30", ""),
    ]


def test_a_repeated_time_says_that_it_fires_once():
    plan = Plan(Cron.parse("30 2 * * *", "Europe/Paris"))
    assert notes(plan, "2026-10-24T12:00:00Z", 2) == [
        ("10-25T02:30", "clock goes back: fires once"),
        ("10-26T02:30", ""),
    ]


def test_a_rhythm_says_that_the_hour_comes_twice():
    plan = Plan(Cron.parse("30 * * * *", "Europe/Paris"))
    assert notes(plan, "2026-10-24T23:00:00Z", 4) == [
        ("10-25T01:30", ""),
        ("10-25T02:30", "clock goes back: this hour comes twice"),
        ("10-25T02:30", "clock goes back: this hour comes twice"),
        ("10-25T03:30", ""),
    ]


@pytest.mark.parametrize("cron", ["0 * * * *", "0 */1 * * *"])
def test_a_rhythm_right_after_the_gap_was_not_moved_and_says_that_the_clock_went_forward(cron):
    plan = Plan(Cron.parse(cron, "Europe/Paris"))
    assert notes(plan, "2026-03-29T00:00:00Z", 3) == [
        ("03-29T01:00", ""),
        ("03-29T03:00", FORWARD),
        ("03-29T04:00", ""),
    ]


def test_a_rhythm_that_no_time_was_skipped_of_says_nothing():
    plan = Plan(Cron.parse("*/30 9 * * *", "Europe/Paris"))
    assert {note for _, note in notes(plan, "2026-03-28T00:00:00Z", 6)} == {""}


def test_elapsed_time_says_where_the_clock_went_forward_or_back():
    halves = Plan(Every(30 * 60_000, ms("2026-03-29T00:00:00Z"), from_anchor=True))
    shown = [("03-29T01:30", ""), ("03-29T03:00", FORWARD), ("03-29T03:30", "")]
    assert notes(halves, "2026-03-29T00:30:00Z", 3) == shown
    days = Plan(Every(24 * 3600_000, ms("2026-03-27T09:00:00+01:00"), from_anchor=True))
    shown = [("03-28T09:00", ""), ("03-29T10:00", FORWARD), ("03-30T10:00", "")]
    assert notes(days, "2026-03-28T00:00:00Z", 3) == shown
    shown = [("10-24T10:00", ""), ("10-25T09:00", BACK), ("10-26T09:00", "")]
    assert notes(days, "2026-10-24T00:00:00Z", 3) == shown
    hours = Plan(Every(3600_000, ms("2026-10-24T00:00:00Z")))
    twice = "clock goes back: this hour comes twice"
    assert notes(hours, "2026-10-24T23:00:00Z", 4) == [
        ("10-25T01:00", ""),
        ("10-25T02:00", twice),
        ("10-25T02:00", twice),
        ("10-25T03:00", ""),
    ]


def test_what_the_window_moved_says_so():
    window = Window.parse("09:00", "17:00", None, "Europe/Paris")
    plan = Plan(Every(6 * 3600_000, ms("2026-11-16T00:00:00+01:00"), from_anchor=True), window=window)
    assert notes(plan, "2026-11-15T23:00:00Z", 3) == [
        ("11-16T09:00", "moved to the window's opening"),
        ("11-16T12:00", ""),
        ("11-17T09:00", "moved to the window's opening"),
    ]


def test_what_ends_is_shown_to_its_end():
    assert len(preview(Plan(At(1_000)), PARIS, 0, 10)) == 1
    assert preview(Plan(At(1_000)), PARIS, 2_000, 10) == []
