"""The raw pane shows every character once, in order, with edits in place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webapp.parsing.edit import Edit, apply
from webapp.parsing.span import Span, place
from webapp.parsing.trace import Attempt, Fault
from webapp.web.rawview import WHOLE_LIMIT, RawView, view


def drawn(shown: RawView, *tags: str) -> str:
    """The text of the pieces with these tags, glyphs as their labels in brackets, lines joined."""
    lines = []
    for line in shown.lines:
        runs = [run for piece in line.pieces if piece.tag in tags for run in piece.runs]
        lines.append("".join(run.text if run.label is None else f"<{run.label}>" for run in runs))
    return "\n".join(lines)


def failed(raw: str, at: int) -> Attempt:
    fault = Fault("JSONDecodeError", "Expecting value", at, *place(raw, at), said="")
    return Attempt("whole", Span(0, len(raw)), "failed", error=fault)


def test_plain_text_is_drawn_as_it_is() -> None:
    shown = view("one\ntwo", (), None)
    assert drawn(shown, "text") == "one\ntwo"
    assert [line.number for line in shown.lines] == [1, 2]


def test_an_edit_stands_where_it_was_made() -> None:
    raw = 'x {"a": 1}}\n'
    attempt = Attempt("balanced", Span(2, 11), "accepted", edits=(Edit("extra_closer", Span(10, 11), "}", ""),))
    pieces = view(raw, (attempt,), attempt).lines[0].pieces
    assert [(p.tag, p.runs[0].text, p.marks) for p in pieces] == [
        ("text", "x ", ""),
        ("text", '{"a": 1}', "hit"),
        ("del", "}", "hit"),
    ]
    assert pieces[2].title == "extra_closer"


def test_a_replacement_shows_the_old_text_and_then_the_new() -> None:
    raw = '{"a": "x\ny"}'
    attempt = Attempt("whole", Span(0, 12), "accepted", edits=(Edit("control_character", Span(8, 9), "\n", "\\n"),))
    first, second = view(raw, (attempt,), attempt).lines
    assert [(p.tag, p.runs[0].text or p.runs[0].label) for p in first.pieces] == [("text", '{"a": "x'), ("del", "LF")]
    assert [(p.tag, p.runs[0].text) for p in second.pieces] == [("ins", "\\n"), ("text", 'y"}')]


def test_an_insertion_at_the_very_end_is_shown() -> None:
    attempt = Attempt("whole", Span(0, 1), "accepted", edits=(Edit("missing_closer", Span(1, 1), "", "}"),))
    assert drawn(view("{", (attempt,), attempt), "ins") == "}"


def test_two_insertions_at_one_place_are_both_shown_in_order() -> None:
    edits = (Edit("missing_closer", Span(1, 1), "", "]"), Edit("missing_closer", Span(1, 1), "", "}"))
    attempt = Attempt("whole", Span(0, 1), "accepted", edits=edits)
    assert drawn(view("{", (attempt,), attempt), "ins") == "]}"


def test_the_error_marks_its_character_and_its_line() -> None:
    shown = view("ab\ncd", (), failed("ab\ncd", 4))
    assert [line.fault for line in shown.lines] == [False, True]
    assert [p.runs[0].text for p in shown.lines[1].pieces if "at" in p.marks] == ["d"]


def test_an_error_at_a_line_break_or_at_the_end_has_something_to_point_at() -> None:
    assert [p.runs[0].label for p in view("a\nb", (), failed("a\nb", 1)).lines[0].pieces if "at" in p.marks] == ["LF"]
    assert [p.runs[0].label for p in view("a", (), failed("a", 1)).lines[0].pieces if "at" in p.marks] == ["END"]


def test_spans_of_other_attempts_are_marked_quietly() -> None:
    raw = "{a} [1]"
    other, chosen = Attempt("balanced", Span(0, 3), "rejected", "a reason"), Attempt("balanced", Span(4, 7), "accepted")
    marks = {p.runs[0].text: p.marks for p in view(raw, (other, chosen), chosen).lines[0].pieces}
    assert marks == {"{a}": "seen", " ": "", "[1]": "hit"}


def test_the_gutter_brackets_the_chosen_lines() -> None:
    attempt = Attempt("fenced", Span(2, 9), "accepted")
    assert [line.gutter for line in view("a\n[\n1,\n2]\nb", (attempt,), attempt).lines] == [
        "",
        "on a",
        "on",
        "on z",
        "",
    ]


def test_control_characters_and_lone_surrogates_become_glyphs() -> None:
    assert drawn(view("a\x00b\ud800\u202ec", (), None), "text") == "a<NUL>b<D800><RLO>c"


def test_an_emoji_stays_whole() -> None:
    family = "👩‍👩‍👧 ❤️"
    assert drawn(view(family, (), None), "text") == family


def test_a_long_text_is_shown_in_windows_that_say_what_they_hide() -> None:
    raw = "line\n" * 100_000
    shown = view(raw, (), failed(raw, 250_002))
    hidden = sum(line.hidden for line in shown.lines)
    assert shown.shown + hidden == len(raw)
    assert shown.shown < WHOLE_LIMIT
    assert next(line for line in shown.lines if line.fault).number == 50_001


@given(st.text(st.sampled_from('ab{}"\n\r\t\x00\ud800'), max_size=60), st.data())
def test_what_is_drawn_is_what_is_there(raw: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, len(raw)))
    places = sorted(data.draw(st.sets(st.integers(start, end), max_size=6)))
    pairs = list(zip(places[::2], places[1::2], strict=False))
    edits = tuple(
        Edit("some_repair", Span(a, b), raw[a:b], data.draw(st.sampled_from(["", "x", "\\n"]))) for a, b in pairs
    )
    attempt = Attempt("whole", Span(start, end), "accepted", edits=edits)
    shown = view(raw, (attempt,), attempt)
    plain = view(raw, (), None)
    assert drawn(shown, "text", "del").replace("<LF>", "") == drawn(plain, "text")
    inside = Span(0, len(raw))
    assert drawn(shown, "text", "ins").replace("\n", "") == drawn(
        view(apply(raw, inside, edits), (), None), "text"
    ).replace("\n", "")
