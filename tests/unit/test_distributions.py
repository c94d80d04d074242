"""Do injectors and executors use only what every outsider may use?

They are distributions of their own, and the proof that the public face is enough. Public is what stands in `__all__` of
these modules, and nothing else of lightsched: names there change only with an entry in the changelog.

| module | for |
|---|---|
| `lightsched` | who schedules, executes, or mounts the API |
| `lightsched.client` | what clients give and raise, and where they connect |
| `lightsched.injector` | who turns something else into events: reading, converting, checking, placing |
| `lightsched.executor` | who acts on deliveries |
| `lightsched.executor.configured` | an executor that is a program |
| `lightsched.settings` `lightsched.security` | a program's own settings, in the same manner |
| `lightsched.reaching` | who has a Kafka client of their own, and wants to say why it cannot connect |
| `lightsched.timing` `lightsched.errors` | durations and times as in the contract; errors for people |
| `lightsched.testing` | tests |

Like the checker of layers, this one reads source and runs none of it; imports inside functions count.
"""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.unit.test_layers import imports

ROOT = Path(__file__).parents[2]
PUBLIC = set(re.findall(r"`(lightsched[.a-z]*)`", (__doc__ or "").partition("|---|")[2]))
FILES = sorted(file for folder in ("injectors", "executors") for file in (ROOT / folder).rglob("*.py"))


def internals(source: str) -> list[str]:
    """What a module imports of lightsched that is not public."""
    return [target for _, target in imports(ast.parse(source), "outside") if is_ours(target) and not is_public(target)]


def is_ours(target: str) -> bool:
    return f"{target}.".startswith("lightsched.")


def is_public(target: str) -> bool:
    module, _, name = target.rpartition(".")
    return module in PUBLIC and name in import_module(module).__all__


def test_there_are_distributions_and_public_modules():
    assert {file.relative_to(ROOT).parts[1] for file in FILES} >= {"files", "http", "command", "chain", "forward"}
    assert {"lightsched", "lightsched.client", "lightsched.executor.configured", "lightsched.testing"} <= PUBLIC


@pytest.mark.parametrize("module", sorted(PUBLIC))
def test_all_that_is_public_is_there(module):
    found = import_module(module)
    assert [name for name in found.__all__ if not hasattr(found, name)] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_distribution_imports_only_what_is_public(file):
    assert internals(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import lightsched.node.settings",
        "import lightsched.client",  # then every name of it could be used
        "from lightsched.node.settings import Settings",
        "from lightsched.client.errors import Invalid",
        "from lightsched.client import transport",
        "from lightsched import node",
        "from lightsched.client import *",
        "def later():\n    from lightsched.log.kafka import transactions",
    ],
)
def test_what_is_not_public_is_found(source):
    assert len(internals(source)) == 1


def test_what_is_public_is_let_through():
    assert (
        internals("import lightsched_files\nfrom lightsched import Client\nfrom lightsched.client import Kafka") == []
    )
