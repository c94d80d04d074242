"""On which logs does the suite run? On every adapter of the port: how each is opened, and how it crashes."""

import pytest

from tests.conformance.adapters import EmbeddedAdapter, KafkaAdapter

ADAPTERS = {"embedded": EmbeddedAdapter, "kafka": KafkaAdapter}


@pytest.fixture(params=ADAPTERS)
async def adapter(request, tmp_path):
    where = (request.getfixturevalue("kafka"),) if request.param == "kafka" else ()
    made = ADAPTERS[request.param](tmp_path / "data", *where)
    yield made
    await made.close()


@pytest.fixture
async def log(adapter):
    return await adapter.open()


@pytest.fixture
async def embedded(tmp_path):
    """For what only the embedded log promises."""
    made = EmbeddedAdapter(tmp_path / "data")
    yield made
    await made.close()


@pytest.fixture
async def on_kafka(tmp_path, kafka):
    """For what only Kafka has."""
    made = KafkaAdapter(tmp_path / "data", kafka)
    yield made
    await made.close()
