"""Would the tests notice? Break the heart on purpose, one patch at a time, and see that they do.

    make mutants                        # all of them
    make mutants ARGS="stale_attempt"   # only those whose name contains this

A mutant is a patch in this folder. Its first line says what it breaks; a line `Caught by: tests/…` names the tests that
have to fail (default: all of `tests/unit`, `tests/conformance` and `tests/simulation`). The tree is copied, the patch
applied to the copy, and the tests run there until the first failure. A mutant that survives is a hole in the suite.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
COPIED = ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md", "Makefile")
DEFAULT_TESTS = "tests/unit tests/conformance tests/simulation"
LONGEST_S = 1_200


def patches(part: str = "") -> list[Path]:
    """The mutants whose name contains `part`."""
    return sorted(path for path in HERE.glob("*.patch") if part in path.stem)


def copy_tree(target: Path) -> None:
    """The project as it is now, without what was made in it."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc", ".hypothesis")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignore)
        elif source.exists():
            shutil.copy(source, target / name)


def apply(patch: Path, target: Path) -> None:
    """Apply a mutant to a copy; a patch that does not fit any more is an error."""
    done = subprocess.run(
        ["git", "apply", "--unsafe-paths", f"--directory={target}", str(patch)],
        cwd=target,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        message = f"{patch.name} does not apply: bring it up to date\n{done.stderr}"
        raise SystemExit(message)


def caught_by(patch: Path) -> list[str]:
    """Where it has to be noticed."""
    match = re.search(r"^Caught by: (.+)$", patch.read_text(), re.MULTILINE)
    return (match[1] if match else DEFAULT_TESTS).split()


def survives(patch: Path) -> tuple[bool, str]:
    """Run the tests on a mutant. Did nobody notice? And who did?"""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        target = Path(name)
        copy_tree(target)
        apply(patch, target)
        env = {
            **os.environ,
            "PYTHONPATH": f"{target / 'src'}:{target}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LIGHTSCHED_TEST_HYPOTHESIS": "hasty",
        }
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            *caught_by(patch),
        ]
        done = subprocess.run(
            command, cwd=target, env=env, capture_output=True, text=True, check=False, timeout=LONGEST_S
        )
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        if done.returncode not in (0, 1):
            message = f"{patch.name}: pytest ended with {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            raise SystemExit(message)
        return done.returncode == 0, failed[0] if failed else ""


def main() -> None:
    """Run all mutants, say who survives."""
    chosen = patches(sys.argv[1] if len(sys.argv) > 1 else "")
    if not chosen:
        raise SystemExit("no such mutant")
    alive = []
    for patch in chosen:
        began = time.monotonic()
        survived, by = survives(patch)
        alive += [patch.stem] * survived
        verdict = "SURVIVED" if survived else f"caught by {by}"
        print(f"{patch.stem:40} {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{len(chosen) - len(alive)} caught, {len(alive)} survived")
    sys.exit(bool(alive))


if __name__ == "__main__":
    main()
