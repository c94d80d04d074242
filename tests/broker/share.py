"""How do parallel test workers share one broker, and who ends it?

A keeper, a process of its own, holds the broker; the first worker that wants one starts it. Every worker that uses the
broker has a shared lock on the file `users`; the keeper waits for the exclusive one. It gets it when the last user has
left or died, whatever killed it: the kernel counts, and nobody has to tidy up.

    users   locked shared by each worker, exclusively by the keeper once all are gone
    turn    locked while a worker looks whether there is a broker and starts one if not
    broker  its address, or why there is none; written by the keeper, removed when it ends the broker
"""

import fcntl
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import format_exc

from tests.broker.ladder import NoBroker, find_broker

ROOT = Path(__file__).parents[2]
WAIT_S = 280  # jars or an image may have to be fetched

# Kept, so that nobody warns about processes that outlive the worker that started them.
_keepers: list[subprocess.Popen[bytes]] = []


@contextmanager
def shared_broker(folder: Path) -> Iterator[str]:
    """The address of the broker that all users of this folder share."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "users").open("a") as users:
        with (folder / "turn").open("a") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)  # waits while a keeper ends its broker
            if not (folder / "broker").exists():
                _start_keeper(folder)
            found = json.loads((folder / "broker").read_text())
        if "problem" in found:
            raise NoBroker(found["problem"])
        yield found["bootstrap"]


def _start_keeper(folder: Path) -> None:
    with (folder / "keeper.log").open("ab") as log:
        command = [sys.executable, "-m", "tests.broker.share", str(folder)]
        keeper = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    _keepers.append(keeper)
    deadline = time.monotonic() + WAIT_S
    while not (folder / "broker").exists():
        if keeper.poll() is not None or time.monotonic() > deadline:
            raise NoBroker(f"no broker was started:\n{(folder / 'keeper.log').read_text()[-4000:]}")
        time.sleep(0.02)


def keep(folder: Path) -> None:
    """The keeper's life: find a broker, tell its address, end it when nobody uses it any more."""
    told = folder / "broker"
    with (folder / "users").open("a") as users:
        try:
            broker = find_broker(folder)
        except NoBroker as problem:
            _tell(told, problem=str(problem))
        except Exception:  # noqa: BLE001 -- told to every user, who fails with it
            _tell(told, problem=format_exc())
        else:
            try:
                _tell(told, bootstrap=broker.bootstrap)
                fcntl.flock(users, fcntl.LOCK_EX)
                told.unlink()
            finally:
                broker.close()


def _tell(told: Path, **what: str) -> None:
    unfinished = told.with_suffix(".new")
    unfinished.write_text(json.dumps(what))
    unfinished.rename(told)


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
