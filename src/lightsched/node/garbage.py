"""How often should Python look for garbage? Seldom: what flows through a node has no cycles and goes by itself.

The default is after every 700 new objects; a step makes tens of thousands that live until it is committed, so the
collector would go through all of them again and again (a quarter of the time of a burst, measured).
"""

import gc

NEW_OBJECTS = 200_000


def collect_seldom() -> None:
    """For a process that is a node. What is there by now stays: it is not looked at again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, 10, 10)
