"""How is a converter written? With these; docs/converters.md of lightsched says how, and shows one."""

from lightsched.injector import Converted, Converter, EventLine, Problem, Source

__all__ = ["Converted", "Converter", "EventLine", "Problem", "Source"]
