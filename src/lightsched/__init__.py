"""lightsched: hand it an event, it is delivered once, on time."""

from importlib.metadata import version

__version__ = version("lightsched")
__all__ = ["__version__"]
