"""Is a line of a crontab read as cron reads it?"""

import subprocess

import pytest

from lightsched.client import Invalid
from lightsched_files.converters import crontab, system_crontab
from lightsched_files.converting import EventLine, Problem, Source


def events(text, converter=crontab, name="ada", **options):
    found = list(converter(text.splitlines(), Source(name, 0, {"timezone": "UTC", **options})))
    assert [each for each in found if isinstance(each, Problem)] == []
    return [each.fields for each in found]


def problem(text, converter=crontab, **options):
    (found,) = converter(text.splitlines(), Source("ada", 0, {"timezone": "UTC", **options}))
    assert isinstance(found, Problem), found
    return found


def test_a_line_becomes_a_command_on_its_schedule():
    (event,) = events("# backups\n\n  30 2 * * mon-fri\t/usr/bin/backup --all  # not a comment\n")
    assert event["cron"] == "30 2 * * mon-fri"
    assert event["timezone"] == "UTC"
    assert event["type"] == "command.run"
    assert event["catch_up"] == "none"
    assert event["payload"] == {
        "argv": ["/bin/sh", "-c", "/usr/bin/backup --all  # not a comment"],
        "env": {"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"},
    }


def test_a_system_crontab_names_the_user():
    (event,) = events("17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly", system_crontab)
    assert event["payload"]["argv"][-1] == "cd / && run-parts --report /etc/cron.hourly"
    assert event["payload"]["env"]["LOGNAME"] == "root"
    assert event["headers"] == {"user": "root"}
    assert event["labels"] == {"source": "ada", "user": "root"}


