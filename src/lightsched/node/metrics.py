"""What does a node count? The contract's metrics; labels never hold an id."""

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import suppress

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from lightsched.engine.step import Step
from lightsched.event.identity import Identity
from lightsched.event.status import Outcome, Status
from lightsched.log.errors import Fenced
from lightsched.log.port import Partition
from lightsched.node.guard import ClockGuard

_LATENESS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5, 60, 3600)
_STEP = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)

MOST_TENANTS = 1_000
OTHER_TENANTS = "(other)"


class Metrics:
    """One node's metrics, in a registry of their own, so that several nodes can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.commands = self._counter("commands", "Commands by outcome", "tenant", "outcome")
        self.deliveries = self._counter("deliveries", "Deliveries emitted", "tenant", "topic")
        self.runs = self._counter("runs", "Runs that ended, by status", "status")
        self.failures = self._counter("run_failures", "Runs that failed after all retries", "tenant")
        self.lateness = Durations(
            "lightsched_lateness_seconds", "From due to durably delivered, of first attempts", _LATENESS, self.registry
        )
        self.round_trip = Durations("lightsched_round_trip_seconds", "From due to SUCCESS", _LATENESS, self.registry)
        self.pending = self._gauge("pending_events", "Events that are not over", "partition")
        self.in_flight = self._gauge("in_flight_runs", "Runs delivered and unreported", "partition")
        self.input_lag = self._gauge("input_lag", "Commands and reports that are still to be read", "partition")
        self.step_seconds = self._histogram("step_seconds", "Duration of a step, commit included", _STEP)
        self.step_events = self._histogram(
            "step_events", "Inputs and deliveries of a step", (1, 10, 100, 500, 1000, 2000, 4000)
        )
        self.clock_skew = self._gauge("clock_skew_seconds", "How far the clock is ahead of the broker's")
        self.clock_errors = self._counter("clock_errors", "Times the clock was not believed", "partition")
        self.dead_letters = self._counter("dead_letters", "Records put aside, by reason", "reason")
        self.reports_ignored = self._counter("reports_ignored", "Reports that changed nothing, by reason", "reason")
        self.missed = self._counter(
            "missed", "Occurrences that did not run, or inputs that were not read, by reason", "reason"
        )
        self.difference = self._gauge(
            "reconciliation_difference",
            "accepted - fired - cancelled - expired - dead - pending: always 0",
            "partition",
        )
        self.restore_seconds = self._gauge("restore_seconds", "How long taking the partition took", "partition")
        self.restored_records = self._counter("restored_records", "Records of the changelog applied", "partition")
        self.restore_left = self._gauge("restore_left", "Offsets of the changelog still to be applied", "partition")
        self.owner = self._gauge("partition_owner", "1 where this node owns the partition", "partition", "node")
        self.standbys = self._gauge("standby_count", "Nodes that keep a copy of the partition", "partition")
        self.fenced = self._counter("fenced", "Times another process had taken a partition", "partition")
        self.retakes = self._counter("retakes", "Times a partition failed and was to be taken again", "partition")
        self.http_connections = self._gauge("http_connections", "Connections to the API")
        self.http_turned_away = self._counter("http_turned_away", "Connections given up, by reason", "reason")
        self.fired = 0  # deliveries, whatever topics they went to
        self._clock_errors_seen: dict[int, int] = {}
        self._standing: dict[int, tuple[Gauge, ...]] = {}  # how each partition stands; looked up, they cost 5 µs a step
        self._tenants: set[bytes] = set()

    def _counter(self, name: str, help_: str, *labels: str) -> Counter:
        return Counter(f"lightsched_{name}", help_, labels, registry=self.registry)

    def _gauge(self, name: str, help_: str, *labels: str) -> Gauge:
        return Gauge(f"lightsched_{name}", help_, labels, registry=self.registry)

    def _histogram(self, name: str, help_: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"lightsched_{name}", help_, (), registry=self.registry, buckets=buckets)

    def restored(self, partition: int, records: int, left: int) -> None:
        """A partition that is being taken has applied so many records, and has so far to go."""
        self.restored_records.labels(partition).inc(records)
        self.restore_left.labels(partition).set(left)

    def input_lost(self, _partition: int, inputs: int) -> None:
        """Inputs are gone that nobody has read, and the partition goes on without them."""
        self.missed.labels("input_lost").inc(inputs)

    def taken(self, partition: int, node: str, seconds: float) -> None:
        """A partition is this node's now. What counts its mishaps is there from the beginning, at 0."""
        self.restore_seconds.labels(partition).set(seconds)
        self.owner.labels(partition, node).set(1)
        self.standbys.labels(partition).set(0)  # no node keeps copies yet
        for mishaps in (self.fenced, self.retakes, self.clock_errors):
            mishaps.labels(partition)

    def left(self, partition: int, node: str) -> None:
        """A partition is no longer this node's, or has to be taken again: how it stands is the next owner's to say."""
        self.owner.labels(partition, node).set(0)
        self._standing.pop(partition, None)
        for gauge in (
            *(self.pending, self.in_flight, self.input_lag),
            *(self.difference, self.restore_seconds, self.standbys),
        ):
            with suppress(KeyError):  # it may have failed before it was counted
                gauge.remove(partition)

    def failed(self, partition: int, error: Exception) -> None:
        """A worker has failed."""
        if isinstance(error, Fenced):
            self.fenced.labels(partition).inc()
        self.retakes.labels(partition).inc()

    def count(self, worked: Partition, step: Step, guard: ClockGuard, took_ms: int) -> None:
        """Take in what a step did, when it is durable."""
        self.look(worked, guard)
        self.step_seconds.observe(took_ms / 1000)
        self.step_events.observe(len(step.answers) + len(step.deliveries))
        self._count_answers(step)
        self._count_deliveries(step, step.now_ms + took_ms)
        for letter in step.dead_letters:
            self.dead_letters.labels(letter.reason).inc()
        for reason, number in step.missed.items():
            self.missed.labels(reason).inc(number)

    def look(self, worked: Partition, guard: ClockGuard) -> None:
        """Take in how a partition stands, also when it had nothing to do."""
        partition, totals = worked.number, worked.store.meta.totals
        standing = self._standing.get(partition)
        if standing is None:
            gauges = self.input_lag, self.in_flight, self.pending, self.difference
            standing = self._standing[partition] = tuple(gauge.labels(partition) for gauge in gauges)
        lag, in_flight, pending, difference = standing
        lag.set(worked.lag)
        in_flight.set(worked.store.in_flight_runs)
        pending.set(totals.pending)
        difference.set(totals.difference)
        self.clock_skew.set(guard.skew_ms / 1000)
        fresh = guard.errors - self._clock_errors_seen.get(partition, 0)
        if fresh:
            self._clock_errors_seen[partition] = guard.errors
            self.clock_errors.labels(partition).inc(fresh)

    def refuse(self) -> None:
        """A command made no sense, and was not even appended."""
        self.commands.labels("", Outcome.INVALID).inc()

    def _count_answers(self, step: Step) -> None:
        answers = Tally([(_tenant(answer.identity), answer.outcome, answer.ignored) for answer in step.answers])
        for (tenant, outcome, ignored), number in answers.items():
            if outcome is not None:
                self.commands.labels(self._label(tenant), outcome).inc(number)
            elif ignored:
                self.reports_ignored.labels(ignored).inc(number)

    def _count_deliveries(self, step: Step, durable_ms: int) -> None:
        if step.deliveries:
            self.fired += len(step.deliveries)
            self.lateness.observe([durable_ms - each.due_ms for each in step.deliveries if each.attempt == 1])
            for (tenant, topics), number in Tally([(_tenant(d.identity), d.topics) for d in step.deliveries]).items():
                for topic in topics:
                    self.deliveries.labels(self._label(tenant), topic).inc(number)
        if step.ended:
            self.round_trip.observe(
                [step.now_ms - due_ms for _, status, due_ms in step.ended if status is Status.SUCCESS]
            )
            for status, number in Tally([status for _, status, _ in step.ended]).items():
                self.runs.labels(status).inc(number)
                if status is Status.FATAL_FAILURE:
                    for name, how, _ in step.ended:
                        if how is status:
                            self.failures.labels(self._label(_tenant(name))).inc()

    def _label(self, tenant: bytes) -> str:
        """The tenant's name; beyond so many tenants they share one label, because whoever sends can make them up."""
        if tenant not in self._tenants:
            if len(self._tenants) >= MOST_TENANTS:
                return OTHER_TENANTS
            self._tenants.add(tenant)
        return tenant.decode()


