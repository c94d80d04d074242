"""On which logs does the suite run? On every adapter of the port: how each is opened, and how it crashes."""

from pathlib import Path

import pytest

from lightsched.log.embedded.log import EmbeddedLog

PARTITIONS = 3
NOW_MS = 1_800_000_000_000


class EmbeddedAdapter:
    """The embedded log in a directory of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now_ms = NOW_MS
        self.opened = []

    async def open(self, **options) -> EmbeddedLog:
        log = await EmbeddedLog.open(
            self.path, **{"partitions": PARTITIONS, "clock_ms": lambda: self.now_ms, **options}
        )
        self.opened.append(log)
        return log

    async def crash(self, log: EmbeddedLog) -> None:
        """End it as kill -9 does."""
        log.abandon()

    async def close(self) -> None:
        for log in self.opened:
            log.abandon()


ADAPTERS = {"embedded": EmbeddedAdapter}


@pytest.fixture(params=ADAPTERS)
async def adapter(request, tmp_path):
    made = ADAPTERS[request.param](tmp_path / "data")
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
