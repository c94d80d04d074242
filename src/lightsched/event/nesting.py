"""How deep may JSON be nested? Not as deep as a decoder can go: that depends on where in the program it is called, and
what was read once has to be read again, from anywhere.
"""

import re

MOST_NESTED = 200
_MARKS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
"""A string, also one that never ends: so the text is passed over once. Or something that opens, or closes."""


def check_nesting(text: bytes) -> None:
    """Raise `RecursionError`, as the decoder does, if it is nested deeper than `MOST_NESTED`."""
    if text.count(b"[") + text.count(b"{") <= MOST_NESTED:
        return
    depth = 0
    for mark in _MARKS.finditer(text):
        if mark[0] in b"[{":
            depth += 1
            if depth > MOST_NESTED:
                raise RecursionError
        elif mark[0] in b"]}":
            depth -= 1
