"""Are the metrics of the contract there, each with the labels that it may have?"""

from lightsched.engine.step import Meta, Step
from lightsched.event.delivery import Delivery
from lightsched.event.identity import Identity
from lightsched.event.record import Record
from lightsched.node.metrics import Metrics

CONTRACT = {
    "commands_total": {"outcome", "tenant"},
    "deliveries_total": {"tenant", "topic"},
    "runs_total": {"status"},
    "run_failures_total": {"tenant"},
    "lateness_seconds": set(),
    "round_trip_seconds": set(),
    "pending_events": {"partition"},
    "input_lag": {"partition"},
    "in_flight_runs": {"partition"},
    "partition_owner": {"node", "partition"},
    "standby_count": {"partition"},
    "step_seconds": set(),
    "step_events": set(),
    "restore_seconds": {"partition"},
    "clock_skew_seconds": set(),
    "clock_errors_total": {"partition"},
    "dead_letters_total": {"reason"},
    "reports_ignored_total": {"reason"},
    "missed_total": {"reason"},
    "fenced_total": {"partition"},
    "reconciliation_difference": {"partition"},
}
PER_PARTITION = [name for name, labels in CONTRACT.items() if "partition" in labels]


def test_all_metrics_of_the_contract_are_there_with_their_labels():
    metrics = Metrics()
    found = {family.name: set() for family in metrics.registry.collect()}
    found |= {name: set(each._labelnames) for name, each in metrics.registry._names_to_collectors.items()}
    for name, labels in CONTRACT.items():
        assert found[f"lightsched_{name}"] == labels, name


def test_what_is_said_of_a_partition_ends_when_it_leaves():
    metrics = Metrics()
    for number in (1, 11):
        metrics.taken(number, "node-1", 0.5)
        metrics.pending.labels(number).set(7)
    metrics.left(1, "node-1")
    said = metrics.registry.get_sample_value
    assert said("lightsched_pending_events", {"partition": "1"}) is None
    assert said("lightsched_pending_events", {"partition": "11"}) == 7
    assert said("lightsched_standby_count", {"partition": "1"}) is None
    assert said("lightsched_partition_owner", {"partition": "1", "node": "node-1"}) == 0
    assert said("lightsched_fenced_total", {"partition": "1"}) == 0
    metrics.left(1, "node-1")


def test_a_retry_is_not_called_late():
    metrics = Metrics()
    step = Step(1_000, Meta())
    for attempt in (1, 2):
        step.deliveries.append(Delivery(Identity(b"t\0k\0i"), 0, attempt, f"#{attempt}", ("d",), Record(b"k", b"")))
    metrics._count_deliveries(step, 1_000)
    assert metrics.registry.get_sample_value("lightsched_lateness_seconds_count") == 1
    assert metrics.registry.get_sample_value("lightsched_deliveries_total", {"tenant": "t", "topic": "d"}) == 2
