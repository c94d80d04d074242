"""Is the page of the status machine current, and is the table whole?"""

from pathlib import Path

from lightsched.event.status import FINAL, TRANSITIONS, Signal, Status, after
from lightsched.event.status_page import page

PAGE = Path(__file__).parents[3] / "docs" / "status.md"


def test_the_page_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make schema`"


def test_every_status_can_be_reached_and_every_signal_means_something():
    assert set(TRANSITIONS.values()) == set(Status)
    assert {signal for _, signal in TRANSITIONS} == set(Signal)


def test_what_is_over_can_only_be_scheduled_again():
    assert {signal for status, signal in TRANSITIONS if status in FINAL} == {Signal.REPLACED}


def test_what_is_not_in_the_table_cannot_happen():
    assert after(Status.CLAIMED, Signal.CLAIMED) is None
    assert after(Status.CLAIMED, Signal.HEARTBEAT) is Status.PROCESSING


def test_the_diagram_shows_every_change():
    text = page()
    for (before, signal), then in TRANSITIONS.items():
        if before is not then:
            line = next(line for line in text.splitlines() if line.startswith(f"    {before} --> {then}: "))
            assert signal in line.split(": ")[1].split(", ")
