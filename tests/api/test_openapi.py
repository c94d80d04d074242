"""Does the API do what its document says? schemathesis makes requests from the document, good ones and bad ones.

The number of requests is bounded and the same ones come every time.
"""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

EXAMPLES = 40


@pytest.fixture(scope="session")
def document(server):
    return schemathesis.openapi.from_url(f"{server}/openapi.json")


schema = schemathesis.pytest.from_fixture("document")


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_the_api_keeps_to_its_document(case):
    if case.query and "wait" in case.query:
        case.query["wait"] = "0s"  # as good as any other, and does not hold up the test
    case.call_and_validate(
        checks=[not_a_server_error, status_code_conformance, response_schema_conformance, content_type_conformance]
    )
