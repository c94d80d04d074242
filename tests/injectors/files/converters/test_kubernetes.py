"""Is a CronJob read as Kubernetes reads it?"""

import json

import pytest
import yaml

from lightsched_files.converters import kubernetes_cronjob
from lightsched_files.converting import EventLine, Problem, Source

POD = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}}


def manifest(job=None, **spec):
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "backup", "namespace": "ops", "labels": {"team": "blue"}},
        "spec": {"schedule": "30 2 * * *", "jobTemplate": {"spec": {**POD, **(job or {})}}, **spec},
    }


def converted(text, **options):
    return list(kubernetes_cronjob(text.splitlines(), Source("jobs.yml", 0, options)))


def event(job=None, options=None, **spec):
    (found,) = converted(yaml.safe_dump(manifest(job, **spec)), **(options or {}))
    assert isinstance(found, EventLine), found
    return found.fields


def problems(job=None, **spec):
    found = converted(yaml.safe_dump(manifest(job, **spec)))
    assert all(isinstance(each, Problem) for each in found)
    return [each.message for each in found]


def test_the_job_is_the_payload():
    found = event()
    assert found["id"] == "ops/backup"
    assert found["type"] == "kubernetes.job"
    assert (found["cron"], found["timezone"]) == ("30 2 * * *", "UTC")
    assert found["labels"] == {"team": "blue", "namespace": "ops", "source": "jobs.yml"}
    assert found["payload"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "backup-", "namespace": "ops"},
        "spec": {**POD, "backoffLimit": 0},
    }


@pytest.mark.parametrize(("policy", "overlap"), [("Allow", "allow"), ("Forbid", "skip")])
def test_concurrency_is_overlap(policy, overlap):
    assert event(concurrencyPolicy=policy)["overlap"] == overlap


def test_replace_has_no_equivalent():
    assert "concurrencyPolicy=Replace has no equivalent" in problems(concurrencyPolicy="Replace")[0]
    found = event(concurrencyPolicy="Replace", options={"accept": ["concurrencyPolicy"]})
    assert found["overlap"] == "allow"


def test_history_limits_have_no_equivalent():
    first, second = problems(successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    assert "successfulJobsHistoryLimit=3 has no equivalent" in first
    assert "failedJobsHistoryLimit=1 has no equivalent" in second


def test_a_deadline_bounds_how_late_a_run_starts():
    found = event(startingDeadlineSeconds=90)
    assert (found["look_back"], found["expires_in"]) == ("90s", "90s")
    assert event()["look_back"] == "10y"


def test_the_backoff_is_the_schedulers_and_no_longer_the_jobs():
    assert event()["retry"] == {"attempts": 7, "delay": "10s", "factor": 2, "max": "6m"}
    found = event({"backoffLimit": 2})
    assert found["retry"]["attempts"] == 3
    assert found["payload"]["spec"]["backoffLimit"] == 0
    assert "retry" not in event({"backoffLimit": 0})


def test_a_job_of_many_pods_tries_again_by_itself():
    found = event({"completions": 5, "backoffLimit": 4})
    assert "retry" not in found
    assert found["payload"]["spec"]["backoffLimit"] == 4


def test_a_deadline_of_the_job_is_the_timeout():
    assert event({"activeDeadlineSeconds": 600})["timeout"] == "600s"


@pytest.mark.parametrize(
    ("schedule", "fields"),
    [
        ("TZ=Asia/Tokyo 0 0 * * *", {"cron": "0 0 * * *", "timezone": "Asia/Tokyo"}),
        ("CRON_TZ=Asia/Tokyo @daily", {"cron": "@daily", "timezone": "Asia/Tokyo"}),
        ("@every 1h30m", {"every": "1h30m"}),
        ("0 0 ? * 5", {"cron": "0 0 * * 5"}),
        ("0 0 */2 * 5", {"cron": "0 0 1-31/2 * 5"}),  # one of the two is enough for Kubernetes
        ("0 0 13 * */2", {"cron": "0 0 13 * 0-6/2"}),
        ("0 0 */2 * *", {"cron": "0 0 */2 * *"}),
        ("0 0 */1 * 5", {"cron": "0 0 * * 5"}),
    ],
)
def test_schedules_mean_what_they_mean_to_kubernetes(schedule, fields):
    found = event(schedule=schedule)
    assert {name: found.get(name) for name in fields} == fields


def test_a_zone_of_its_own_counts_most():
    assert event(timeZone="Europe/Paris", options={"timezone": "UTC"})["timezone"] == "Europe/Paris"
    assert event(options={"timezone": "Asia/Tokyo"})["timezone"] == "Asia/Tokyo"


def test_suspended_is_paused_and_no_longer_is_resumed(scheduler):
    for suspended, status in ((True, "PAUSED"), (False, "NOT_STARTED")):
        first, second = converted(yaml.safe_dump(manifest(suspend=suspended)))
        scheduler.schedule(first.fields)
        assert second.fields.pop("op") == ("pause" if suspended else "resume")
        (scheduler.pause if suspended else scheduler.resume)(second.fields["id"], reason=second.fields["reason"])
        scheduler.assert_status("ops/backup", status)


def test_several_documents_and_lists_have_their_lines():
    config = {"kind": "ConfigMap", "metadata": {"name": "x"}}
    text = "# header\n---\n" + yaml.safe_dump(config) + "---\n" + yaml.safe_dump(manifest())
    (found,) = converted(text)
    assert found.line == text.splitlines().index("apiVersion: batch/v1") + 1
    as_list = json.dumps({"kind": "List", "items": [config, manifest()]}, indent=1)
    (found,) = converted(as_list)
    assert found.line == as_list[: as_list.index('"batch/v1"')].count("\n")


def test_dates_stay_as_they_are_written():
    text = yaml.safe_dump(manifest()).replace("image: busybox", "image: 2026-01-01")
    (found,) = converted(text)
    assert found.fields["payload"]["spec"]["template"]["spec"]["containers"][0]["image"] == "2026-01-01"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("kind: ConfigMap", 1, "holds no CronJob"),
        ("", 1, "holds no CronJob"),
        ("a: &a [1]\nb: *a", 2, "aliases (`*`) are not taken"),
        ("---\nkind: [", 2, "is no manifest"),
        ("kind: CronJob", 1, "no `metadata.name`"),
        ("kind: CronJob\nmetadata: {name: x}", 1, "default/x has no `spec.schedule`"),
        ("kind: CronJob\nmetadata: {name: x}\nspec: {schedule: x}", 1, "no `spec.jobTemplate.spec`"),
        ("[" * 500, 1, "is no manifest"),
        ("!!python/object/apply:os.system [ls]", 1, "holds no CronJob"),
        ("a: !!python/object/apply:os.system [ls]", 1, "is no manifest"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, line, words):
    (found,) = converted(text)
    assert isinstance(found, Problem)
    assert found.line == line
    assert words in found.message


def test_a_setting_nobody_knows_is_named():
    assert "scedule is no setting of a CronJob" in problems(scedule="x")[0]
