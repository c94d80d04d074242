"""Does each birthday become an event, and each mistake a problem with its line?"""

from birthdays import birthdays
from lightsched_files.converting import Problem, Source

SOURCE = Source("friends.txt", modified_ms=0, options={"timezone": "Europe/Paris"})


def test_a_line_becomes_a_yearly_event(scheduler):
    (found,) = birthdays(["# friends", "24 Dec Ada"], SOURCE)
    scheduler.schedule(found.fields)
    scheduler.advance_to("2027-12-31T00:00:00Z")
    scheduler.assert_delivered(id="birthday-Ada", at="2026-12-24T08:00:00Z")
    scheduler.assert_delivered(id="birthday-Ada", payload={"to": "Ada"}, times=2)


def test_a_mistake_is_named_with_its_line():
    assert list(birthdays(["", "Ada"], SOURCE)) == [
        Problem(2, "is no birthday: write day, month and name, as in `24 Dec Ada`")
    ]
