"""What runs in the background? `lightsched-files --config service.yml`: one watcher for each directory."""

import argparse
import asyncio
import gc
import logging
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from lightsched.errors import LightschedError
from lightsched.settings import BadSettings
from lightsched_files.sending import Sender
from lightsched_files.settings import InjectSettings, RestSettings, Settings, WatchSettings
from lightsched_files.watcher import Watcher

log = logging.getLogger("lightsched.files")

USUAL_FILE = Path("service.yml")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until SIGTERM or SIGINT; exit codes: 0 done, 1 failed, 2 wrong usage."""
    given = _parser().parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("aiokafka", "httpx", "watchfiles"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    try:
        settings = Settings.load(given.config)
    except LightschedError as error:
        sys.exit(_say(error, 2))
    _collect_seldom()
    try:
        asyncio.run(serve(settings, once=given.once))
    except LightschedError as error:
        sys.exit(_say(error, 2 if isinstance(error, BadSettings) else 1))


def _collect_seldom() -> None:
    """What flows through here has no cycles: looking for them among the events of a chunk would only take time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 10, 10)


def _say(error: LightschedError, code: int) -> int:
    print(f"lightsched-files: {error}", file=sys.stderr)  # noqa: T201 - it is a program
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lightsched-files",
        description="Watch directories for files of events, and schedule each event once.",
        epilog="Settings come from the file and from LIGHTSCHED_FILES_… variables, the later the stronger.",
    )
    usual = USUAL_FILE if USUAL_FILE.is_file() else None
    parser.add_argument("--config", type=Path, default=usual, help=f"the settings; {USUAL_FILE}, if it is here")
    parser.add_argument("--once", action="store_true", help="inject what is there, then end")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('lightsched-files')}")
    return parser


async def serve(settings: Settings, *, once: bool = False) -> None:
    """Watch all directories, until a signal comes; if one cannot be watched, no one is."""
    watchers = watchers_of(settings)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        for watcher in watchers:
            watcher.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        async with asyncio.TaskGroup() as group:
            for watcher in watchers:
                group.create_task(watcher.run(once=once))
    except* LightschedError as errors:
        raise errors.exceptions[0] from None
    finally:
        counts = sum((watcher.counts for watcher in watchers), Counter[str]())
        log.info("%d files done, %d failed, %d events sent", counts["done"], counts["failed"], counts["events"])


def watchers_of(settings: Settings) -> list[Watcher]:
    """One for each directory, with all the rules that are for it."""
    by_directory: dict[Path, list[WatchSettings]] = {}
    for rule in settings.watch:
        by_directory.setdefault(rule.directory.resolve(), []).append(rule)
    kafka = settings.inject.kafka
    return [
        Watcher(
            rules,
            sender_of(settings.inject),
            settings.limits,
            rescan_ms=settings.rescan,
            **({} if kafka is None else {"prefix": kafka.prefix}),
        )
        for rules in by_directory.values()
    ]


def sender_of(inject: InjectSettings) -> Callable[[], Sender]:
    """Each directory has its own; only what is needed is imported."""
    if inject.kafka is not None:
        from lightsched_files.kafka import Kafka  # noqa: PLC0415

        kafka = inject.kafka
        kafka.security.options()  # what is wrong with a certificate is said at once, not with the first file
        return lambda: Kafka(kafka)
    from lightsched_files.rest import Rest  # noqa: PLC0415

    rest = inject.rest or RestSettings()
    return lambda: Rest(rest)
