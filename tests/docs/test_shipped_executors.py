"""Is the page about the shipped executors true?"""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from lightsched import Client
from lightsched_command import CommandSettings
from lightsched_forward import ForwardSettings
from lightsched_http import HttpSettings
from tests.docs.running import fences, run
from tests.executors.conftest import ended, name, running, server

__all__ = ["name", "server"]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "shipped-executors.md").read_text(encoding="utf-8")
EXECUTORS = sorted(path.parent.name for path in (ROOT / "executors").glob("*/pyproject.toml"))


def readme(executor):
    return (ROOT / "executors" / executor / "README.md").read_text(encoding="utf-8")


def blocks(markdown, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", markdown, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_every_executor_is_on_the_page_and_has_what_a_distribution_needs(executor):
    assert f"[lightsched-{executor}](../executors/{executor}/README.md)" in PAGE
    project = tomllib.loads((ROOT / "executors" / executor / "pyproject.toml").read_text())["project"]
    assert project["name"] == f"lightsched-{executor}"


async def test_the_program_on_the_page_runs(server, name):
    names = {}
    (fence,) = fences(PAGE)
    await run(fence, names)
    async with Client(server) as client, running(names["program"], server=server, topics=[name]):
        event = {"type": "mail.send", "in_": "1ms", "topics": [name], "track": True, "payload": {"to": "you"}}
        await client.schedule(id=name, **event)
        assert (await ended(client, name)).result == {"from": "me@example.com", "to": "you"}


def test_the_settings_on_the_pages_are_settings(tmp_path):
    pages = [(PAGE, HttpSettings), (readme("http"), HttpSettings), (readme("forward"), ForwardSettings)]
    for page, settings in pages:
        for block in blocks(page, "yaml"):
            (file := tmp_path / "x.yml").write_text(block)
            assert settings.load(file)
    (block,) = blocks(readme("command"), "yaml")
    content = yaml.safe_load(block)
    content["programs"]["report"]["path"] = "/bin/ls"
    assert CommandSettings.load(**content)


@pytest.mark.parametrize(("executor", "settings"), [("http", HttpSettings), ("command", CommandSettings)])
def test_every_setting_is_described(executor, settings):
    assert [field for field in settings.model_fields if f"`{field}`" not in readme(executor)] == []


@pytest.mark.parametrize("executor", ["http", "command", "chain"])
async def test_the_events_in_the_readmes_can_be_scheduled(server, name, executor):
    async with Client(server) as client:
        for n, block in enumerate(blocks(readme(executor), "json")):
            event = json.loads(block)
            result = await client.schedule(**{**event, "id": f"{name}-{n}", "topics": [name]})
            assert result.outcome == "SCHEDULED"
