"""How does a file get in? Once it is complete, once; and what is wrong with it is said, where it was put."""

import asyncio
import json
import shutil
import time

import pytest

from lightsched.client import Client, SyncClient
from lightsched_files.folder import Folder, FolderInUse
from lightsched_files.rest import Rest
from lightsched_files.settings import LimitSettings, RestSettings, WatchSettings
from lightsched_files.watcher import Watcher
from tests.api.conftest import free_port, started
from tests.injectors.files.process import watching


def watcher_of(server, inbox, **rule):
    rules = [WatchSettings(directory=inbox, **{"settle": 1, **rule})]
    return Watcher(rules, lambda: Rest(RestSettings(url=server)), LimitSettings(), rescan_ms=50)


async def inject(server, inbox, **rule):
    watcher = watcher_of(server, inbox, **rule)
    await asyncio.wait_for(watcher.run(once=True), 60)
    return watcher.counts


async def appears(path):
    async with asyncio.timeout(60):
        while not path.exists():  # noqa: ASYNC110 - a directory tells nobody here
            await asyncio.sleep(0.02)


def names_in(folder):
    return sorted(entry.name for entry in folder.iterdir())


async def scheduled(server, name):
    async with Client(server) as client:
        return [event async for event in client.list(labels={"t": name})]


async def test_files_of_every_form_are_injected_and_put_into_done(server, inbox, name):
    (inbox / "a.ndjson").write_text(json.dumps({"in": "1h", "labels": {"t": name}}) + "\n")
    (inbox / "b.json").write_text(json.dumps([{"in": "1h", "labels": {"t": name}}], indent=2))
    (inbox / "c.yaml").write_text(f"- in: 1h\n  labels: {{t: {name}}}\n")
    (inbox / "d.csv").write_text(f"in,labels.t\n1h,{name}\n2h,{name}\n")
    counts = await inject(server, inbox)
    assert (counts["done"], counts["failed"], counts["events"]) == (4, 0, 5)
    assert names_in(inbox / "done") == ["a.ndjson", "b.json", "c.yaml", "d.csv"]
    assert names_in(inbox / "failed") == []
    assert len(await scheduled(server, name)) == 5


async def test_a_file_that_is_dropped_again_schedules_nothing_again(server, inbox, name):
    text = json.dumps({"in": "1h", "labels": {"t": name}}) + "\n"
    for _ in range(2):
        (inbox / "a.ndjson").write_text(text)
        await inject(server, inbox)
    assert len(await scheduled(server, name)) == 1
    assert names_in(inbox / "done") == ["a.ndjson", "a~2.ndjson"]


async def test_one_bad_line_rejects_the_file_or_only_itself(server, inbox, name):
    good = json.dumps({"in": "1h", "labels": {"t": name}})
    text = f"{good}\n" + '{"in": "soon"}\n' + "not json\n"
    (inbox / "a.ndjson").write_text(text)
    await inject(server, inbox, on_error="reject")
    assert await scheduled(server, name) == []
    assert names_in(inbox / "failed") == ["a.ndjson", "a.ndjson.error"]
    head, second, third = (inbox / "failed" / "a.ndjson.error").read_text().splitlines()
    assert head == "# a.ndjson: nothing of it is scheduled. Correct it and drop it again."
    assert second.startswith("a.ndjson:2: in: 'soon' is not a duration")
    assert third.startswith("a.ndjson:3: is not valid JSON")

    (inbox / "a.ndjson").write_text(text)
    await inject(server, inbox, on_error="accept")
    assert len(await scheduled(server, name)) == 1
    assert names_in(inbox / "done") == ["a~2.ndjson"]
    assert (
        (inbox / "failed" / "a~2.ndjson.error").read_text().startswith("# a.ndjson: 1 event is scheduled, 2 are not.")
    )


async def test_what_the_server_refuses_is_in_the_report(server, inbox, name):
    lines = [
        {"id": f"{name}1", "in": "1h", "labels": {"t": name}},
        {"id": f"{name}1", "in": "2h", "on_conflict": "reject"},
        {"op": "cancel", "id": f"{name}-nobody"},
    ]
    (inbox / "a.ndjson").write_text("\n".join(map(json.dumps, lines)))
    await inject(server, inbox)
    report = (inbox / "failed" / "a.ndjson.error").read_text()
    assert report.startswith("# a.ndjson: 1 event is scheduled, 2 are not.")
    assert "a.ndjson:2: an event with this identity exists" in report
    assert "a.ndjson:3: " in report
    assert len(await scheduled(server, name)) == 1


async def test_a_converter_is_named_by_the_settings(server, inbox, name):
    (inbox / "a.txt").write_text(f"{name} tea\n{name} coffee\n")
    (inbox / "b.other").write_text("is left alone")
    await inject(server, inbox, pattern="*.txt", converter=f"{__name__}:words", options={"in": "2h"}, tenant="acme")
    async with Client(server, tenant="acme") as client:
        found = [event.payload async for event in client.list(labels={"t": name})]
    assert sorted(found) == ["coffee", "tea"]
    assert names_in(inbox) == [".lightsched", "b.other", "done", "failed"]


