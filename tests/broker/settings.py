"""How is a broker set up, wherever it runs?

One table for the local cluster, for the container and for docker-compose.yml (tests/broker/test_compose.py compares
them), so that no test passes only because one of them happens to be set up differently.
"""

from collections.abc import Mapping


def broker_settings(brokers: int) -> dict[str, str]:
    """What decides how a cluster of this many brokers behaves; where it listens and stores is not part of it."""
    replicas = min(brokers, 3)
    in_sync = max(1, replicas - 1)
    return {
        # Replication: the defaults want three brokers.
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(in_sync),
        "offsets.topic.replication.factor": str(replicas),
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": str(in_sync),
        # Small: 50 partitions each are for large clusters, and cost seconds at the start.
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        "log.cleaner.dedupe.buffer.size": str(16 << 20),
        # A topic that was not made on purpose is an error, as in production.
        "auto.create.topics.enable": "false",
        # Quick: a group forms at once, an abandoned transaction is aborted soon after its timeout.
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        # A killed broker is noticed, and may come back, after this long instead of 9 s.
        "broker.session.timeout.ms": "4000",
        "broker.heartbeat.interval.ms": "500",
    }


def as_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """The same settings as the variables that Kafka's container image reads."""
    return {f"KAFKA_{name.replace('.', '_').upper()}": value for name, value in settings.items()}
