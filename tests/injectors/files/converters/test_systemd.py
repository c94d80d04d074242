"""Is a timer unit read as systemd reads it?"""

import pytest

from lightsched.client import Invalid
from lightsched_files.converters import systemd_timer
from lightsched_files.converters.time_span import duration, time_span_ms
from lightsched_files.converting import EventLine, Problem, Source


def converted(timer, name="clean.timer", **options):
    text = timer if "[" in timer else f"[Timer]\n{timer}"
    return list(systemd_timer(text.splitlines(), Source(name, 0, {"timezone": "UTC", **options})))


def event(timer, name="clean.timer", **options):
    (found,) = converted(timer, name, **options)
    assert isinstance(found, EventLine), found
    return found.fields


def problem(timer, name="clean.timer", **options):
    (found,) = converted(timer, name, **options)
    assert isinstance(found, Problem), found
    return found


def test_a_timer_starts_its_unit():
    found = event("[Unit]\nDescription=Clean up\n[Timer]\nOnCalendar=Mon..Fri 6:30\n[Install]\nWantedBy=timers.target")
    assert found == {
        "id": "clean.timer",
        "type": "command.run",
        "cron": "30 6 * * mon-fri",
        "timezone": "UTC",
        "catch_up": "none",
        "overlap": "skip",
        "labels": {"source": "clean.timer", "unit": "clean.service", "description": "Clean up"},
        "payload": {"argv": ["systemctl", "start", "clean.service"]},
    }


@pytest.mark.parametrize("name", ["clean", "clean.timer", "clean.systemd-timer", "clean.timer.systemd-timer"])
def test_what_is_started_does_not_depend_on_how_the_file_came(name):
    assert event("OnCalendar=daily", name)["payload"]["argv"] == ["systemctl", "start", "clean.service"]


def test_another_unit_may_be_named():
    assert event("OnCalendar=daily\nUnit=rotate.service")["payload"]["argv"][-1] == "rotate.service"


def test_several_triggers_are_several_events():
    first, second, third = converted("OnCalendar=daily\nOnCalendar=Sat 12:00 Europe/Paris\nOnUnitActiveSec=1h 30min")
    assert [each.line for each in (first, second, third)] == [2, 3, 4]
    assert [each.fields["id"] for each in (first, second, third)] == ["clean.timer", "clean.timer#2", "clean.timer#3"]
    assert second.fields["timezone"] == "Europe/Paris"
    assert third.fields["every"] == "90m"


def test_an_empty_trigger_takes_back_those_before():
    assert event("OnCalendar=hourly\nOnBootSec=1min\nOnCalendar=\nOnCalendar=daily")["cron"] == "0 0 * * *"


def test_persistent_catches_up_with_the_latest_however_old():
    found = event("OnCalendar=daily\nPersistent=true")
    assert (found["catch_up"], found["look_back"]) == ("latest", "10y")


def test_a_random_delay_is_jitter():
    assert event("OnCalendar=daily\nRandomizedDelaySec=6000")["jitter"] == "100m"
    assert "jitter" not in event("OnCalendar=daily\nRandomizedDelaySec=0\nFixedRandomDelay=true")


def test_accuracy_loses_nothing():
    assert event("OnCalendar=daily\nAccuracySec=12h\nRemainAfterElapse=no")["cron"] == "0 0 * * *"


def test_a_start_beside_an_interval_only_starts_it_off():
    found = event("OnBootSec=15min\nOnUnitActiveSec=1d")
    assert found["every"] == "1d"
    assert "catch_up" not in found


def test_years_bound_the_recurrence():
    found = event("OnCalendar=2026..2028-01-01")
    assert (found["starts_at"], found["ends_at"]) == ("2026-01-01T00:00:00", "2028-12-31T23:59:59")


