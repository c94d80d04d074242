"""Does the client know everything that a server says, and everything that may be said to it?"""

import subprocess
import sys

import pytest

from lightsched.api import problem, shapes
from lightsched.client import EventFields, errors, results
from lightsched.client.fields import Retry, Window
from lightsched.event.model import Event, RetrySpec, WindowSpec


def fields(shape):
    return set(shape.__struct_encode_fields__)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (results.Result, shapes.Result),
        (results.Attempt, shapes.AttemptShown),
        (results.Run, shapes.RunShown),
        (results.Runs, shapes.Runs),
        (results.EventRun, shapes.EventRun),
        (results.Counts, shapes.Counts),
        (results.Explanation, shapes.Explanation),
        (results.Preview, shapes.Preview),
        (results.FireTime, shapes.FireTimeShown),
        (results.Minute, shapes.Minute),
        (results.Delivery, shapes.DeliveryShown),
        (results.Node, shapes.NodeShown),
        (results.Partition, shapes.PartitionShown),
        (results.Health, shapes.Health),
        (results.DeadLetter, shapes.DeadLetterShown),
        (results.Redriven, shapes.Redriven),
        (results.Tenant, shapes.TenantShown),
        (errors.ProblemDetails, problem.ProblemDetails),
    ],
)
def test_answers_have_the_fields_that_the_server_writes(ours, theirs):
    assert fields(ours) == fields(theirs)


def test_every_kind_of_problem_has_its_error():
    slugs = {kind.slug for kind in problem.KINDS}
    assert slugs - errors.BY_SLUG.keys() == {
        *("wrong-method", "key-reused", "head-too-large", "timeout"),
    }, "those are the client's own doing"
    assert len(set(errors.BY_SLUG.values())) == len(errors.BY_SLUG)


def test_every_field_of_an_event_is_a_keyword():
    assert {name.rstrip("_") for name in EventFields.__annotations__} == fields(Event) - {"op", "reason", "if_revision"}
    assert set(Window.__annotations__) == fields(WindowSpec)
    assert set(Retry.__annotations__) == fields(RetrySpec)


@pytest.mark.parametrize(
    ("program", "unwanted"),
    [
        ("import lightsched", {"msgspec", "httpx", "asyncio", "importlib.metadata"}),
        ("from lightsched import Client", {"httpx", "aiokafka"}),
        ("from lightsched import Client; Client('http://x')", {"aiokafka"}),
        (
            "from lightsched import Client; Client('http://x')",
            {"fastapi", "pydantic", "rocksdict", "lightsched.engine"},
        ),
    ],
)
def test_only_what_is_needed_is_imported(program, unwanted):
    look = f"import sys; {program}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert unwanted.isdisjoint(loaded), unwanted & set(loaded)
