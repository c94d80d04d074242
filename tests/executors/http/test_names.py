"""Can a name lead a request to where it must not go? The whole program, on an island with a real name server.

Servers listen wherever a request must not come, at the same port as those that may be asked; none of them sees anybody.
"""

import ssl
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from tests.executors.conftest import ended
from tests.executors.http.island import island
from tests.executors.http.naming import ERRORS, GARBAGE, SILENCE, naming
from tests.executors.http.receiving import receiver

CERTIFICATE = Path(__file__).with_name("pinned.example.pem")

PUBLIC, PUBLIC_V6 = "1.2.3.4", "2606:2800::1"
"""Of the public internet everywhere else."""
PRIVATE, METADATA, PRIVATE_V6 = "10.0.0.5", "169.254.169.254", "fd00::5"
FORBIDDEN = ("127.0.0.1", "127.0.0.2", PRIVATE, METADATA, "::1", PRIVATE_V6)

REFUSED = {
    "loopback.example": (["127.0.0.1"], "127.0.0.1 is this machine"),
    "far-loopback.example": (["127.0.0.2"], "127.0.0.2 is this machine"),
    "private.example": ([PRIVATE], "10.0.0.5 is private"),
    "metadata.example": ([METADATA], "169.254.169.254 is link-local, where clouds keep their metadata"),
    "nowhere.example": (["0.0.0.0"], "0.0.0.0 is this network"),
    "documentation.example": (["192.0.2.1"], "192.0.2.1 is for documentation"),
    "loopback-v6.example": (["::1"], "::1 is this machine"),
    "nowhere-v6.example": (["::"], ":: is this machine"),
    "private-v6.example": ([PRIVATE_V6], "fd00::5 is private"),
    "link-local-v6.example": (["fe80::1"], "fe80::1 is link-local"),
    "mapped-loopback.example": (["::ffff:127.0.0.1"], "this machine (127.0.0.1 written as IPv6)"),
    "mapped-private.example": (["::ffff:10.0.0.5"], "private (10.0.0.5 written as IPv6)"),
    "translated.example": (["64:ff9b::127.0.0.1"], "this machine (127.0.0.1 written as IPv6)"),
    "public-first.example": ([PUBLIC, PRIVATE], "10.0.0.5 is private"),
    "private-first.example": ([PRIVATE, PUBLIC], "10.0.0.5 is private"),
    "public-and-loopback-v6.example": ([PUBLIC, "::1"], "::1 is this machine"),
    "public-v6-and-loopback.example": ([PUBLIC_V6, "127.0.0.1"], "127.0.0.1 is this machine"),
    "public-and-mapped.example": ([PUBLIC, "::ffff:127.0.0.1"], "this machine (127.0.0.1 written as IPv6)"),
    "among-many.example": ([*(f"1.2.3.{n}" for n in range(4, 14)), "127.0.0.1"], "127.0.0.1 is this machine"),
    "alias.example": (["loopback.example"], "127.0.0.1 is this machine"),
}
FAILURES = {
    **{f"{error.lower()}.example": error for error in ERRORS},
    "garbage.example": GARBAGE,
    "no-address.example": [],
}


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    addresses = [each for each in (*FORBIDDEN, PUBLIC, PUBLIC_V6) if each not in {"127.0.0.1", "127.0.0.2", "::1"}]
    with island(tmp_path_factory.mktemp("island"), *addresses) as made:
        yield made


class Scene:
    """Who may be asked, who may not, and the name server that leads to both."""

    def __init__(self, apart, names, public, *, server, client, name, folder):
        self.apart, self.names, self.public = apart, names, public
        self._server, self._client, self._name, self._folder = server, client, name, folder

    @asynccontextmanager
    async def executing(self, **settings):
        """`lightsched-http` on the island; what it says is in a file."""
        config = self._folder / "http.yml"
        config.write_text(yaml.safe_dump({"topics": [self._name], "group": self._name, **settings}))
        host, _, port = self._server.rpartition("//")[2].partition(":")
        program = [sys.executable, "-m", "lightsched_http", "--config", str(config)]
        with (self._folder / "said").open("ab") as said:
            async with self.apart.bridge(host, int(port)) as at:
                server = f"http://127.0.0.1:{at}"
                async with self.apart.program(*program, "--server", server, stderr=said) as process:
                    yield process

    def url(self, host):
        return f"http://{host}:{self.public.port}/"

    async def ask(self, *urls, id="ask", **more):
        """How requests for some URLs ended, in their order."""
        ids = [f"{self._name}-{id}-{n}" for n, _ in enumerate(urls)]
        common = {"type": "http.request", "in": "1ms", "topics": [self._name], "track": True, **more}
        results = await self._client.schedule_many(
            {"id": id, **common, "payload": {"url": url}} for id, url in zip(ids, urls, strict=True)
        )
        assert all(result.ok for result in results)
        return [await ended(self._client, id) for id in ids]