@pytest.mark.parametrize(
    ("timer", "line", "words"),
    [
        ("OnBootSec=5min", 2, "OnBootSec=5min has no equivalent"),
        ("OnActiveSec=0", 2, "or schedule it once,"),
        ("OnStartupSec=90", 2, "`in: 90s`"),
        ("OnUnitInactiveSec=10m", 2, "`every: 10m` from one start to the next"),
        ("OnCalendar=daily\nWakeSystem=yes", 3, "WakeSystem=yes has no equivalent"),
        ("OnCalendar=daily\nOnClockChange=true", 3, "OnClockChange=true has no equivalent"),
        ("[Unit]\nConditionACPower=true\n[Timer]\nOnCalendar=daily", 2, "ConditionACPower=true has no equivalent"),
        ("OnCalendar=Fri *-*-13", 2, "OnCalendar=Fri *-*-13: the weekday and the date"),
        ("OnCalendar=sometimes", 2, "'sometimes' is neither a weekday"),
        ("OnCalender=daily", 2, "OnCalender is no setting of a timer"),
        ("OnUnitActiveSec=often", 2, "'often' is no time span"),
        ("[Timer]\nPersistent=true", 1, "has no trigger"),
        ("nonsense", 2, "'nonsense' is no `Name=value`"),
        ("OnCalendar=daily\nRandomizedDelaySec=soon", 1, "'soon' is no time span"),
    ],
)
def test_what_has_no_equivalent_is_said_with_its_line(timer, line, words):
    found = next(each for each in converted(timer) if isinstance(each, Problem))
    assert found.line == line
    assert words in found.message


def test_what_is_accepted_is_left_out_or_taken_as_near_as_it_gets():
    assert event("OnUnitInactiveSec=10m", accept=["OnUnitInactiveSec"])["every"] == "10m"
    assert event("OnCalendar=daily\nWakeSystem=yes", accept=["WakeSystem"])["cron"] == "0 0 * * *"
    assert event("OnCalendar=daily\nOnBootSec=1min", accept=["OnBootSec"])["cron"] == "0 0 * * *"
    assert converted("OnBootSec=1min", accept=["OnBootSec"]) == []


def test_a_template_needs_to_know_its_instances():
    assert "instances" in problem("OnCalendar=daily", "dump@.timer").message
    first, second = converted("OnCalendar=daily", "dump@.timer", instances=["15-main", "16-main"])
    assert first.fields["id"] == "dump@15-main.timer"
    assert second.fields["payload"]["argv"][-1] == "dump@16-main.service"


def test_lines_may_be_continued_and_commented():
    found = event("# a\n; b\n[Timer]\nOnCalendar = Mon \\\n# in between\n  10:00\n")
    assert found["cron"] == "0 10 * * mon"


def test_drop_ins_have_the_last_word(tmp_path):
    (tmp_path / "clean.timer.d").mkdir()
    (tmp_path / "clean.timer.d" / "50-later.conf").write_text("[Timer]\nOnCalendar=\nOnCalendar=weekly\n")
    assert event("OnCalendar=daily", units=[str(tmp_path)])["cron"] == "0 0 * * mon"


def test_a_plain_service_can_run_as_a_command(tmp_path):
    service = tmp_path / "clean.service"
    service.write_text(
        "[Service]\nType=oneshot\nUser=ada\nEnvironment=A=1 'B=two words'\nExecStart=/bin/clean \"a b\" 50%%\n"
    )
    found = event("OnCalendar=daily", units=[str(tmp_path)], run="command")
    assert found["payload"] == {"argv": ["/bin/clean", "a b", "50%"], "env": {"A": "1", "B": "two words"}}
    assert found["headers"] == {"user": "ada"}


@pytest.mark.parametrize(
    ("service", "words"),
    [
        ("ExecStart=/bin/a\nPrivateTmp=true\nNice=5", "Nice, PrivateTmp. Let systemd start it"),
        ("ExecStart=/bin/a\nExecStart=/bin/b", "has 2 commands"),
        ("ExecStart=-/bin/a", "has '-' in its command"),
        ("ExecStart=/bin/a $OPTIONS", "has '$O' in its command"),
        ("ExecStart=/bin/a %i", "has '%i' in its command"),
        ("ExecStart=/bin/a 'b", "cannot be taken apart"),
        (None, "is not in"),
    ],
)
def test_other_services_are_left_to_systemd(tmp_path, service, words):
    if service:
        (tmp_path / "clean.service").write_text(f"[Service]\n{service}\n")
    assert words in problem("OnCalendar=daily", units=[str(tmp_path)], run="command").message


def test_a_command_needs_to_know_where_services_are():
    with pytest.raises(Invalid, match="needs `units`"):
        converted("OnCalendar=daily", run="command")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("90", "90s"),
        ("5h 30min", "330m"),
        ("1d", "1d"),
        ("1.5h", "90m"),
        ("1month", "43830m"),
        ("1w", "7d"),
        ("250ms", "250ms"),
    ],
)
def test_time_spans(text, written):
    assert duration(time_span_ms(text)) == written
