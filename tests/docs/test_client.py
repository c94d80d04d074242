"""Are the client's page and its docstrings true? Every example is run, against a real server and a real broker."""

import inspect
from pathlib import Path

import pytest

from lightsched import Client
from lightsched.client import NotFound
from tests.api.conftest import started
from tests.client.conftest import on_kafka
from tests.docs.running import fences, run

__all__ = ["on_kafka"]

ROOT = Path(__file__).parents[2]
PAGE, README = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/client.md", "README.md"))
ADDRESS, BROKER = "http://127.0.0.1:8080", "kafka://127.0.0.1:9092"
METHODS = sorted(name for name, method in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with started(tmp_path_factory.mktemp("server")) as (_, address):
        yield address


async def test_the_page_is_true(server):
    names = {}
    try:
        for fence in fences(PAGE):
            if BROKER not in fence:
                await run(fence.replace(ADDRESS, server), names)
        event = await names["client"].get("next-job")
        assert event.status == "NOT_STARTED"
        with pytest.raises(NotFound):
            await names["client"].get("oops")
    finally:
        await names["client"].close()


async def test_the_readme_is_true(server, capsys):
    (fence,) = [fence for fence in fences(README) if "SyncClient" in fence]
    await run(fence.replace(ADDRESS, server), {})
    assert capsys.readouterr().out.splitlines() == [
        "at 08:00 on Monday, Europe/Paris",
        "report {'format': 'pdf'}",
        "PAUSED",
    ]


async def test_the_part_about_kafka_is_true(on_kafka):
    address, place = on_kafka
    (fence,) = [fence for fence in fences(PAGE) if BROKER in fence]
    await run(fence.replace(BROKER, f"kafka://{place.bootstrap}?prefix={place.prefix}"), {})
    async with Client(address) as client:
        assert [event.id async for event in client.list(prefix="second")] == ["second"]


def test_the_page_names_every_method_and_error():
    from lightsched import client  # noqa: PLC0415

    assert [name for name in METHODS if f"`{name}`" not in PAGE and f"client.{name}" not in PAGE] == []
    errors = [name for name in client.__all__ if isinstance(getattr(client, name), type)]
    errors = [name for name in errors if issubclass(getattr(client, name), client.ClientError)]
    assert [name for name in errors if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize("name", METHODS)
async def test_the_example_of_a_method_runs(server, name):
    example = example_of(getattr(Client, name))
    async with Client(server) as client:
        await client.schedule(id="stand-up", cron="30 9 * * *")
        await client.schedule(id="tea", in_="1h")
        await run(example.replace(ADDRESS, server), {"client": client, "Client": Client})


def example_of(method):
    """The lines of a docstring that stand deeper than the rest."""
    lines = [line[12:] for line in (method.__doc__ or "").splitlines() if line.startswith(" " * 12)]
    assert lines, f"{method.__name__} needs an example"
    return "\n".join(lines)
