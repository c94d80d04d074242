"""Is the page about files true? Every sample is read and checked, and the settings are loaded."""

import io
import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from lightsched.client.files import reading
from lightsched.client.stamping import Stamp
from lightsched.event.schema import file_schema
from lightsched_files.settings import KafkaSettings, RestSettings, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
FENCES = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
SAMPLES = [(form, text) for form, text in FENCES if "watch:" not in text]
NOW_MS = 1_794_819_600_000
VALID = jsonschema_rs.validator_for(file_schema())


def test_every_form_has_a_sample():
    assert {form for form, _ in SAMPLES} == {"ndjson", "json", "yaml", "csv"}


@pytest.mark.parametrize(("form", "text"), SAMPLES)
def test_a_sample_is_good(form, text):
    lines = list(reading(form)(io.BytesIO(text.encode())))
    assert len(lines) >= 2
    for line in lines:
        assert line.problem == ""
        Stamp("mark", NOW_MS).check(line.body)
    VALID.validate([json.loads(line.body) for line in lines])


def test_the_schema_refuses_what_is_no_list_of_events():
    assert not VALID.is_valid([{"in": "1h", "colour": "red"}])
    assert not VALID.is_valid("in: 1h")


def test_the_settings_are_good():
    (text,) = [text for _, text in FENCES if "watch:" in text]
    content = yaml.safe_load(text)
    content["watch"][1]["converter"] = "tests.injectors.files.test_watcher:words"
    settings = Settings(**content)
    assert settings.watch[0].on_error == "accept"
    assert settings.inject.kafka.bootstrap == "b1:9092,b2:9092"


def test_the_page_names_every_setting():
    names = [*Settings.model_fields]
    for field in Settings.model_fields.values():
        names += getattr(field.annotation, "model_fields", {})
    names += [*KafkaSettings.model_fields, *RestSettings.model_fields]
    names += Settings.model_fields["watch"].annotation.__args__[0].model_fields
    assert [name for name in names if name not in PAGE] == []
