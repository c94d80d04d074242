import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightsched.timing import TimingError, zone, zone_names
from tests.unit.timing.oracle import untimed


@pytest.mark.parametrize("name", ["UTC", "Europe/Paris", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "EST"])
def test_a_name_of_the_database_is_a_zone(name):
    assert zone(name).key == name
    assert zone(name) is zone(name)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "write a name such as Europe/Paris or UTC"),
        ("../../etc/passwd", "not a name of the IANA database"),
        ("/usr/share/zoneinfo/UTC", "not a name of the IANA database"),
        ("Europe/../UTC", "not a name of the IANA database"),
        ("Europe/Paris\n", "not a name of the IANA database"),
        ("Europe\\Paris", "not a name of the IANA database"),
        ("Europe/Paris\0", "not a name of the IANA database"),
        ("+01:00", "not a name of the IANA database"),
        ("x" * 1000, "not a name of the IANA database"),
        ("europe/paris", "did you mean Europe/Paris?"),
        ("Europe/Pariss", "did you mean Europe/Paris?"),
        ("Paris", "did you mean Europe/Paris?"),
        ("America/NewYork", "did you mean America/New_York"),
        ("Mars/Base", "write an IANA name"),
        ("America", "unknown timezone"),
        ("localtime", "unknown timezone"),
        ("Factory", "unknown timezone"),
        ("right/UTC", "unknown timezone"),
        ("posix/Europe/Paris", "unknown timezone"),
    ],
)
def test_anything_else_is_refused_with_a_suggestion(name, says):
    with pytest.raises(TimingError, match=says):
        zone(name)


@untimed
@given(st.text(max_size=70) | st.sampled_from(sorted(zone_names())))
def test_any_text_is_a_zone_or_a_timing_error(name):
    try:
        assert zone(name).key in zone_names()
    except TimingError:
        assert name not in zone_names()


def test_zones_are_known_on_a_machine_without_a_timezone_database():
    program = "from lightsched.timing import zone; print(zone('Europe/Paris').key)"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONTZPATH": "", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "Europe/Paris"
