"""Are the mutants up to date? Whether the tests catch them is for `make mutants`; here only that they still fit."""

from pathlib import Path

import pytest

from tests.mutants.run import apply, caught_by, copy_tree, patches

LEAST = 12


def test_there_are_enough_mutants() -> None:
    assert len(patches()) >= LEAST


@pytest.mark.parametrize("patch", patches(), ids=lambda path: path.stem)
def test_a_mutant_still_applies_and_names_tests_that_exist(patch: Path, tmp_path: Path) -> None:
    copy_tree(tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / "src").rglob("*.py")}
    apply(patch, tmp_path)
    changed = [path for path, text in before.items() if path.read_bytes() != text]
    assert changed
    assert all((tmp_path / name.split("::")[0]).exists() for name in caught_by(patch))
