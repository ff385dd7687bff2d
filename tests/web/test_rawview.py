"""The raw pane shows every character once, in order, with edits in place; of a long text windows."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webapp.parsing import parse
from webapp.parsing.edit import Edit, Span, apply, place
from webapp.parsing.trace import Attempt, Fault
from webapp.web import windows
from webapp.web.rawview import DRAWN_EDITS, Focus, RawLine, RawView, view

NOTHING = Focus()
FIRST = Focus(attempt=0)


def drawn(shown: RawView, *tags: str) -> str:
    """The text of the pieces with these tags, glyphs as their labels in brackets, lines joined."""
    lines = []
    for line in shown.lines:
        runs = [run for piece in line.pieces if piece.tag in tags for run in piece.runs]
        lines.append("".join(run.text if run.label is None else f"<{run.label}>" for run in runs))
    return "\n".join(lines)


def copied(line: RawLine) -> str:
    """What a reader who copies the line gets: its text, each glyph as the character that it stands for."""
    runs = [run for piece in line.pieces if piece.tag != "ins" for run in piece.runs]
    text = "".join(run.text if run.label is None else chr(run.code) if run.code is not None else "" for run in runs)
    return text + ("\n" if line.ends else "")


def failed(raw: str, at: int) -> Attempt:
    fault = Fault("JSONDecodeError", "Expecting value", at, *place(raw, at), said="")
    return Attempt("whole", Span(0, len(raw)), "failed", error=fault)


def marks(shown: RawView) -> list[tuple[str, str, str]]:
    return [(p.tag, p.runs[0].text, p.marks.strip()) for line in shown.lines for p in line.pieces]


def test_an_edit_stands_where_it_was_made() -> None:
    raw = 'x {"a": 1}}\n'
    attempt = Attempt("balanced", Span(2, 11), "accepted", edits=(Edit("extra_closer", Span(10, 11), "}", ""),))
    shown = view(raw, (attempt,), FIRST)
    assert marks(shown) == [("text", "x ", ""), ("text", '{"a": 1}', "hit"), ("del", "}", "hit")]
    assert shown.lines[0].pieces[2].title == "extra_closer"


def test_a_state_between_has_edits_done_one_that_is_current_and_edits_to_come() -> None:
    raw = "[1,,2,,3,]"
    at = (2, 5, 8)
    edits = tuple(Edit("doubled_comma", Span(i, i + 1), ",", "") for i in at)
    attempt = Attempt("whole", Span(0, 10), "accepted", edits=edits)
    states = [[mark for tag, _, mark in marks(view(raw, (attempt,), Focus(0, k))) if tag == "del"] for k in (0, 2)]
    assert states == [["hit whole pend"] * 3, ["hit whole", "hit whole now", "hit whole pend"]]


def test_a_replacement_shows_the_old_text_and_then_the_new() -> None:
    raw = '{"a": "x\ny"}'
    attempt = Attempt("whole", Span(0, 12), "accepted", edits=(Edit("control_character", Span(8, 9), "\n", "\\n"),))
    first, second = view(raw, (attempt,), FIRST).lines
    assert [(p.tag, p.runs[0].text or p.runs[0].label) for p in first.pieces] == [
        ("text", '{"a": "x'),
        ("del", "LF"),
        ("ins", "\\n"),
    ]
    assert [(p.tag, p.runs[0].text) for p in second.pieces] == [("text", 'y"}')]


def test_two_insertions_at_one_place_are_both_shown_in_order() -> None:
    edits = (Edit("missing_closer", Span(1, 1), "", "]"), Edit("missing_closer", Span(1, 1), "", "}"))
    attempt = Attempt("whole", Span(0, 1), "accepted", edits=edits)
    assert drawn(view("{", (attempt,), FIRST), "ins") == "]}"


def test_the_error_marks_its_character_and_its_line() -> None:
    shown = view("ab\ncd", (failed("ab\ncd", 4),), FIRST)
    assert [line.fault for line in shown.lines] == [False, True]
    assert [p.runs[0].text for p in shown.lines[1].pieces if "at" in p.marks.split()] == ["d"]
    assert [(note.message, note.current) for note in shown.lines[1].notes] == [("Expecting value", True)]


def test_an_error_at_a_line_break_or_at_the_end_has_something_to_point_at() -> None:
    for raw, label in (("a\nb", "LF"), ("a", "END")):
        line = view(raw, (failed(raw, 1),), FIRST).lines[0]
        assert [p.runs[0].label for p in line.pieces if "at" in p.marks.split()] == [label]
        assert len(line.notes) == 1


def test_where_other_attempts_stopped_is_said_in_the_same_room_whichever_is_looked_at() -> None:
    trace = parse("Sure:\n{'a': 1}")
    rows = [[len(line.notes) for line in view("Sure:\n{'a': 1}", trace.attempts, Focus(i)).lines] for i in (0, 1)]
    assert rows[0] == rows[1] and sum(rows[0]) > 0


def test_spans_of_other_attempts_are_marked_quietly_and_discarded_ones_say_why() -> None:
    raw = "{a} [1] [2]"
    spans = (Span(0, 3), Span(4, 7), Span(8, 11))
    attempts = (
        Attempt("balanced", spans[0], "rejected", "a reason"),
        Attempt("balanced", spans[1], "accepted"),
        Attempt("balanced", spans[2], "accepted"),
    )
    shown = view(raw, attempts, Focus(1))
    assert marks(shown)[::2] == [("text", "{a}", "dropped"), ("text", "[1]", "hit"), ("text", "[2]", "seen")]
    assert shown.lines[0].pieces[0].title == "a reason"


def test_the_gutter_brackets_the_chosen_lines_and_the_others_beside_them() -> None:
    attempts = (Attempt("fenced", Span(2, 9), "accepted"), Attempt("whole", Span(0, 11), "failed"))
    lines = view("a\n[\n1,\n2]\nb", attempts, FIRST).lines
    assert [line.lanes for line in lines] == ["g1 g1a", "g0 g0a g1", "g0 g1", "g0 g0z g1", "g1 g1z"]
    assert [[bracket.attempts for bracket in line.brackets] for line in lines] == [[(1,)], [], [], [], []]


def test_control_characters_and_lone_surrogates_become_glyphs() -> None:
    assert drawn(view("a\x00b\ud800\u202ec", (), NOTHING), "text") == "a<NUL>b<D800><RLO>c"


def test_tabs_and_spaces_at_a_lines_end_are_marked_and_stay_text() -> None:
    runs = [(run.text, run.mark) for run in view("\ta b \t\n c", (), NOTHING).lines[0].pieces[0].runs]
    assert runs == [("\t", "tab"), ("a b", ""), (" ", "trail"), ("\t", "tab")]


def test_a_long_text_is_shown_in_windows_that_say_what_they_hide() -> None:
    raw = "line\n" * 100_000
    shown = view(raw, (failed(raw, 250_002),), FIRST)
    gaps = [line.gap for line in shown.lines if line.gap]
    assert shown.drawn_length + sum(gap.span.end - gap.span.start for gap in gaps) == len(raw)
    assert shown.line_count == 100_001 and len(shown.lines) < 200
    assert next(line for line in shown.lines if line.fault).number == 50_001
    assert [gap.by_lines for gap in gaps] == [True, True]


def test_a_gap_offers_its_two_ends_and_what_is_asked_for_is_shown() -> None:
    raw = "line\n" * 100_000
    gap = next(line.gap for line in view(raw, (), NOTHING).lines if line.gap)
    (first, last), _ = gap.pages
    asked = windows.of_lines(raw, first, last)
    numbers = [line.number for line in view(raw, (), Focus(windows=(asked,))).lines]
    assert {first, last} <= set(numbers) and last - first + 1 == windows.ASKED_LINES


def test_one_long_line_is_shown_in_stretches_of_characters() -> None:
    raw = "[" + "1, " * 1_000_000 + "1]"
    shown = view(raw, (failed(raw, 1_500_000),), FIRST)
    assert shown.line_count == 1 and shown.drawn_length < 20_000
    assert [line.begins for line in shown.lines if not line.gap] == [True, False, False]
    assert not any(line.gap.by_lines for line in shown.lines if line.gap)


def test_a_thousand_edits_and_a_text_of_glyphs_stay_bounded() -> None:
    raw = "," * 5_000
    edits = tuple(Edit("doubled_comma", Span(i, i + 1), ",", "") for i in range(5_000))
    shown = view(raw, (Attempt("whole", Span(0, 5_000), "accepted", edits=edits),), Focus(0, 2_500))
    assert shown.edits_left == 5_000 - DRAWN_EDITS
    assert sum(len(line.pieces) for line in shown.lines) < DRAWN_EDITS + 10
    pieces = [piece for line in view("\x00" * 50_000, (), NOTHING).lines for piece in line.pieces]
    assert sum(len(piece.runs) for piece in pieces) <= windows.GLYPHS


def test_a_marked_range_is_marked_and_shown() -> None:
    raw = "x" * 200_000
    shown = view(raw, (), Focus(range=Span(100_000, 100_005)))
    assert [p.runs[0].text for line in shown.lines for p in line.pieces if p.marks == " range"] == ["xxxxx"]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.text(st.sampled_from('ab{} \t"\n\r\x00\ud800'), max_size=60), st.data())
def test_what_is_drawn_is_what_is_there(raw: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(raw)))
    end = data.draw(st.integers(start, len(raw)))
    places = sorted(data.draw(st.sets(st.integers(start, end), max_size=6)))
    pairs = list(zip(places[::2], places[1::2], strict=False))
    edits = tuple(
        Edit("some_repair", Span(a, b), raw[a:b], data.draw(st.sampled_from(["", "x", "\\n"]))) for a, b in pairs
    )
    fault = data.draw(st.none() | st.integers(0, len(raw)))
    error = None if fault is None else Fault("E", "m", fault, 1, 1, "")
    attempt = Attempt("whole", Span(start, end), "failed", edits=edits, error=error)
    shown = view(raw, (attempt,), FIRST)
    assert "".join(copied(line) for line in shown.lines) == raw
    inserted = "".join(r.text for line in shown.lines for p in line.pieces if p.tag == "ins" for r in p.runs)
    assert inserted == "".join(edit.new for edit in edits)
    assert apply(raw, Span(0, len(raw)), edits).replace("\\n", "").count("x") == inserted.count("x")


@given(st.text(st.sampled_from("ab\n\x00"), max_size=300), st.integers(0, 300), st.integers(1, 20))
def test_windows_lie_in_order_apart_and_in_the_text(raw: str, at: int, line: int) -> None:
    raw *= 400
    found = windows.windows(raw, [min(at * 100, len(raw))], [windows.of_lines(raw, line, line + 3)])
    assert all(0 <= a.start <= a.end <= len(raw) for a in found)
    assert all(a.end < b.start for a, b in pairwise(found))
    assert windows.line_start(raw, line) == len(
        "".join(part + "\n" for part in raw.split("\n")[: line - 1])[: len(raw)]
    )
