"""Do imports point downwards only, and is the core pure?

The checker reads source with `ast` and runs none of it, so it also sees imports inside functions. What stands under
`if __name__ == "__main__":` is a command and not part of its layer; imports under `if TYPE_CHECKING:` do count.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "lightsched"

# Lowest first. A module may import from its own layer and from those below.
LAYERS = [
    {"timing"},
    {"settings", "security"},
    {"event"},
    {"engine"},
    {"store"},
    {"compression", "reaching", "odd_headers"},  # of Kafka, from wherever
    {"log"},
    {"node"},
    {"client"},
    {"cli", "api", "dashboard", "executor", "injector", "testing"},
    {"__init__", "__main__", "pytest_plugin"},  # the public face
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
FOR_ALL = {"errors"}  # imported by every layer, imports none
VERSION = "lightsched.__version__"  # what a node and those above it may take from the public face

KNOWS_ONLY = {
    "client": {"client", "settings", "security", "timing", "event", "compression", "reaching", "odd_headers"},
    "executor": {"executor", "client", "settings", "security", "timing", "event", "compression", "odd_headers"},
    "injector": {"injector", "client", "event"},
}  # what runs where there is no server

ADAPTERS = {"kafka", "embedded"}  # of the port in `log`: they know the port, but neither each other nor it them

PURE = {"timing", "event", "engine"}
IMPURE_MODULES = {
    *("asyncio", "time", "threading", "socket", "os", "io", "pathlib", "random", "secrets"),
    *("concurrent", "multiprocessing", "subprocess", "select", "signal", "ssl", "http.client", "tempfile", "shutil"),
    *("logging", "urllib.request", "uuid"),
    *("rocksdict", "aiokafka", "fastapi", "httpx", "uvicorn", "starlette", "uvloop", "prometheus_client"),
}
CLOCKS = {"datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"}


def violations(module: str, source: str) -> list[str]:
    """What is wrong with a module of lightsched, one sentence each."""
    package = module if module.endswith(".__init__") else module.rpartition(".")[0]
    tree = _Library().visit(ast.parse(source))
    found = []
    for line, target in imports(tree, package.removesuffix(".__init__")):
        if complaint := complaint_about_layers(module, target) or complaint_about_purity(module, target):
            found.append(f"{module}:{line} {complaint}")
    if layer_of(module) in PURE:
        found += [
            f"{module}:{line} {layer_of(module)} is pure, but uses {name}" for line, name in clocks_and_files(tree)
        ]
    return list(dict.fromkeys(found))


class _Library(ast.NodeTransformer):
    """Leaves out what only runs when a module is the program."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        return node.orelse if ast.unparse(node.test) == "__name__ == '__main__'" else self.generic_visit(node)


