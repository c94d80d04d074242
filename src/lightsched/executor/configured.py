"""How does an executor become a program of its own? With a file of settings, `--help`, and an orderly end.

    program = Program(name="mail", about="Sends mail.", settings=MailSettings, executor=executor)

is what a distribution's script calls (`program.main`), and what its entry point in the group `lightsched.executors`
names: `lightsched dev` runs what it finds there.
"""

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import Field, SecretStr

from lightsched.client.kafka_place import Kafka
from lightsched.errors import LightschedError
from lightsched.executor.executor import Executor
from lightsched.security import SecuritySettings
from lightsched.settings import DurationMs, Layered

__all__ = ["GROUP", "ExecutorSettings", "Program"]

log = logging.getLogger(__name__)

GROUP = "lightsched.executors"
"""The group of entry points."""


class ExecutorSettings(Layered):
    """What all executors are told: where deliveries come from, and how many run at once."""

    server: str = ""  # http://host:port or kafka://host:port; else LIGHTSCHED_SERVER, else this machine
    token: SecretStr | None = None  # else LIGHTSCHED_TOKEN
    security: SecuritySettings = SecuritySettings()  # of Kafka
    kafka: dict[str, Any] = Field({})  # further settings of aiokafka's clients, by the names they have there
    group: str = "executors"
    topics: tuple[str, ...] = Field(("deliveries",), min_length=1)
    concurrency: int = Field(100, ge=1)
    name: str | None = None  # who reports, as it stands in the history
    grace: DurationMs = 30_000  # how long a stop waits for what runs
    session_timeout: DurationMs = 10_000  # on Kafka: so long after its last sign of life others take over

    def made(self) -> Executor:
        """An executor that does nothing yet."""
        return Executor(
            self._place(),
            token=None if self.token is None else self.token.get_secret_value(),
            group=self.group,
            topics=self.topics,
            concurrency=self.concurrency,
            name=self.name,
            grace=f"{self.grace}ms",
            session_timeout=f"{self.session_timeout}ms",
        )

    def _place(self) -> Kafka | str | None:
        server = self.server or os.environ.get("LIGHTSCHED_SERVER", "")
        if not server.startswith("kafka://"):
            return server or None
        place = Kafka.parse(server)
        return Kafka(place.bootstrap, place.prefix, {**self.security.options(), **self.kafka})


Its = TypeVar("Its", bound=ExecutorSettings)


@dataclass(frozen=True)
class Program(Generic[Its]):
    """An executor as a program."""

    name: str
    about: str
    settings: type[Its]
    executor: Callable[[Its], AbstractAsyncContextManager[Executor]]

    def main(self, arguments: list[str] | None = None) -> None:
        """Run until SIGTERM or SIGINT; exit codes: 0 done, 1 failed, 2 wrong usage."""
        given = self._parser().parse_args(arguments)
        flags = {name: value for name in ("server", "group") if (value := getattr(given, name)) is not None}
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        for noisy in ("aiokafka", "httpx"):
            logging.getLogger(noisy).setLevel(logging.WARNING)
        try:
            with suppress(KeyboardInterrupt, asyncio.CancelledError):
                asyncio.run(self.run(self.settings.load(given.config, **flags)))
        except LightschedError as error:
            sys.exit(f"lightsched-{self.name}: {error}")

    async def run(self, settings: Its) -> None:
        """Execute what is delivered, until SIGTERM or SIGINT."""
        async with self.executor(settings) as executor:
            log.info("%s executes %s", self.name, ", ".join(sorted(executor.routes.types)))
            await executor.run()

    def _parser(self) -> argparse.ArgumentParser:
        prefix = self.settings.model_config["env_prefix"]
        usual = Path(f"{self.name}.yml")
        parser = argparse.ArgumentParser(
            prog=f"lightsched-{self.name}",
            description=self.about,
            epilog=f"Settings come from the file, {prefix}… variables and flags, the later the stronger.",
        )
        parser.add_argument(
            "--config",
            type=Path,
            default=usual if usual.is_file() else None,
            help=f"the settings; {usual}, if it is here",
        )
        parser.add_argument("--server", help="http://host:port or kafka://host:port; else LIGHTSCHED_SERVER")
        parser.add_argument("--group", help="each delivery goes to one executor of a group")
        parser.add_argument("--version", action="version", version=f"%(prog)s {version(f'lightsched-{self.name}')}")
        return parser