@pytest.fixture
async def scene(apart, server, client, name, tmp_path):
    async with (
        naming(apart) as names,
        receiver(PUBLIC, PUBLIC_V6, island=apart) as public,
        receiver(*FORBIDDEN, port=public.port, island=apart) as forbidden,
    ):
        yield Scene(apart, names, public, server=server, client=client, name=name, folder=tmp_path)
        assert forbidden.connections == 0


async def test_a_name_with_any_address_that_is_not_public_is_refused(scene):
    for host, (addresses, _) in REFUSED.items():
        scene.names[host] = [addresses]
    scene.names["public.example"], scene.names["public-v6.example"] = [[PUBLIC]], [[PUBLIC_V6]]
    async with scene.executing():
        runs = await scene.ask(*map(scene.url, REFUSED))
        for (host, (_, why)), run in zip(REFUSED.items(), runs, strict=True):
            assert (run.status, run.attempt) == ("FATAL_FAILURE", 1), host
            assert f"{host} is not asked: " in run.error, (host, run.error)
            assert why in run.error, (host, run.error)
        assert scene.public.connections == 0
        runs = await scene.ask(*map(scene.url, ("public.example", "public-v6.example")), id="public")
    assert [run.status for run in runs] == ["SUCCESS", "SUCCESS"], "those that listen can be reached"
    assert scene.public.connections == 2


async def test_a_connection_goes_to_the_address_that_was_looked_at(scene):
    """DNS rebinding: the first answer may be asked, the second is what the attacker wants to reach."""
    url = scene.url("rebound.example")
    scene.names["rebound.example"] = [[PUBLIC], ["127.0.0.1"]]
    async with scene.executing():
        (run,) = await scene.ask(url)
        assert (run.status, scene.names.lookups("rebound.example")) == ("SUCCESS", 1), run.error
        assert [got.headers["host"] for got in scene.public.got] == [f"rebound.example:{scene.public.port}"]
    async with scene.executing():  # without the connection that was open
        (run,) = await scene.ask(url, id="again")
    assert scene.names.lookups("rebound.example") == 2
    assert run.status == "FATAL_FAILURE"
    assert "rebound.example is not asked: 127.0.0.1 is this machine" in run.error
    assert scene.public.connections == 1


async def test_a_name_that_changes_between_attempts_is_looked_at_each_time(scene):
    scene.names["moving.example"] = [[PUBLIC], ["::ffff:127.0.0.1"]]
    scene.public.answers["/"] = b"HTTP/1.1 503 Busy\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    async with scene.executing():
        (run,) = await scene.ask(scene.url("moving.example"), retry={"delays": ["1ms", "1ms"]})
    assert (run.status, run.attempt, scene.public.connections) == ("FATAL_FAILURE", 2, 1)
    assert "503" in run.attempts[0].error
    assert "moving.example is not asked: " in run.error


async def test_a_name_that_cannot_be_looked_up_is_not_asked_and_tried_again(scene):
    for host, failure in FAILURES.items():
        scene.names[host] = [failure]
    async with scene.executing(connect_timeout="1s"):
        runs = await scene.ask(*map(scene.url, FAILURES), retry={"delays": ["1ms"]})
        scene.names.give_up()
    for host, run in zip(FAILURES, runs, strict=True):
        assert (run.status, run.attempt) == ("FATAL_FAILURE", 2), (host, run.error)
        assert run.error.startswith(f"{host} has no address: "), run.error
    assert scene.public.connections == 0


async def test_a_name_server_that_does_not_answer_is_no_way_through(scene):
    scene.names["slow.example"] = [SILENCE]
    async with scene.executing(connect_timeout="200ms"):
        (run,) = await scene.ask(scene.url("slow.example"))
        scene.names.give_up()
    assert run.error == "slow.example has no address: the name server did not answer within 0.2 s."
    assert scene.public.connections == 0


async def test_tls_still_sees_the_name(scene):
    scene.names["pinned.example"], scene.names["other.example"] = [[PUBLIC]], [[PUBLIC]]
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    seen = []
    context.sni_callback = lambda _socket, host, _context: seen.append(host)
    async with (
        receiver(PUBLIC, ssl=context, island=scene.apart) as target,
        scene.executing(ca=str(CERTIFICATE)),
    ):
        (run,) = await scene.ask(f"https://pinned.example:{target.port}/")
        assert run.status == "SUCCESS", run.error
        (other,) = await scene.ask(f"https://other.example:{target.port}/", id="other")
    assert other.status == "FATAL_FAILURE", "it has no retry, so the first failure is the last"
    assert "certificate" in other.error
    assert seen == ["pinned.example", "other.example"]
    assert len(target.got) == 1
