"""lightsched: hand it an event, it is delivered once, on time.

    from lightsched import Client, SyncClient, Executor, Context, Retry, Fatal, Then, Settings, asgi

What is named here is imported when it is asked for: a node needs no HTTP client, and a client no node.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightsched.api.mounted import Mounted
    from lightsched.client import Client, SyncClient
    from lightsched.executor import Context, Executor, Fatal, Retry, Seen, Then, once
    from lightsched.node.settings import Settings

    __version__: str

_FOUND_IN = {
    **dict.fromkeys(("Client", "SyncClient"), "lightsched.client"),
    **dict.fromkeys(("Context", "Executor", "Fatal", "Retry", "Seen", "Then", "once"), "lightsched.executor"),
    "Settings": "lightsched.node.settings",
}

__all__ = [
    "Client",
    "Context",
    "Executor",
    "Fatal",
    "Retry",
    "Seen",
    "Settings",
    "SyncClient",
    "Then",
    "__version__",
    "asgi",
    "once",
]


def asgi(settings: "Settings | None" = None) -> "Mounted":
    """The whole API as an ASGI app, to mount in another one. Without settings: from the environment."""
    from lightsched.api.mounted import Mounted  # noqa: PLC0415
    from lightsched.node.settings import Settings  # noqa: PLC0415

    if settings is None:
        settings = Settings.load()
    elif not isinstance(settings, Settings):
        raise TypeError(f"asgi takes Settings, not {type(settings).__name__}: write asgi(Settings.load(data=…))")
    return Mounted(settings)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("lightsched")
    if name in _FOUND_IN:
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module(_FOUND_IN[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
