"""What survives kill -9 of the watcher? A short run of `make chaos-files`."""

from tests.injectors.files.chaos import through_kafka, through_rest

SHORT = {"files": 12, "tasks": 6_000, "kills": 3, "seed": 1}


def test_every_task_is_delivered_once_through_rest_whatever_is_killed(tmp_path):
    assert through_rest(tmp_path, **SHORT).total() == 6_000


def test_every_task_is_delivered_once_through_kafka_whatever_is_killed(tmp_path, kafka):
    assert through_kafka(tmp_path, kafka, **SHORT).total() == 6_000
