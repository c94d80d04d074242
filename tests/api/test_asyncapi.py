"""Does the AsyncAPI document describe the topics as they are?"""

from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

from lightsched.api.asyncapi import asyncapi
from lightsched.event.command import read_command
from lightsched.event.limits import DEFAULT_LIMITS
from lightsched.event.record import Appended, Record
from lightsched.event.topics import DEFAULT, Topics

PUBLISHED = Path(__file__).parents[2] / "docs" / "asyncapi.json"
DOCUMENT = msgspec.json.decode(msgspec.json.encode(asyncapi()))
MESSAGES = DOCUMENT["components"]["messages"]
EXAMPLES = [(name, example) for name, message in MESSAGES.items() for example in message.get("examples", [])]


def references(part):
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


def at(reference):
    part = DOCUMENT
    for name in reference.removeprefix("#/").split("/"):
        part = part[name]
    return part


def validator(schema):
    return jsonschema_rs.Draft7Validator({"components": DOCUMENT["components"], "allOf": [schema]})


def test_what_is_published_is_current():
    assert msgspec.json.decode(PUBLISHED.read_bytes()) == DOCUMENT, "run `make schema`"


def test_it_has_the_parts_that_asyncapi_asks_for():
    assert DOCUMENT["asyncapi"] == "3.0.0"
    assert DOCUMENT["info"].keys() >= {"title", "version"}
    assert DOCUMENT.keys() <= {"asyncapi", "info", "channels", "operations", "components"}


def test_every_topic_is_described():
    assert {channel["address"] for channel in DOCUMENT["channels"].values()} == DEFAULT.own | {DEFAULT.deliveries}


def test_every_reference_leads_somewhere():
    found = list(references(DOCUMENT))
    assert found
    for reference in found:
        assert at(reference)


def test_every_channel_is_used_and_an_operation_knows_only_the_messages_of_its_channel():
    used = set()
    for operation in DOCUMENT["operations"].values():
        assert operation["action"] in ("send", "receive")
        channel = operation["channel"]["$ref"]
        used.add(channel)
        assert operation["messages"]
        assert all(each["$ref"].startswith(f"{channel}/messages/") for each in operation["messages"])
    assert used == {f"#/channels/{name}" for name in DOCUMENT["channels"]}


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_every_schema_is_one(name):
    assert jsonschema_rs.meta.is_valid({"$schema": "http://json-schema.org/draft-07/schema#", **at_schema(name)})


def at_schema(name):
    return DOCUMENT["components"]["schemas"][name]


def test_every_message_but_the_internal_one_has_an_example():
    assert {name for name, message in MESSAGES.items() if not message.get("examples")} == {"change"}


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=lambda value: value if isinstance(value, str) else "")
def test_every_example_is_one(name, example):
    message = MESSAGES[name]
    validator(message["payload"]).validate(example["payload"])
    assert ("headers" in message) == ("headers" in example)
    if "headers" in message:
        validator(message["headers"]).validate(example["headers"])


def test_the_example_in_header_mode_is_understood():
    (example,) = MESSAGES["commandInHeaders"]["examples"]
    headers = tuple((name, value.encode()) for name, value in example["headers"].items())
    record = Record(None, example["payload"].encode(), headers)
    command = read_command(Appended(DEFAULT.events, 0, 0, 1, record), DEFAULT_LIMITS, {}, 1)
    assert (command.event.id, command.event.topics, command.event.headers) == ("tea", ("drinks",), {"trace": "7"})


def test_a_server_says_what_its_own_topics_are_called():
    addresses = {channel["address"] for channel in asyncapi(Topics("mine."))["channels"].values()}
    assert all(address.startswith("mine.") for address in addresses)


def test_it_is_served_beside_the_other_document(http):
    response = http.get("/asyncapi.json")
    assert response.headers["content-type"] == "application/json"
    assert response.json() == DOCUMENT
