"""Does the API do what its document says? schemathesis makes requests from the document, good ones and bad ones.

As its own command: its plugin for pytest lags behind pytest. The number of requests is bounded, and the same ones come
every time.
"""

import os
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import httpx
import jsonschema_rs
import pytest

EXAMPLES = 20
CHECKS = (
    *("not_a_server_error", "status_code_conformance", "response_schema_conformance", "content_type_conformance"),
    *("unsupported_method", "allow_header_conformance"),
)
SETTINGS = """
[parameters]
wait = "0s"  # as good as any other, and does not hold up the test
"""


def test_the_api_keeps_to_its_document(server, tmp_path):
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS)
    command = [Path(sys.executable).with_name("st"), "--config-file", settings, "run", f"{server}/openapi.json"]
    options = ["--checks", ",".join(CHECKS), "--max-examples", EXAMPLES, "--generation-deterministic"]
    options += ["--continue-on-failure", "--suppress-health-check", "all", "--no-color"]
    hooks = {"SCHEMATHESIS_HOOKS": "schemathesis_hooks", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        [str(part) for part in (*command, *options)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | hooks,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert re.search(r"Selected: (\d+)/\1\b.*Tested: \1\b", done.stdout, re.DOTALL), (
        f"not all were tried:\n{done.stdout}"
    )
    followed = re.search(r"Stateful.*?API Links:\s+(\d+) covered", done.stdout, re.DOTALL)
    assert followed, f"no story was told:\n{done.stdout}"
    assert int(followed[1]) > 0, done.stdout


@pytest.fixture(scope="module")
def document(server):
    return httpx.get(f"{server}/openapi.json").json()


def operations(document):
    return [
        pytest.param(operation, id=f"{method} {path}")
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


def test_every_call_has_examples(document):
    for each in operations(document):
        (operation,) = each.values
        for parameter in operation.get("parameters", []):
            schema = parameter["schema"]
            shown = {*parameter, *schema} & {"example", "examples", "default", "enum"}
            assert shown or parameter["name"] == "cursor", (each.id, parameter["name"])
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert content.keys() & {"example", "examples"}, each.id
        for status, answer in operation["responses"].items():
            for content in answer.get("content", {}).values():
                assert content.keys() & {"example", "examples"}, (each.id, status)
                for shape in re.findall(r"#/components/schemas/(\w+)", str(content["schema"])):
                    assert document["components"]["schemas"][shape]["examples"], (each.id, shape)


def test_every_example_is_one(document):
    """Of what is sent and of what is answered."""
    schemas = document["components"]["schemas"]

    def check(schema, example):
        whole = {"components": {"schemas": schemas}, **schema}
        jsonschema_rs.validate(whole, example)

    for name, schema in schemas.items():
        for example in schema.get("examples", []):
            check({"$ref": f"#/components/schemas/{name}"}, example)
    for each in operations(document):
        (operation,) = each.values
        answers = [answer.get("content", {}).values() for answer in operation["responses"].values()]
        for content in (*operation.get("requestBody", {}).get("content", {}).values(), *chain(*answers)):
            many = content.get("examples", {"": {"value": content.get("example")}})
            for example in many.values():
                check(content["schema"], example["value"])


def test_the_example_of_a_command_has_its_own_outcome(document):
    outcomes = {"cancel": "CANCELLED", "pause": "PAUSED", "resume": "RESUMED", "trigger": "TRIGGERED"}
    calls = {each.values[0]["operationId"]: each.values[0] for each in operations(document)}
    for call, outcome in outcomes.items():
        answers = calls[call]["responses"]
        shown = [answers[status]["content"]["application/json"]["example"]["outcome"] for status in ("200", "202")]
        assert shown == [outcome, "FORWARDED"]


def test_an_example_of_a_problem_has_the_status_that_it_is_for(document):
    for each in operations(document):
        (operation,) = each.values
        for status, answer in operation["responses"].items():
            for content in answer.get("content", {}).values() if status >= "400" else ():
                assert content["example"]["status"] == int(status), (each.id, status)
