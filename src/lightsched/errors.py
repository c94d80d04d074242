"""How does lightsched say what went wrong, and what to do about it?

An error is a subclass of `LightschedError`. The first paragraph of its docstring is the message, with a field for each
fact; what follows is for the reader of the code:

    class DataDirectoryInUse(LightschedError):
        '''The data directory {path} is in use by process {pid}: stop that one, or give another with --data.'''

    raise DataDirectoryInUse(path=path, pid=pid)

The facts are attributes of the error, so that whoever catches it need not read the message.
"""

from typing import Any

__all__ = ["LightschedError"]


class LightschedError(Exception):
    """Something went wrong in lightsched, and this says no more about it: that is a bug, please report it."""

    def __init__(self, **facts: object) -> None:
        super().__init__(_template(type(self)).format(**facts))
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        # Also asked for while unpickling, when there are no facts yet.
        facts: dict[str, object] = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"{type(self).__name__} has no {name}", name=name, obj=self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _template(error: type[LightschedError]) -> str:
    assert error.__doc__, f"{error.__name__} needs a docstring: it is the message"
    return " ".join(error.__doc__.strip().split("\n\n")[0].split())


def _restored(error: type[LightschedError], args: tuple[str, ...], state: dict[str, object]) -> LightschedError:
    # Not by calling the class: a subclass may take other arguments than its facts.
    restored = error.__new__(error, *args)
    restored.__dict__.update(state)
    return restored
