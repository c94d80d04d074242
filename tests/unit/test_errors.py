import ast
import pickle
from pathlib import Path

import pytest

from lightsched.errors import LightschedError

SOURCE = Path(__file__).parents[2] / "src" / "lightsched"


class DataDirectoryInUse(LightschedError):
    """The data directory {path} is in use by process {pid}:
    stop that one, or give another with --data.

    This part is for the reader of the code: {not_a_fact}.
    """


class TooMany(LightschedError):
    """There are {count} of them."""

    def __init__(self, them):
        super().__init__(count=len(them))
        self.them = them


def test_the_first_paragraph_of_the_docstring_is_the_message():
    error = DataDirectoryInUse(path="/data", pid=7)
    assert str(error) == "The data directory /data is in use by process 7: stop that one, or give another with --data."


def test_the_facts_are_attributes():
    error = DataDirectoryInUse(path="/data", pid=7)
    assert (error.path, error.pid) == ("/data", 7)
    with pytest.raises(AttributeError, match="owner"):
        _ = error.owner


def test_braces_in_a_fact_are_left_alone():
    assert "{pid}" in str(DataDirectoryInUse(path="{pid}", pid=7))


def test_a_forgotten_fact_is_noticed():
    with pytest.raises(KeyError, match="pid"):
        DataDirectoryInUse(path="/data")


@pytest.mark.parametrize("error", [DataDirectoryInUse(path="/data", pid=7), TooMany(["a", "b"])], ids=str)
def test_an_error_survives_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_every_error_in_the_source_has_a_message():
    """By name, through subclasses of subclasses; none of them is imported for it."""
    classes = [
        node
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    errors = {"LightschedError"}
    while new := {c.name for c in classes if {ast.unparse(b).split(".")[-1] for b in c.bases} & errors} - errors:
        errors |= new
    silent = [c.name for c in classes if c.name in errors and not ast.get_docstring(c)]
    assert silent == []