def imports(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each thing imported, relative imports resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")
                base = ".".join([*parents[: len(parents) - node.level + 1], *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def layer_of(module: str) -> str:
    _, _, inside = module.partition(".")
    return inside.split(".")[0] or "__init__"


def adapter_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["log"] and len(parts) > 2 and parts[2] in ADAPTERS else None


def complaint_about_layers(module: str, target: str) -> str | None:
    if not f"{target}.".startswith("lightsched."):
        return None
    ours, theirs = layer_of(module), layer_of(target)
    if theirs in FOR_ALL:
        return None
    if ours in FOR_ALL:
        return f"{ours} is imported by every layer, so it cannot import {theirs}"
    if ours not in HEIGHT:
        return f"{ours} is in no layer: give it one in LAYERS"
    if target == VERSION and HEIGHT[ours] >= HEIGHT["node"]:
        return None
    if theirs not in HEIGHT:
        return f"imports {target}, which is in no layer: give it one in LAYERS"
    if HEIGHT[theirs] > HEIGHT[ours]:
        return f"imports upwards: {ours} must not know {theirs}"
    if theirs not in KNOWS_ONLY.get(ours, HEIGHT):
        return f"{ours} runs where there is no server, so it cannot import {theirs}"
    if ours == theirs == "log" and (known := adapter_of(target)) and known != adapter_of(module):
        return f"{adapter_of(module) or 'the port'} must not know the adapter {known}"
    return None


def complaint_about_purity(module: str, target: str) -> str | None:
    if layer_of(module) in PURE:
        for impure in IMPURE_MODULES:
            if f"{target}.".startswith(f"{impure}."):
                return f"{layer_of(module)} is pure, but imports {impure}"
    return None


def clocks_and_files(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each use of a clock or of `open`, whatever the name it was imported under."""
    full_names = {"open": "open"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            full_names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            full_names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            first, dot, rest = ast.unparse(node).partition(".")
            name = full_names.get(first, first) + dot + rest
            if name in CLOCKS | {"open"}:
                yield node.lineno, name


def modules() -> list[tuple[str, Path]]:
    files = sorted(SOURCE.rglob("*.py"))
    return [(".".join(["lightsched", *file.relative_to(SOURCE).with_suffix("").parts]), file) for file in files]


def test_imports_point_downwards_and_the_core_is_pure():
    found = [line for module, file in modules() for line in violations(module, file.read_text(encoding="utf-8"))]
    assert not found, "\n" + "\n".join(found)


def test_every_module_belongs_to_a_layer():
    homeless = {layer_of(module) for module, _ in modules()} - HEIGHT.keys() - FOR_ALL
    assert not homeless, f"give these a place in LAYERS: {homeless}"


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("timing.cron", "from lightsched.event import Event"),
        ("timing.cron", "import lightsched.event.status"),
        ("timing.cron", "from lightsched import event"),
        ("timing.cron", "from ..event import status"),
        ("timing.__init__", "from ..event import status"),
        ("event.__init__", "from .. import engine"),
        ("engine.step", "def later():\n    from lightsched.store import keys"),
        ("engine.step", "if TYPE_CHECKING:\n    from lightsched.log import Log"),
        ("store.rocks", "from lightsched.log.port import Log"),
        ("store.rocks", "from lightsched import __version__"),
        ("log.embedded.log", "from lightsched.node import worker"),
        ("log.embedded.log", "from lightsched.log.kafka import log"),
        ("log.embedded", "from .kafka import log"),
        ("log.port", "from lightsched.log import embedded"),
        ("log.__init__", "from .embedded import EmbeddedLog"),
        ("node.worker", "from lightsched.api import app"),
        ("node.worker", "import lightsched"),
        ("client.rest", "from lightsched.node.settings import Settings"),
        ("client.rest", "from lightsched.api.shapes import Result"),
        ("node.worker", "from lightsched.misc import thing"),
        ("misc.thing", "from lightsched.event import Event"),
        ("errors", "from lightsched.event import Event"),
    ],
)
def test_an_import_that_points_upwards_is_found(module, source):
    assert len(violations(f"lightsched.{module}", source)) == 1


@pytest.mark.parametrize("module", ["timing.cron", "event.status", "engine.__init__"])
@pytest.mark.parametrize(
    "source",
    [
        *(f"import {name}" for name in sorted(IMPURE_MODULES)),
        "import os.path as p",
        "from time import monotonic",
        "def f():\n    import asyncio",
        "from datetime import datetime\ndatetime.now(UTC)",
        "from datetime import datetime as when\nwhen.utcnow()",
        "import datetime\ndatetime.datetime.now()",
        "import datetime as dt\nclock = dt.datetime.now",
        "import datetime as dt\ndt.date.today()",
        "from datetime import date\ndate.today()",
        "open('x')",
        "with open('x') as f: pass",
    ],
)
def test_io_and_clocks_in_the_core_are_found(module, source):
    assert len(violations(f"lightsched.{module}", source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("timing.cron", "from datetime import datetime, time\ndatetime.fromtimestamp(0, UTC)"),
        ("event.delivery", "from urllib.parse import quote, unquote"),
        ("timing.cron", "from .window import Window\nfrom lightsched.errors import LightschedError"),
        ("engine.step", "def step(view, inputs, now): return inputs.now, view.today, view.open()"),
        ("engine.step", "from lightsched.event import Event\nfrom lightsched.timing import cron"),
        ("event.schema", "if __name__ == '__main__':\n    from pathlib import Path\n    open('x')"),
        ("store.rocks", "import os, time, rocksdict\nopen('x')"),
        (
            "log.embedded.log",
            "from lightsched.log.port import Log\nfrom lightsched.store import keys\nfrom . import topic",
        ),
        ("node.worker", "from lightsched import __version__\nfrom lightsched.log.embedded import EmbeddedLog"),
        ("api.app", "from lightsched.node import Node\nfrom lightsched.dashboard import page"),
        ("__init__", "from lightsched.client import Client\nfrom .api import asgi"),
        ("client.rest", "import httpx\nfrom lightsched.event.model import Event"),
        ("cli.events", "from lightsched.client import SyncClient"),
        ("__main__", "from lightsched.cli import main"),
    ],
)
def test_what_is_allowed_is_let_through(module, source):
    assert violations(f"lightsched.{module}", source) == []
