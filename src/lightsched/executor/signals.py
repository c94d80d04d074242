"""Who hears that the process should end? All executors that run in it, unless another part of the program listens.

SIGTERM and SIGINT stop them: they finish what they have begun. A second signal ends them at once. Where SIGTERM has a
handler already, as under a web server, signals are that one's business, and so is calling `stop`.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_running: dict[Callable[[], None], "asyncio.Task[object] | None"] = {}
_told = False


@contextmanager
def stopping_at_signals(stop: Callable[[], None]) -> Iterator[None]:
    """While the block runs, a signal calls `stop`, and a second one cancels the task."""
    listening = not _running and _may_listen()
    loop = asyncio.get_running_loop()
    _running[stop] = asyncio.current_task()
    if listening:
        for number in _SIGNALS:
            loop.add_signal_handler(number, _tell)
    try:
        yield
    finally:
        del _running[stop]
        if not _running and loop.remove_signal_handler(signal.SIGTERM):
            loop.remove_signal_handler(signal.SIGINT)
            _forget()


def _may_listen() -> bool:
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGKILL"):
        return False  # loops on Windows have no signals: there it is KeyboardInterrupt
    return signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def _tell() -> None:
    global _told  # noqa: PLW0603 - signals are the process's
    for stop, task in list(_running.items()):
        if _told and task is not None:
            task.cancel()
        stop()
    _told = True


def _forget() -> None:
    global _told  # noqa: PLW0603 - as above
    _told = False
