"""Is the work bounded, whatever was asked for? Counted in function calls, which no machine does faster."""

from datetime import date, timedelta

import pytest

from lightsched.timing import LAST_MS, Cron, Every, Plan, TimingError, Window, catch_up, preview, zone
from lightsched.timing.cron import Cron as CronClass
from tests.unit.timing.oracle import calls_of, ms

NOW = ms("2026-11-16T12:00:00Z")
YEAR_MS = 365 * 86_400_000
NEW_YORK = zone("America/New_York")

PATHOLOGICAL = [
    "* * * * * *",
    "59 59 23 31 12 *",
    "* * 29 2 *",
    "0 0 29 2 *",
    "0 0 */31,29 2 mon#5",  # 29 February, if a Monday
    "* * */31,29 2 mon#5",
    "* 2 8-14 3 */7",  # always skipped
    "*/59 */23 */30 */11 */6",
    ",".join(map(str, range(60))) + " " + ",".join(map(str, range(24))) + " * * *",
]


@pytest.mark.parametrize("expression", PATHOLOGICAL)
def test_a_question_to_a_fresh_cron_ends_soon(expression):
    def ask() -> None:
        cron = CronClass(expression, NEW_YORK)
        cron.after(NOW)
        cron.before(NOW)
        cron.count(NOW - 10 * YEAR_MS, NOW)

    assert calls_of(ask) < 200_000


@pytest.mark.parametrize("expression", PATHOLOGICAL)
def test_an_answer_that_is_known_costs_next_to_nothing(expression):
    cron = Cron.parse(expression, "America/New_York")
    cron.after(NOW)
    cron.before(NOW)
    assert calls_of(lambda: cron.after(NOW)) <= 3
    assert calls_of(lambda: cron.before(NOW)) <= 3


@pytest.mark.parametrize("expression", ["*/5 * * * *", "30 9 * * mon-fri", "0 0 L * *", "15 30 2 * * *"])
def test_the_next_fire_time_of_a_usual_cron_costs_some_dozen_calls(expression):
    cron = Cron.parse(expression, "America/New_York")
    first = cron.after(NOW)
    second = cron.after(first)
    cron.after(NOW)  # the zone and the months are known by now, the answer is not remembered
    assert calls_of(lambda: cron.after(first)) < 60
    assert cron.after(first) == second


def test_a_window_with_a_thousand_exclusions_is_searched_once():
    monday = date(2026, 11, 16)
    exclude = [(monday + timedelta(weeks=n)).isoformat() for n in range(1000)]
    window = Window.parse("09:00", "17:00", ["mon"], "America/New_York", exclude)
    assert calls_of(lambda: window.open_at(NOW)) < 50_000
    assert window.open_at(NOW) == ms("2046-01-15T09:00:00-05:00")
    assert window.last_open_before(window.open_at(NOW) - 1) == ms("2026-11-09T17:00:00-05:00") - 1
    assert calls_of(lambda: window.open_at(NOW + 5 * YEAR_MS)) <= 6
    assert calls_of(lambda: window.last_open_before(NOW + 5 * YEAR_MS)) <= 6


def test_a_plan_that_is_closed_for_years_is_answered_without_walking_through_them():
    exclude = [(date(2026, 11, 16) + timedelta(weeks=n)).isoformat() for n in range(1000)]
    window = Window.parse("09:00", "17:00", ["mon"], "UTC", exclude)
    for recurrence in (Every(1, 0), Cron.parse("* * * * * *")):
        plan = Plan(recurrence, window=window)
        plan.after(NOW)
        opening = ms("2046-01-15T09:00:00Z")
        assert plan.after(NOW + 10 * YEAR_MS) == opening
        assert calls_of(lambda plan=plan: plan.after(NOW + 11 * YEAR_MS)) < 60
        assert calls_of(lambda plan=plan: plan.latest(NOW + 11 * YEAR_MS)) < 60


@pytest.mark.parametrize("policy", ["latest", "all", "none"])
@pytest.mark.parametrize(
    "plan",
    [
        Plan(Every(250, 0)),
        Plan(Every(1, 0)),
        Plan(Every(250, 0), window=Window.parse("09:00", "09:01", ["mon"], "America/New_York")),
        Plan(Cron.parse("* * * * * *", "America/New_York")),
        Plan(Cron.parse("0 0 1 1 *", "America/New_York")),
        Plan(Cron.parse("0 0 * * *", "America/New_York"), window=Window.parse("09:00", "09:01")),
    ],
)
def test_catching_up_over_ten_years_ends_soon(plan, policy):
    due_ms = plan.after(NOW - 10 * YEAR_MS)

    def late() -> object:
        return catch_up(plan, due_ms, NOW - 60_000, NOW, policy, 10 * YEAR_MS)

    assert calls_of(late) < 100_000


def test_a_preview_at_the_end_of_time_ends():
    plan = Plan(Cron.parse("* * * * * *"), window=Window.parse("09:00", "17:00", ["mon"]))
    assert preview(plan, NEW_YORK, LAST_MS - 1_000, 1_000) == []


@pytest.mark.parametrize("expression", ["0 0 31 2,4,6,9,11 *", "0 0 30,31 2 *"])
def test_that_a_cron_never_fires_is_known_soon_and_remembered(expression):
    def ask() -> None:
        with pytest.raises(TimingError, match="never fires"):
            Cron.parse(expression, "UTC")

    assert calls_of(ask) < 12_000
    assert calls_of(ask) < 100


def test_a_zone_that_is_not_known_is_looked_for_once():
    def ask() -> None:
        with pytest.raises(TimingError, match="did you mean Europe/Paris"):
            zone("Europe/Pariss")

    ask()
    assert calls_of(ask) < 100


def test_what_was_missed_in_years_of_windows_is_counted_soon():
    window = Window.parse(from_="09:00", to="17:00", days=None, timezone="Europe/Paris", exclude=())
    plan = Plan(Cron.parse("30 9 * * *", "Europe/Paris"), window)
    first = plan.after(NOW - 900 * 86_400_000)
    assert first is not None
    counted = []
    assert calls_of(lambda: counted.append(plan.count(first, NOW, 1_000))) < 60_000
    assert counted == [900]