def words(lines, source):
    from lightsched_files.converting import EventLine  # noqa: PLC0415

    for number, line in enumerate(lines, start=1):
        label, text = line.split()
        yield EventLine(number, {"in": source.options["in"], "labels": {"t": label}, "payload": text})


async def test_a_directory_is_watched_by_one_only(server, inbox):
    with Folder(inbox), pytest.raises(FolderInUse, match=f"Another process watches {inbox} already"):
        await inject(server, inbox)
    with Folder(inbox):
        pass


async def test_a_file_that_grows_is_left_until_it_is_still(server, inbox, name):
    watcher = watcher_of(server, inbox, settle=400)
    running = asyncio.create_task(watcher.run())
    line = json.dumps({"in": "1h", "labels": {"t": name}}) + "\n"
    with (inbox / "a.ndjson").open("w") as file:
        for _ in range(20):
            file.write(line)
            file.flush()
            await asyncio.sleep(0.05)
            assert (inbox / "a.ndjson").exists()
    await appears(inbox / "done" / "a.ndjson")
    watcher.stop()
    await running
    assert len(await scheduled(server, name)) == 20


async def test_a_directory_that_vanishes_is_waited_for(server, inbox, name):
    watcher = watcher_of(server, inbox)
    running = asyncio.create_task(watcher.run())
    await appears(inbox / "done")
    shutil.rmtree(inbox)
    inbox.mkdir()
    (inbox / "a.ndjson").write_text(json.dumps({"in": "1h", "labels": {"t": name}}))
    await appears(inbox / "done" / "a.ndjson")
    watcher.stop()
    await running


def test_a_directory_that_vanishes_with_a_file_under_way_is_finished_when_it_is_back(tmp_path, inbox, name):
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    settings = {"watch": [{"directory": str(inbox), "settle": "1ms"}], "inject": {"rest": {"url": address}}}
    (inbox / "a.ndjson").write_text(json.dumps({"id": name, "in": "1h"}))
    with watching(tmp_path, settings | {"rescan": "100ms"}) as process:
        process.wait_until((inbox / ".lightsched" / "1").exists)
        inbox.rename(away := tmp_path / "away")
        process.wait_for(f"{inbox} is not there: waiting for it")
        with started(tmp_path, "--port", str(port)), SyncClient(address) as client:
            assert list(client.list()) == []
            away.rename(inbox)
            process.wait_until((inbox / "done" / "a.ndjson").exists)
            assert [event.id for event in client.list()] == [name]
    assert names_in(inbox / ".lightsched") == ["journal.json", "lock"]


async def test_a_server_that_is_away_loses_nothing(inbox, server, name):
    (inbox / "a.ndjson").write_text(json.dumps({"in": "1h", "labels": {"t": name}}))
    away = watcher_of("http://127.0.0.1:9", inbox)
    running = asyncio.create_task(away.run())
    await appears(inbox / ".lightsched" / "1")
    away.stop()
    await running
    await inject(server, inbox)
    assert names_in(inbox / "done") == ["a.ndjson"]
    assert len(await scheduled(server, name)) == 1


def test_the_daemon_tells_what_is_wrong_with_its_settings(tmp_path, inbox):
    with watching(tmp_path, {"watch": [{"directory": str(inbox), "patern": "*"}]}) as process:
        assert process.ends() == 2
        assert "watch.0.patern: is not a known setting" in process.said
    with watching(tmp_path, {"watch": [{"directory": str(inbox), "converter": "nobody"}]}) as process:
        assert process.ends() == 2
        assert "There is no converter 'nobody'" in process.said


def test_a_second_daemon_says_that_the_directory_is_taken(tmp_path, inbox, server):
    settings = {"watch": [{"directory": str(inbox)}], "inject": {"rest": {"url": server}}}
    with Folder(inbox), watching(tmp_path, settings) as process:
        assert process.ends() == 1
        assert f"Another process watches {inbox} already" in process.said


def test_sigterm_ends_between_two_chunks_and_the_rest_follows(tmp_path, inbox, server, name):
    lines = [json.dumps({"in": "1h", "labels": {"t": name}, "payload": n}) for n in range(20_000)]
    (inbox / "a.ndjson").write_text("\n".join(lines))
    settings = {"watch": [{"directory": str(inbox), "settle": "1ms"}], "inject": {"rest": {"url": server}}}
    with watching(tmp_path, settings) as process:
        process.wait_until((inbox / ".lightsched" / "1").exists)
        process.stop()
    with watching(tmp_path, settings, "--once") as process:
        assert process.ends() == 0
    assert names_in(inbox / "done") == ["a.ndjson"]
    assert sorted(names_in(inbox / ".lightsched")) == ["journal.json", "lock"]


def test_dev_injects_what_is_dropped_into_its_inbox(tmp_path, name):
    inbox = tmp_path / "made" / "inbox"
    with started(tmp_path, "--inbox", str(inbox), "--no-executors") as (_, address):
        assert inbox.is_dir()
        (inbox / "a.csv").write_text(f"id,in\n{name},1h\n")
        deadline = time.monotonic() + 60
        while not (inbox / "done" / "a.csv").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with SyncClient(address) as client:
            assert client.get(name).status == "NOT_STARTED"
