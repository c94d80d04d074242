"""Does the API do what its document says? schemathesis makes requests from the document, good ones and bad ones.

As its own command: its plugin for pytest lags behind pytest. The number of requests is bounded, and the same ones come
every time.
"""

import os
import subprocess
import sys
from pathlib import Path

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
    assert "Tested: 21" in done.stdout, f"not all calls were tried:\n{done.stdout}"
