"""How does Faust read only what has happened? Deliveries are written in transactions; aborted ones must not be read.

Faust reads committed records only where it works with transactions itself. Its own commits are another matter (errors
there are logged and swallowed), so the agent works at least once, as reports allow, and only reading is changed here.
"""

from typing import Any

from faust.transport.drivers import aiokafka as driver


class CommittedThread(driver.AIOKafkaConsumerThread):
    """Where Faust's consumer lives."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        assert hasattr(consumer, "_isolation_level"), "aiokafka calls it otherwise now: see its AIOKafkaConsumer"
        consumer._isolation_level = "read_committed"  # noqa: SLF001 -- Faust passes no other; not in use before start()
        return consumer


class CommittedConsumer(driver.Consumer):
    """Faust's consumer."""

    def _new_consumer_thread(self) -> CommittedThread:
        return CommittedThread(self, loop=self.loop, beacon=self.beacon)


class CommittedTransport(driver.Transport):
    """Faust's way to Kafka."""

    Consumer = CommittedConsumer
