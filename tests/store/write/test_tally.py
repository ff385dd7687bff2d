"""The tally: places, originals, answers, marks, against a plain model of the same rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webapp.store.write.tally import Tally


def test_the_turns_of_a_repeated_entry_repeat_one_by_one() -> None:
    tally = Tally()
    for kind in ("response", "tool_call", "tool_call"):
        tally.place(0, kind, True, None)
    assert [tally.place(1, "tool_call", True, 0).original for _ in range(4)] == [0, 1, 2, 2]


def test_what_a_model_wrote_twice_is_told_from_the_prompt_before_it() -> None:
    tally = Tally()
    tally.place(0, "prompt", True, None)
    tally.place(0, "response", True, None)
    assert tally.place(1, "response", True, 0).original == 1


def test_an_error_answers_the_first_response_of_the_entry() -> None:
    tally = Tally()
    tally.place(0, "response", False, None)
    tally.place(0, "tool_call", True, None)
    tally.place(1, "tool_call", True, 0)
    assert (tally.answered(0), tally.answered(1), tally.answered(2), tally.answered(-1)) == (1, 1, None, None)


def test_the_strip_marks_failures_of_both_kinds() -> None:
    tally = Tally()
    made = [
        ("clean", "clean"),
        ("extracted", "clean"),
        ("failed", "none"),
        ("failed", "repaired"),
        ("none", "clean"),
        ("none", "none"),
    ]
    for entry, (home, ours) in enumerate(made):
        place = tally.place(entry, "response", True, None)
        tally.verdicts(place.position, home, ours)
    tally.place(6, "event", False, None)
    assert tally.strip() == "cefsnn"
    assert (tally.fail(4), tally.fail(5), tally.fail(5), tally.fail(6)) == (True, True, False, True)
    assert tally.strip() == "cefssf"
    counters = tally.counters()
    assert (counters["failed_count"], counters["rescued_count"], counters["unparsed_count"]) == (4, 2, 2)
    assert (counters["turn_count"], counters["response_count"], counters["none_count"]) == (7, 6, 2)


@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(-2, 40))), max_size=40))
def test_positions_count_originals(turns: list[tuple[int, int | None]]) -> None:
    """`step` new entries (0 for another turn of the same one), each perhaps a repetition of an entry."""
    tally, entry = Tally(), 0
    for step, duplicate_of in turns:
        entry += step
        place = tally.place(entry, "response", True, duplicate_of)
        if place.original is None:
            assert place.position == max(tally.positions)
        else:
            assert tally.originals[place.original] == place.original < place.ordinal
            assert tally.positions[place.original] == place.position
    assert sorted(set(tally.positions)) == list(range(len(tally.letters)))
    again = Tally()
    entry = 0
    for ordinal, (step, _) in enumerate(turns):
        entry += step
        original = tally.originals[ordinal]
        again.put(entry, "response", True, None if original == ordinal else original)
    assert again == tally
