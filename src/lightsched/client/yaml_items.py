"""Which items does a YAML list have? Read one by one, so that the length of the list does not matter.

An alias stands for what it names, however large that is: nine lines are enough for a billion. So each item is weighed
with its aliases written out before it is built. What is anchored has to be kept for later items, and has a limit too.

`17:00` is a time of day here, and not 1,020: numbers to the base of sixty went out of YAML with its version 1.2.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from lightsched.client.errors import Invalid

_SLACK = 65_536  # what a parser reads ahead
_NODE = 8  # bytes that a node counts for, besides its text
_MOST_ANCHORED = 16  # times the limit of an event
_NUMBERS = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})


class Item(NamedTuple):
    """An item of the list: its line, and what it is, or why it is nothing."""

    line: int
    value: Any
    problem: str = ""


def items(stream: BinaryIO, most: int) -> Iterator[Item]:
    """The items of the list that a file holds."""
    metered = _Metered(stream, most)
    try:
        loader = _load(metered)
        loader.get_event()  # the stream begins
        if loader.check_event(yaml.StreamEndEvent):
            return
        loader.get_event()  # the document
        if not loader.check_event(yaml.SequenceStartEvent):
            if _is_empty(loader):
                return
            raise Invalid("line 1: must be a list of events: begin each with `- `.")
        loader.get_event()
        while not loader.check_event(yaml.SequenceEndEvent):
            yield _item(loader, metered, most)
        loader.get_event()
        loader.get_event()  # the end of the document
        if not loader.check_event(yaml.StreamEndEvent):
            line = loader.peek_event().start_mark.line + 1
            raise Invalid(f"line {line}: after the end of the list there is more: send one list.")
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        raise Invalid(f"line {line}: is not YAML: {error.problem}.") from None
    except yaml.YAMLError as error:
        raise Invalid(f"is not YAML: {str(error).splitlines()[0]}.") from None
    except RecursionError:
        raise Invalid("is not YAML: it is nested too deeply.") from None


def _item(loader: Any, metered: "_Metered", most: int) -> Item:
    node = loader.compose_node(None, None)
    number = node.start_mark.line + 1
    metered.held = 0
    for anchored in islice(loader.anchors.values(), metered.anchors, None):
        metered.anchored += _kept(anchored, metered.kept)
    metered.anchors = len(loader.anchors)
    if metered.anchored > _MOST_ANCHORED * most:
        raise Invalid(f"line {number}: so much is anchored (`&`) that it cannot be kept: write it out.")
    weight = _weigh(node, {})
    if weight is None:
        return Item(number, None, "is no event: it contains itself")
    if weight > most:
        return Item(number, None, f"is longer than {most:,} bytes with its aliases (`*`) written out: shorten it")
    try:
        return Item(number, loader.construct_document(node))
    except yaml.MarkedYAMLError as error:
        return Item(number, None, f"is no event: {error.problem or error}")
    except ValueError as error:  # such as a date that there is not
        return Item(number, None, f"is no event: {error}")


def _weigh(node: yaml.Node, known: dict[int, int | None]) -> int | None:
    """How many bytes it is, roughly, with its aliases written out; None: it contains itself."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = None
    weight = _own_weight(node)
    for inner in _inside(node):
        each = _weigh(inner, known)
        if each is None:
            return None
        weight += each
    known[id(node)] = weight
    return weight


def _kept(node: yaml.Node, kept: set[int]) -> int:
    """How many bytes stay in memory for it, besides those that do so anyway."""
    if id(node) in kept:
        return 0
    kept.add(id(node))
    return _own_weight(node) + sum(_kept(inner, kept) for inner in _inside(node))


def _own_weight(node: yaml.Node) -> int:
    return _NODE + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)


def _inside(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair


def _is_empty(loader: Any) -> bool:
    """Nothing but comments."""
    event = loader.peek_event()
    return isinstance(event, yaml.ScalarEvent) and event.value == "" and event.style is None and event.anchor is None


class _Metered:
    """A stream of which one item may not take too much."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream = stream
        self._most = most + _SLACK
        self.held = 0
        self.anchors = 0
        self.anchored = 0  # bytes
        self.kept: set[int] = set()  # the nodes that these are

    def read(self, size: int) -> bytes:
        some = self._stream.read(size)
        self.held += len(some)
        if self.held > self._most:
            raise Invalid(f"an event is longer than {self._most - _SLACK:,} bytes.")
        return some


class _WithoutSixties:
    """What a number looks like, except to the base of sixty."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern

    def match(self, text: str) -> re.Match[str] | None:
        return None if ":" in text else self._pattern.match(text)


_PLAIN = {
    first: [(tag, _WithoutSixties(pattern) if tag in _NUMBERS else pattern) for tag, pattern in known]
    for first, known in Resolver.yaml_implicit_resolvers.items()
}


class _Resolver(Resolver):
    """Says what a plain word is."""

    yaml_implicit_resolvers = _PLAIN


_InC: Any = getattr(yaml, "CParser", None)
if _InC is None:

    class _Slow(_Resolver, yaml.SafeLoader):
        """Parses in Python."""

    _load: Any = _Slow
else:

    class _Loader(Composer, _InC, SafeConstructor, _Resolver):  # type: ignore[misc]
        """Parses in C, and composes in Python: so that it can be done item by item."""

        def __init__(self, stream: _Metered) -> None:
            _InC.__init__(self, stream)
            Composer.__init__(self)
            SafeConstructor.__init__(self)
            _Resolver.__init__(self)

    _load = _Loader
