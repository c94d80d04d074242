"""What is a file called? In the log, and where it is put without taking another's place.

Names may hold anything but a slash: line ends, bytes that are no text. Where they are shown, such characters are
escaped.
"""

import os
from collections.abc import Iterator
from itertools import count

MOST_NAME_BYTES = 236
"""So much of a name is kept: room for a number and `.error` is left below 255."""
REPORT = ".error"


def shown(name: str) -> str:
    """A name as it can be printed, on one line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in name)


def events_are(count: int) -> str:
    """As one says it."""
    return "1 event is" if count == 1 else f"{count:,} events are"


def candidates(name: str) -> Iterator[str]:
    """The name, then with numbers before its suffix: `orders.csv`, `orders~2.csv`, `orders~3.csv`."""
    stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name, of whatever bytes
    ending = os.fsencode(suffix)[:50]
    kept = os.fsencode(stem)[: MOST_NAME_BYTES - len(ending)]
    yield os.fsdecode(kept + ending)
    for number in count(2):
        yield os.fsdecode(kept + b"~%d" % number + ending)
