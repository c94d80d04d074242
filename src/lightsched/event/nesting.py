"""How deep may JSON be nested? Not as deep as a decoder can go: that depends on where in the program it is called, and
what was read once has to be read again, from anywhere.
"""

import re

MOST_NESTED = 200
_MARKS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
"""A string, also one that never ends: so the text is passed over once. Or something that opens, or closes."""


def check_nesting(text: bytes) -> None:
    """Raise `RecursionError`, as the decoder does, if it is nested deeper than `MOST_NESTED`."""
    if len(text) <= MOST_NESTED or not _opens_often(text):
        return
    depth = 0
    for mark in _MARKS.finditer(text):
        if mark[0] in b"[{":
            depth += 1
            if depth > MOST_NESTED:
                raise RecursionError
        elif mark[0] in b"]}":
            depth -= 1


def _opens_often(text: bytes) -> bool:
    """Is there enough that opens? Most texts have little, and finding the next one is ten times as fast as counting."""
    find, left = text.find, MOST_NESTED
    for opening in (b"{", b"["):
        at = find(opening)
        while at >= 0:
            if not left:
                return True
            left -= 1
            at = find(opening, at + 1)
    return False
