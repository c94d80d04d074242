"""How is a converter written? With these; `lightsched.client.converting` says how, and shows one."""

from lightsched.client.converting import Converted, Converter, EventLine, Problem, Source

__all__ = ["Converted", "Converter", "EventLine", "Problem", "Source"]
