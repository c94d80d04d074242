from hypothesis import given
from hypothesis import strategies as st

from lightsched.event.marks import marks_of, may_have, wanted_marks
from lightsched.event.model import Event

texts = st.text(max_size=20)
labels = st.dictionaries(texts, texts, max_size=6)


@given(texts | st.just("event"), labels, st.data())
def test_an_event_is_never_ruled_out_by_what_it_has(type_: str, of_it: dict[str, str], data: st.DataObject) -> None:
    some = data.draw(st.lists(st.sampled_from(sorted(of_it.items())))) if of_it else []
    marks = marks_of(Event(type=type_, labels=of_it))
    assert may_have(marks, wanted_marks(type_, some))
    assert may_have(marks, wanted_marks(None, some))


def test_most_of_what_is_not_wanted_is_ruled_out() -> None:
    many = [marks_of(Event(type=f"type-{number}", labels={"n": str(number)})) for number in range(1_000)]
    for wanted in (wanted_marks("none", ()), wanted_marks(None, [("n", "none")]), wanted_marks("event", ())):
        assert sum(may_have(marks, wanted) for marks in many) < 100


def test_the_name_of_a_label_is_not_its_value() -> None:
    assert not may_have(marks_of(Event(labels={"a": "b"})), wanted_marks(None, [("b", "a")]))


def test_the_commonest_event_has_a_mark_of_one_byte() -> None:
    assert 0 < marks_of(Event()) < 128


def test_what_an_earlier_version_wrote_is_not_ruled_out() -> None:
    assert may_have(0, wanted_marks("report", [("team", "blue")]))