def _tenant(name: Identity | None) -> bytes:
    return b"" if name is None else name[: name.index(0)]


class Durations(Collector):
    """A histogram of milliseconds that takes in a whole step at once."""

    def __init__(self, name: str, help_: str, bounds_s: tuple[float, ...], registry: CollectorRegistry) -> None:
        self._name, self._help = name, help_
        self._bounds_s = bounds_s
        self._bounds_ms = [bound * 1000 for bound in bounds_s]
        self._counts = [0] * (len(bounds_s) + 1)
        self._sum_ms = 0
        registry.register(self)

    def observe(self, values_ms: list[int]) -> None:
        """Count these; what is negative counts as zero."""
        counts, bounds = self._counts, self._bounds_ms
        for value in values_ms:
            counts[bisect_left(bounds, value)] += 1
            if value > 0:
                self._sum_ms += value

    def collect(self) -> Iterator[Metric]:
        """The histogram as Prometheus wants it, cumulative."""
        metric = HistogramMetricFamily(self._name, self._help)
        total = 0
        buckets = []
        for bound, number in zip((*map(floatToGoString, self._bounds_s), "+Inf"), self._counts, strict=True):
            total += number
            buckets.append((bound, total))
        metric.add_metric([], buckets, sum_value=self._sum_ms / 1000)
        yield metric
