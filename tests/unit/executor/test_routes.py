"""Which function executes a type, and what can be one?"""

import functools
from typing import Any

import pytest

from lightsched import Context, Executor, Fatal
from lightsched.client import Invalid
from lightsched.executor import BadFunction, TypeTaken
from lightsched.executor.routes import Routes
from lightsched.timing import TimingError
from tests.unit.executor.make import taken


async def beat(taken): ...


async def called(routes, type, **more):
    delivery = taken(type=type, **more)
    call = routes.find(type.encode())
    return None if call is None else await call(delivery, beat)


async def test_the_most_particular_function_is_called():
    routes = Routes()
    for type in ("mail.send", "mail.*", "mail.in.*", "*"):
        routes.add(type, functools.partial(_named, type))
    assert await called(routes, "mail.send") == "mail.send"
    assert await called(routes, "mail.sent") == "mail.*"
    assert await called(routes, "mail.in.box") == "mail.in.*"
    assert await called(routes, "mail") == "*"
    assert await called(routes, "post") == "*"
    assert Routes().find(b"post") is None


async def _named(type):
    return type


async def test_parameters_may_come_in_any_order_or_not_at_all():
    routes = Routes()

    async def neither():
        return "neither"

    async def swapped(context: Context, payload: int):
        return context.id, payload

    async def only_context(context):
        return context.type

    class Counting:
        async def __call__(self, payload: Any, context: Context, factor: int = 2):
            return payload * factor, context.attempt

    def blocking(payload: bytes):
        return payload

    for function in (neither, swapped, only_context, Counting(), blocking):
        routes.add(getattr(function, "__name__", "object"), function)
    assert await called(routes, "neither") == "neither"
    assert await called(routes, "swapped", value=b"7", ls_id="x") == ("x", 7)
    assert await called(routes, "only_context") == "only_context"
    assert await called(routes, "object", value=b"[1]", **{"content-type": "application/json"}) == ([1, 1], 1)
    assert await called(routes, "blocking", value=b"\xff") == b"\xff"


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda payload, context, more: None, "nobody passes 'more'"),
        (lambda payload, *, needed: None, "nobody passes 'needed'"),
    ],
)
def test_what_cannot_be_called_is_refused_at_once(function, why):
    with pytest.raises(BadFunction, match=why):
        Routes().add("t", function)


def test_an_annotation_that_nobody_knows_is_refused_at_once():
    def work(payload: "NotDefined"): ...  # noqa: F821

    with pytest.raises(BadFunction, match="NotDefined"):
        Routes().add("t", work)

    def other(payload: Routes | int): ...

    with pytest.raises(BadFunction, match="payload cannot be"):
        Routes().add("t", other)


@pytest.mark.parametrize("type", ["", "a*", "*.b", "a.*.b", "**"])
def test_a_type_that_makes_no_sense_is_refused(type):
    with pytest.raises(BadFunction, match="is no type"):
        Routes().add(type, lambda: None)


def test_a_type_has_one_function():
    routes = Routes()
    routes.add("t", lambda: None)
    with pytest.raises(TypeTaken, match="already executed by"):
        routes.add("t", lambda: None)


async def test_middleware_is_around_the_function_and_sees_what_it_raises():
    executor = Executor("http://127.0.0.1:1")
    seen = []

    @executor.middleware
    async def outer(context, call_next):
        seen.append(f"outer {context.type}")
        try:
            return [await call_next()]
        except Fatal as error:
            seen.append(str(error))
            return None

    @executor.middleware
    async def inner(context, call_next):
        seen.append("inner")
        return await call_next()

    executor.on("t")(lambda payload: payload)
    executor.on("typed")(_typed)
    assert await called(executor.routes, "t", value=b"x") == [b"x"]
    assert seen == ["outer t", "inner"]
    assert await called(executor.routes, "typed", value=b'"x"') is None
    assert "Expected `int`" in seen[-1]


async def _typed(payload: int): ...


def test_settings_that_make_no_sense_are_refused():
    for bad in ({"concurrency": 0}, {"topics": "deliveries"}, {"topics": []}):
        with pytest.raises(Invalid):
            Executor(**bad)
    with pytest.raises(TimingError):
        Executor(grace="soon")
    assert Executor(grace="0s").grace_s == 0
