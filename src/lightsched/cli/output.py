"""What if nobody can be told? Standard output may be full, or closed: one line says so, on standard error."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, TypeVar

from lightsched.errors import LightschedError

T = TypeVar("T")


class CannotPrint(LightschedError):
    """Standard output cannot be written: {why}.{done}"""


class Output:
    """Standard output, whose errors are `CannotPrint`; but for a reader that has left (`| head`), which is none."""

    def __init__(self, stream: TextIO | None) -> None:
        """None: the program was started without one."""
        self._why = "it is closed" if stream is None else ""
        self._stream = _nowhere() if stream is None else stream

    def write(self, text: str) -> int:
        """As of any stream."""
        if text == "":  # only to see what it takes
            return 0
        return self._try(lambda: self._stream.write(text))

    def flush(self) -> None:
        """As of any stream."""
        self._try(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _try(self, work: Callable[[], T]) -> T:
        if not self._why:
            try:
                return work()
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise
                self._why = error.strerror or str(error)
                self._let_go()
        raise CannotPrint(why=self._why, done="")

    def _let_go(self) -> None:
        """Or Python would try again at its end, and complain at length."""
        with suppress(OSError), _nowhere() as nowhere:
            os.dup2(nowhere.fileno(), self._stream.fileno())


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


@contextmanager
def carried_out() -> Iterator[None]:
    """What is printed in the block tells of something that is done, and done it is if that cannot be printed."""
    try:
        yield
    except CannotPrint as error:
        raise CannotPrint(why=error.why, done=" The command itself was carried out.") from None
