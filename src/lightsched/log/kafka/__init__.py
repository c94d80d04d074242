"""The log on Kafka: exactly once, master/master. The protocol is in docs/exactly-once.md."""
