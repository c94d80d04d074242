import pytest

from tests.programs import CHROMIUM, Missing, Program


def test_a_program_that_is_missing_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.delenv(CHROMIUM.variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="apt install chromium"):
        CHROMIUM.find()
    (there := tmp_path / "google-chrome").touch(mode=0o755)
    assert CHROMIUM.find() == str(there)
    monkeypatch.setenv(CHROMIUM.variable, "/opt/chrome")
    assert CHROMIUM.find() == "/opt/chrome"


def test_a_program_may_lie_beside_the_path(tmp_path):
    (folder := tmp_path / "15" / "bin").mkdir(parents=True)
    (there := folder / "odd-name").touch(mode=0o755)
    odd = Program(("odd-name",), "odd", "these tests", "LIGHTSCHED_TEST_ODD", folders=(f"{tmp_path}/*/bin",))
    assert odd.find() == str(there)
