"""Is docs/rest.md true? Its `curl` lines are executed, in order, and its Python mounts a scheduler."""

import re
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from fastapi import FastAPI

from tests.docs.test_readme import server

PAGE = (Path(__file__).parents[2] / "docs" / "rest.md").read_text(encoding="utf-8")
CURL = re.compile(r"^    (curl (?:.*\\\n)*.*)$", re.MULTILINE)


def test_what_is_shown_works(tmp_path):
    commands = CURL.findall(PAGE)
    assert len(commands) == PAGE.count("    curl ") >= 7
    task = ""
    with server(tmp_path) as address:
        for command in commands:
            script = command.replace("127.0.0.1:8080", address.removeprefix("http://")).replace("…", task)
            done = subprocess.run(
                ["bash", "-c", script.replace("curl", "curl -sS --fail-with-body", 1)],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
            if found := re.search(r'"task_id":"(\w+)"', done.stdout):
                task = found[1]


async def test_the_application_that_is_shown_works(tmp_path):
    code = PAGE.partition("## In your own application")[2]
    lines = [line[4:] for line in code.splitlines() if line.startswith("    ")]
    first = [line.replace("/var/lib/scheduler", str(tmp_path / "data")) for line in lines if "asgi" in line]
    mounted = [line for line in lines if "mount(" in line]
    rest = lines[lines.index("@asynccontextmanager") :]
    made = {
        "asynccontextmanager": asynccontextmanager,
        "FastAPI": FastAPI,
    }
    exec("\n".join([*first, *rest, *mounted]), made)
    app = made["app"]
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://a") as client:
        assert (await client.get("/scheduler/readyz")).status_code == 200
