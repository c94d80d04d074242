"""Is docs/testing.md true? Each of its snippets is a module of tests, run by a pytest of its own.

A snippet that is followed by a `text` block must fail, and say that; all others must pass.
"""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
SNIPPET = re.compile(r"^```python\n(?P<code>.*?)^```$(?:\s*^```text\n(?P<says>.*?)^```$)?", re.DOTALL | re.MULTILINE)


def pytest_in(folder):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "--color=no", "-q", "-rA"]
    done = subprocess.run([*command, "."], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_every_snippet_does_what_the_page_says(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    failing = {}
    for number, found in enumerate(SNIPPET.finditer(PAGE.read_text(encoding="utf-8")), start=1):
        name = f"test_snippet_{number}.py"
        (tmp_path / name).write_text(found["code"], encoding="utf-8")
        if found["says"]:
            failing[name] = found["says"]
    assert number == PAGE.read_text(encoding="utf-8").count("```python")
    assert failing
    code, output = pytest_in(tmp_path)
    assert code == 1, output
    for name, says in failing.items():
        assert f"FAILED {name}" in output, output
        lines = [line.removeprefix("E").strip().removeprefix("AssertionError: ") for line in output.splitlines()]
        for line in says.splitlines():
            assert line.strip() in lines, f"{line!r} was not said:\n{output}"
    assert output.count("\nFAILED ") == len(failing), output
    assert output.count("\nPASSED ") >= number - len(failing), output
