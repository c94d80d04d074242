"""Is the contract enough? Programs in other languages, with their ordinary clients, schedule, execute and report."""

import json
import re
from pathlib import Path

import pytest

from lightsched import SyncClient
from lightsched.client import NotFound
from tests.api.conftest import eventually
from tests.examples.languages import FOLDER, LANGUAGES

WITHIN_S = 90


@pytest.mark.timeout(900)  # the first time it is built, with all that it needs
@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
def test_an_event_is_scheduled_executed_and_reported(language, on_kafka, name, tmp_path):
    address, place = on_kafka
    variables = {
        "KAFKA": place.bootstrap,
        "PREFIX": place.prefix,
        "TOPIC": f"{place.prefix}deliveries",
        "GROUP": name,
        "LIGHTSCHED_SERVER": address,
    }
    to = f"{name}@example.org"
    said = tmp_path / "said"
    language.ready()
    with SyncClient(address) as client, language.executing(variables, said):
        assert name in language.say(variables, name, to)
        client.schedule(id=f"{name}-bad", type="mail.send", in_="1ms", retry={"delays": ["1ms"]}, payload={"text": "?"})
        client.schedule(id=f"{name}-other", type="other", in_="1ms", timeout="1h")

        good, bad = (eventually(lambda id=id: over(client, id), WITHIN_S) for id in (name, f"{name}-bad"))
        assert (good.status, good.key, good.type) == ("SUCCESS", to, "mail.send")
        (run,) = client.runs(name)
        assert run.result == {"sent_to": to}
        assert [(each.status, each.executor) for each in run.attempts] == [("SUCCESS", language.name)]
        assert (delivered := re.search(rf"/{name}/\S*#1 due \S+: (.+)", said.read_text())), said.read_text()
        assert to in delivered[1]

        assert bad.status == "FATAL_FAILURE"
        (run,) = client.runs(f"{name}-bad")
        assert [each.executor for each in run.attempts] == [language.name] * 2
        assert all(each.error for each in run.attempts)

        assert client.get(f"{name}-other").status == "NOT_STARTED", "what is not its own it leaves alone"


def over(client, id):
    """The event, once all is said about it."""
    try:
        event = client.get(id)
    except NotFound:  # its command is still on the way
        return None
    return event if event.status in {"SUCCESS", "FATAL_FAILURE"} else None


def test_every_language_is_run_and_shown():
    assert {folder.name for folder in FOLDER.iterdir() if folder.is_dir()} == {each.name for each in LANGUAGES}
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for language in LANGUAGES:
        assert f"[{language.name}]({language.name})" in page
        shown = (language.folder / "README.md").read_text(encoding="utf-8")
        assert shown.count("greeting ada@example.org") == 1


def test_the_lock_files_name_no_registry():
    lock = json.loads(Path(FOLDER / "node" / "package-lock.json").read_text(encoding="utf-8"))
    installed = [package for path, package in lock["packages"].items() if path]
    assert {"kafkajs", "lz4-napi"} <= lock["packages"][""]["dependencies"].keys()
    assert all("integrity" in package and "resolved" not in package for package in installed)