def test_settings_hold_for_the_lines_that_follow():
    first, second, third = events(
        "@daily a\nSHELL=/bin/bash\nPATH = /opt/bin:/bin\nMAILTO=\"\"\n'odd name'=' padded '\nX=$HOME/x \n"
        "@daily b\nX=other\n@daily c"
    )
    assert first["payload"]["env"] == {"SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    assert second["payload"]["argv"][0] == "/bin/bash"
    assert second["payload"]["env"] == {
        "SHELL": "/bin/bash",
        "PATH": "/opt/bin:/bin",
        "MAILTO": "",
        "odd name": " padded ",
        "X": "$HOME/x",  # cron expands nothing
    }
    assert third["payload"]["env"]["X"] == "other"


def test_an_equals_sign_in_a_command_is_no_setting():
    (event,) = events("*/5 * * * * A=1 run")
    assert event["payload"]["argv"][-1] == "A=1 run"


@pytest.mark.parametrize(
    ("command", "script", "standard_input"),
    [
        ("mail -s hi ada%Dear Ada,%%Bye", "mail -s hi ada", "Dear Ada,\n\nBye\n"),
        (r"date +\%d%x\%y", "date +%d", "x%y\n"),
        (r"cat%a\b\\%c", "cat", "a\\b\\%c\n"),
        (r"echo a\b", r"echo a\b", None),
        (r"echo a\\b", r"echo a\b", None),
        ("cat%", "cat", None),
        ("%only", "", "only\n"),
    ],
)
def test_a_percent_sign_ends_the_command_and_begins_its_input(command, script, standard_input):
    (event,) = events(f"@daily {command}")
    assert event["payload"]["argv"][-1] == script
    assert event["payload"].get("stdin") == standard_input


def test_cronie_leaves_double_backslashes_alone():
    (event,) = events(r"@daily echo a\\b\%", dialect="cronie")
    assert event["payload"]["argv"][-1] == r"echo a\\b%"


def test_the_command_does_what_it_did_under_cron():
    (event,) = events('GREETING=hello\n@daily echo "$GREETING $(cat)" | tr a-z A-Z%my%friend')
    payload = event["payload"]
    done = subprocess.run(payload["argv"], env=payload["env"], input=payload["stdin"], stdout=-1, text=True, check=True)
    assert done.stdout == "HELLO MY\nFRIEND\n"


def test_cron_tz_and_random_delay_are_cronies():
    text = "CRON_TZ=Asia/Tokyo\nRANDOM_DELAY=45\n@daily a"
    (event,) = events(text, dialect="cronie")
    assert (event["timezone"], event["jitter"]) == ("Asia/Tokyo", "45m")
    assert "dialect: cronie" in problem("CRON_TZ=Asia/Tokyo").message
    (event,) = events(text, accept=["CRON_TZ", "RANDOM_DELAY"])
    assert event["timezone"] == "UTC"
    assert "jitter" not in event


def test_tz_is_for_the_command_and_not_for_the_schedule():
    (event,) = events("TZ=Asia/Tokyo\n@daily a")
    assert event["timezone"] == "UTC"
    assert event["payload"]["env"]["TZ"] == "Asia/Tokyo"


def test_a_random_range_is_chosen_once_and_for_all():
    first, second = (events("0~59 ~ 1~7 * 1,3~5 a")[0]["cron"] for _ in range(2))
    assert first == second
    minute, hour, day, month, weekday = first.split()
    assert minute.isdigit()
    assert 0 <= int(hour) <= 23
    assert 1 <= int(day) <= 7
    assert month == "*"
    assert weekday in {"1,3", "1,4", "1,5"}
    drawn = {events(f"~ * * * * job {number}")[0]["cron"] for number in range(50)}
    assert len(drawn) > 25


def test_ids_hold_when_schedules_settings_and_other_lines_change():
    before = events("0 4 * * * backup\n0 16 * * * backup\n0 5 * * * clean")
    after = events("MAILTO=x\n# moved\n0 5 * * * clean\n1 4 * * * backup\n1 16 * * * backup")
    assert {event["id"] for event in before} == {event["id"] for event in after}
    assert len({event["id"] for event in before}) == 3
    other = events("0 4 * * * backup", name="bob")
    assert other[0]["id"] != before[0]["id"]
    assert all(event["id"].startswith("ada:") for event in before)


def test_options_add_fields_to_every_event():
    (event,) = events(
        "@daily a", prefix="web1/", event={"topics": ["web1"], "labels": {"team": "ops"}, "catch_up": "latest"}
    )
    assert event["id"].startswith("web1/ada:")
    assert event["topics"] == ["web1"]
    assert event["labels"] == {"source": "ada", "team": "ops"}
    assert event["catch_up"] == "latest"


def test_without_a_timezone_it_is_the_machines(monkeypatch):
    monkeypatch.setenv("TZ", ":Europe/Paris")
    (found,) = crontab(["@daily a"], Source("ada", 0))
    assert found.fields["timezone"] == "Europe/Paris"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("@reboot start", "@reboot has no equivalent"),
        ("* * * * *", "neither `NAME=value` nor a schedule"),
        ("1 5 cron.daily nice run-parts /etc/cron.daily", "anacrontab"),
        ("@daily first \\", "cron joins no lines"),
        ("@daily root clean", "`system_crontab`"),
        ("0~59/10 * * * * a", "choose it, as in 7-59/10"),
        ('A="b" c', "neither `NAME=value` nor a schedule"),
    ],
)
def test_what_has_no_equivalent_is_said_with_its_line(line, words):
    found = problem(f"# one\n# two\n{line}\n")
    assert found.line == 3
    assert words in found.message


@pytest.mark.parametrize(
    ("line", "words"),
    [("@daily /bin/x", "'/bin/x' is no user name"), ("@daily root", "no command"), ("0 0 * * * 7up x", "no user name")],
)
def test_a_system_crontab_needs_user_and_command(line, words):
    assert words in problem(line, system_crontab).message


def test_reboot_lines_may_be_left_out():
    assert events("@reboot start", accept=["@reboot"]) == []


def test_a_wrong_option_is_named():
    with pytest.raises(Invalid, match=r"unknown field `colour`.*Known are .*dialect"):
        list(crontab(["@daily a"], Source("ada", 0, {"colour": "red"})))


def test_it_runs_on_the_scheduler(scheduler):
    for event in events("30 2 * * mon cleanup\n*/20 0 * * * poll%now", prefix="box/"):
        scheduler.schedule(event)
    scheduler.advance("3h")
    delivered = [(each.delivered_at.strftime("%H:%M"), each.payload) for each in scheduler.deliveries()]
    assert [(at, payload["argv"][-1], payload.get("stdin")) for at, payload in delivered] == [
        ("00:20", "poll", "now\n"),
        ("00:40", "poll", "now\n"),
        ("02:30", "cleanup", None),
    ]


def test_every_line_is_an_event_line():
    (found,) = crontab(["", "@daily a"], Source("ada", 0, {"timezone": "UTC"}))
    assert isinstance(found, EventLine)
    assert found.line == 2
