"""What does a node count? The contract's metrics; labels never hold an id."""

from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from lightsched.engine.step import Step
from lightsched.event.identity import tenant_of
from lightsched.event.status import Status
from lightsched.node.guard import ClockGuard

_LATENESS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 60, 3600)
_STEP = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)


class Metrics:
    """One node's metrics, in a registry of their own, so that several nodes can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.commands = self._counter("commands", "Commands by outcome", "tenant", "outcome")
        self.deliveries = self._counter("deliveries", "Deliveries emitted", "tenant", "topic")
        self.runs = self._counter("runs", "Runs that ended, by status", "status")
        self.failures = self._counter("run_failures", "Runs that failed after all retries", "tenant")
        self.lateness = self._histogram("lateness_seconds", "From due to durably delivered", _LATENESS)
        self.round_trip = self._histogram("round_trip_seconds", "From due to SUCCESS", _LATENESS)
        self.pending = self._gauge("pending_events", "Events that are not over", "partition")
        self.in_flight = self._gauge("in_flight_runs", "Runs delivered and unreported", "partition")
        self.step_seconds = self._histogram("step_seconds", "Duration of a step, commit included", _STEP)
        self.step_events = self._histogram(
            "step_events", "Inputs and deliveries of a step", (1, 10, 100, 500, 1000, 2000, 4000)
        )
        self.clock_errors = self._counter("clock_errors", "Times the clock was not believed", "partition")
        self.dead_letters = self._counter("dead_letters", "Records put aside, by reason", "reason")
        self.reports_ignored = self._counter("reports_ignored", "Reports that changed nothing, by reason", "reason")
        self.missed = self._counter("missed", "Occurrences that did not run, by reason", "reason")
        self.difference = self._gauge(
            "reconciliation_difference", "accepted - fired - cancelled - expired - dead - pending: always 0", "partition"
        )
        self.restore_seconds = self._gauge("restore_seconds", "How long taking the partition took", "partition")
        self.owner = self._gauge("partition_owner", "1 where this node owns the partition", "partition", "node")
        self._clock_errors_seen: dict[int, int] = {}

    def _counter(self, name: str, help_: str, *labels: str) -> Counter:
        return Counter(f"lightsched_{name}", help_, labels, registry=self.registry)

    def _gauge(self, name: str, help_: str, *labels: str) -> Gauge:
        return Gauge(f"lightsched_{name}", help_, labels, registry=self.registry)

    def _histogram(self, name: str, help_: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"lightsched_{name}", help_, (), registry=self.registry, buckets=buckets)

    @contextmanager
    def step_timer(self, _partition: int) -> Iterator[None]:
        """Time a step."""
        began = perf_counter()
        yield
        self.step_seconds.observe(perf_counter() - began)

    def count(self, partition: int, step: Step, guard: ClockGuard, durable_ms: int) -> None:
        """Take in what a step did, when it is durable."""
        if not step.empty:
            self.step_events.observe(len(step.answers) + len(step.deliveries))
        outcomes: Tally[tuple[str, str]] = Tally()
        for answer in step.answers:
            if answer.outcome is not None:
                outcomes["" if answer.identity is None else tenant_of(answer.identity), answer.outcome] += 1
            elif answer.ignored:
                self.reports_ignored.labels(answer.ignored).inc()
        for labels, number in outcomes.items():
            self.commands.labels(*labels).inc(number)
        topics: Tally[tuple[str, str]] = Tally()
        for delivery in step.deliveries:
            tenant = tenant_of(delivery.identity)
            for topic in delivery.topics:
                topics[tenant, topic] += 1
            self.lateness.observe(max(durable_ms - delivery.due_ms, 0) / 1000)
        for labels, number in topics.items():
            self.deliveries.labels(*labels).inc(number)
        for name, status, due_ms in step.ended:
            self.runs.labels(status).inc()
            if status is Status.SUCCESS:
                self.round_trip.observe(max(step.now_ms - due_ms, 0) / 1000)
            elif status is Status.FATAL_FAILURE:
                self.failures.labels(tenant_of(name)).inc()
        for letter in step.dead_letters:
            self.dead_letters.labels(letter.reason).inc()
        for reason, number in step.missed.items():
            self.missed.labels(reason).inc(number)
        self.pending.labels(partition).set(step.meta.totals.pending)
        self.difference.labels(partition).set(step.meta.totals.difference)
        fresh = guard.errors - self._clock_errors_seen.get(partition, 0)
        if fresh:
            self._clock_errors_seen[partition] = guard.errors
            self.clock_errors.labels(partition).inc(fresh)
