"""Can a request be led to where it must not go? Against servers that listen there, and see nobody."""

from lightsched_http import program
from tests.executors.conftest import ended, running
from tests.executors.http.receiving import receiver

# Each leads to this machine, or to where a cloud keeps its metadata, for one program or another.
THIS_MACHINE = [
    *("127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "localhost", "LOCALHOST", "localhost."),
    *("127.1", "127.0.1", "127", "0", "2130706433", "017700000001", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.0.0.01"),
    *(
        "00000177.0.0.1",
        "0x7f.0x0.0x0.0x1",
        "127.0.0.1.",
        "\uff11\uff12\uff17.0.0.1",
        "127。0。0。1",
        "127%2e0%2e0%2e1",
        "%31%32%37.0.0.1",
    ),
    *(
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::ffff:0:127.0.0.1]",
        "[::127.0.0.1]",
    ),
    *("[64:ff9b::127.0.0.1]", "[64:ff9b:1::127.0.0.1]", "[2002:7f00:1::]", "[::1%lo]", "[::1%25lo]", "[fe80::1%lo]"),
    *(
        "a@127.0.0.1",
        "127.0.0.1#@example.com",
        "example.com\\@127.0.0.1",
        "example.com@127.0.0.1",
        "127.0.0.1\\.example.com",
    ),
]
METADATA = [
    *(
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "[::ffff:169.254.169.254]",
    ),
    *("[64:ff9b::a9fe:a9fe]", "[fd00:ec2::254]", "100.100.100.200", "192.0.0.192"),
]


async def test_no_spelling_leads_to_this_machine_or_to_metadata(client, server, name):
    async with receiver("127.0.0.1", "127.0.0.2", "::1") as target, running(program, server=server, topics=[name]):
        port = target.port
        urls = [f"http://{host}:{port}/" if "#" not in host else f"http://{host}" for host in THIS_MACHINE + METADATA]
        urls += [
            f"https://127.0.0.1:{port}/",
            f"http:127.0.0.1:{port}",
            f"http:/127.0.0.1:{port}",
            f"//127.0.0.1:{port}/",
        ]
        urls += [
            "file:///etc/passwd",
            f"gopher://127.0.0.1:{port}/",
            f"http+unix://127.0.0.1:{port}/",
            f"ws://127.0.0.1:{port}/",
        ]
        events = [
            {
                "id": f"{name}-{n}",
                "type": "http.request",
                "in": "1ms",
                "topics": [name],
                "track": True,
                "payload": {"url": url},
            }
            for n, url in enumerate(urls)
        ]
        assert all(result.ok for result in await client.schedule_many(events))
        for n, url in enumerate(urls):
            run = await ended(client, f"{name}-{n}")
            assert (run.status, run.attempt) == ("FATAL_FAILURE", 1), url
            assert "is not asked: " in run.error, (url, run.error)
        assert target.connections == 0


async def test_what_the_settings_allow_is_asked(client, server, name):
    """The same servers are there to be reached."""
    async with receiver("127.0.0.1", "::1") as target:
        async with running(program, server=server, topics=[name], allow=["localhost", "127.0.0.1", "::1"]):
            for n, host in enumerate(("127.0.0.1", "[::1]", "localhost")):
                payload = {"url": f"http://{host}:{target.port}/"}
                await client.schedule(
                    id=f"{name}-{n}", type="http.request", in_="1ms", topics=[name], track=True, payload=payload
                )
            for n in range(3):
                run = await ended(client, f"{name}-{n}")
                assert run.status == "SUCCESS", run.error
        assert target.connections == 3


async def ask(client, name, url, id=None):
    event = {"type": "http.request", "in_": "1ms", "topics": [name], "track": True, "payload": {"url": url}}
    await client.schedule(id=id or name, **event)
    return await ended(client, id or name)


async def test_a_redirect_is_not_followed(client, server, name):
    async with receiver("127.0.0.2") as allowed, receiver("127.0.0.1") as forbidden:
        there = f"http://127.0.0.1:{forbidden.port}/"
        for status in (301, 302, 303, 307, 308):
            answer = f"HTTP/1.1 {status} Moved\r\nlocation: {there}\r\ncontent-length: 0\r\n\r\n"
            allowed.answers[f"/{status}"] = answer.encode()
        async with running(program, server=server, topics=[name], allow=["127.0.0.2"]):
            for status in (301, 302, 303, 307, 308):
                run = await ask(client, name, f"http://127.0.0.2:{allowed.port}/{status}", id=f"{name}-{status}")
                assert run.status == "FATAL_FAILURE"
                assert f"redirects are not followed: ask '{there}' itself" in run.error
        assert forbidden.connections == 0


async def test_a_proxy_of_the_environment_is_not_used(client, server, name, monkeypatch):
    async with receiver("127.0.0.1") as proxy, receiver("127.0.0.2") as allowed:
        for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", server.partition("//")[2])
        async with running(program, server=server, topics=[name], allow=["127.0.0.2"]):
            run = await ask(client, name, f"http://127.0.0.2:{allowed.port}/")
        assert run.status == "SUCCESS"
        assert (proxy.connections, allowed.connections) == (0, 1)


async def test_what_cannot_be_reached_is_tried_again(client, server, name):
    async with running(program, server=server, topics=[name], allow=["127.0.0.2"]):
        retry, payload = {"delays": ["1ms"]}, {"url": "http://127.0.0.2:1/"}
        await client.schedule(id=name, type="http.request", in_="1ms", topics=[name], retry=retry, payload=payload)
        run = await ended(client, name)
    assert (run.status, run.attempt) == ("FATAL_FAILURE", 2)
