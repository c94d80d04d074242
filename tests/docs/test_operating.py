"""What an operator looks up is there: every setting, every metric."""

import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from lightsched.node.metrics import Metrics
from lightsched.node.settings import Settings
from lightsched.settings import Section

DOCS = Path(__file__).parent.parent.parent / "docs"
ELSEWHERE = {"kafka.security"}  # on its own page


def names(model, before=""):
    for name, field in model.model_fields.items():
        section = isinstance(field.annotation, type) and issubclass(field.annotation, Section)
        if section and before + name not in ELSEWHERE:
            yield from names(field.annotation, f"{before}{name}.")
        else:
            yield before + name


@pytest.mark.parametrize("name", list(names(Settings)))
def test_every_setting_is_explained(name):
    assert f"`{name}`" in (DOCS / "settings.md").read_text()


def test_no_setting_is_explained_that_is_not_there():
    rows = re.findall(r"^\| (`.+?`) \|", (DOCS / "settings.md").read_text(), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_.]+)`", row)}
    assert named - {"setting"} == set(names(Settings))


def metrics() -> list[str]:
    registry: CollectorRegistry = Metrics().registry
    counters = {"counter": "_total"}
    return [metric.name + counters.get(metric.type, "") for metric in registry.collect()]


@pytest.mark.parametrize("name", metrics())
def test_every_metric_is_named(name):
    page = (DOCS / "operating.md").read_text()
    assert re.search(rf"\b{name.removeprefix('lightsched_')}\b|\b{name}(_bucket)?\b", page), name
