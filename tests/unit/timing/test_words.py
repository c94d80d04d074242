import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import At, Cron, Every, TimingError, Window, describe
from tests.unit.timing.oracle import ms, untimed


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0-59/5 * * * *", "every 5 minutes"),
        ("*/7 * * * *", "at minute 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"),
        ("30 * * * *", "at minute 30 of every hour"),
        ("5,10,20-25 * * * *", "at minute 5, 10 and 20 to 25 of every hour"),
        ("@hourly", "every hour"),
        ("0 */2 * * *", "every 2 hours"),
        ("10 */2 * * *", "at minute 10 of every 2nd hour"),
        ("0 9-17 * * *", "every hour from 09:00 to 17:00"),
        ("30 9 * * mon-fri", "at 09:30 on weekdays"),
        ("*/15 9-17 * * mon-fri", "every 15 minutes from 09:00 to 17:59 on weekdays"),
        ("*/15 9,11,13,15 * * *", "every 15 minutes of hours 9, 11, 13 and 15"),
        ("0 8,12,16 * * *", "at 08:00, 12:00 and 16:00 every day"),
        ("@daily", "at 00:00 every day"),
        ("@weekly", "at 00:00 on Sunday"),
        ("@monthly", "at 00:00 on day 1 of the month"),
        ("@yearly", "at 00:00 on 1 January"),
        ("0 0 25 12 *", "at 00:00 on 25 December"),
        ("0 0 1,15 * *", "at 00:00 on days 1 and 15 of the month"),
        ("0 0 */5 * *", "at 00:00 on every 5th day of the month from the first"),
        ("0 0 L * *", "at 00:00 on the last day of the month"),
        ("0 0 LW 2 *", "at 00:00 on the last weekday of the month in February"),
        ("0 9 * * mon#2", "at 09:00 on the second Monday of the month"),
        ("0 9 * * 5L", "at 09:00 on the last Friday of the month"),
        ("0 0 * * 6,0", "at 00:00 on Saturday and Sunday"),
        ("0 0 * * 5,6,7", "at 00:00 on Friday to Sunday"),
        ("0 0 1 * mon", "at 00:00 on day 1 of the month or on Monday"),
        ("0 0 */2 * mon", "at 00:00 on every 2nd day of the month from the first if that is Monday"),
        ("0 12 * jan-mar,dec *", "at 12:00 in January to March and December"),
        ("0 5 * * 0-7", "at 05:00 every day"),
        ("* * * * * *", "every second"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("*/10 30 9-17 * * *", "every 10 seconds, at minute 30 of hours 9 to 17"),
        ("5 * * * * *", "at second 5, every minute"),
        ("15 30 9 * * *", "at 09:30:15 every day"),
    ],
)
def test_a_cron_reads_as_words(expression, words):
    assert describe(Cron.parse(expression, "Europe/Paris")) == f"{words}, Europe/Paris"


@pytest.mark.parametrize(
    ("interval_ms", "words"),
    [
        (1, "every 1 ms"),
        (250, "every 250 ms"),
        (60_000, "every minute"),
        (300_000, "every 5 minutes"),
        (5_400_000, "every 1 hour 30 minutes"),
        (86_400_000, "every day"),
    ],
)
def test_an_interval_reads_as_words(interval_ms, words):
    assert describe(Every(interval_ms, 0)) == words


def test_a_one_shot_reads_as_words_in_its_zone():
    once = At(ms("2026-11-16T09:00:00Z"))
    assert describe(once) == "once at 2026-11-16 09:00:00 UTC"
    assert describe(once, timezone="Asia/Kolkata") == "once at 2026-11-16 14:30:00 Asia/Kolkata"
    assert describe(At(ms("2026-11-16T09:00:00.250Z"))) == "once at 2026-11-16 09:00:00.250 UTC"
    assert describe(At(ms("9999-12-31T23:59:59Z")), timezone="Asia/Tokyo") == "once at 9999-12-31 23:59:59 UTC"


def test_bounds_follow_the_recurrence():
    words = describe(
        Every(300_000, 0),
        window=Window.parse("09:00", "17:00", ["mon", "tue", "wed", "thu", "fri"], "Europe/Paris"),
        starts_ms=ms("2026-11-16T09:00:00Z"),
        ends_ms=ms("2026-12-16T09:00:00Z"),
        max_runs=5,
        jitter_ms=90_000,
    )
    assert words == (
        "every 5 minutes, in the window 09:00–17:00 on mon–fri Europe/Paris, spread over 1 minute 30 seconds, "
        "from 2026-11-16 09:00:00 UTC, until 2026-12-16 09:00:00 UTC, at most 5 times"
    )


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (Window.parse("22:00", "06:00"), "22:00–06:00 UTC"),
        (Window.parse("18:00"), "18:00–24:00 UTC"),
        (Window.parse(days=["mon", "wed", "thu", "sun"]), "on mon, wed–thu, sun UTC"),
        (Window.parse(exclude=["2026-12-25"]), "of all days except 1 day UTC"),
        (Window.parse("09:00", exclude=["2026-12-25", "2026-12-26"]), "09:00–24:00 except 2 days UTC"),
    ],
)
def test_a_window_reads_as_words(window, words):
    assert describe(Every(60_000, 0), window=window, max_runs=1) == f"every minute, in the window {words}, at most once"


values = st.sampled_from(["*", "0", "1", "5", "*/2", "*/7", "1-5", "2-11/3", "3/4", "1,3,7", "0-2,5", "6"])
days = st.sampled_from(["L", "LW", "1,L", "15,LW", "*/31", "1-31"])
weekdays = st.sampled_from(["mon#1", "5L", "mon,tue#2", "0-7", "sat,sun", "1#1,1#2,5L"])


@untimed
@given(st.tuples(st.none() | values, values, values, values | days, values, values | weekdays))
def test_every_cron_has_words(fields):
    try:
        cron = Cron.parse(" ".join(field for field in fields if field is not None))
    except TimingError:
        return
    words = describe(cron)
    assert words.endswith(", UTC")
    assert words.startswith(("at ", "every "))
    assert "  " not in words
    assert " ," not in words
