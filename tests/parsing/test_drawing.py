"""The painter gives each character once, marks what the trace marks, and every page, terminal and export agrees."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.exports import made
from webapp.exports import base, textmarks
from webapp.parsing import parse, words
from webapp.parsing.drawing import Drawing, Stretch, telling
from webapp.parsing.edit import Edit, Span, apply, place
from webapp.parsing.trace import Attempt, Fault, Trace
from webapp.visible import visible
from webapp.web import rawview

BROKEN = st.text(alphabet="{}[]\",:a1\n `'\\\t", max_size=60)
CALL = 'It:\n```json\n{"a": "x\ny", \'b\': 1,}}\n```\nand {"c": [2'
Marked = list[tuple[str, str]]
"""(kind, text) of what was removed and inserted, in order"""


@st.composite
def attempts(draw: st.DrawFn) -> tuple[str, Attempt]:
    """A text and an attempt with any edits and any error."""
    raw = draw(st.text(st.sampled_from("ab{}\n\u202e"), max_size=40))
    start = draw(st.integers(0, len(raw)))
    end = draw(st.integers(start, len(raw)))
    places = sorted(draw(st.sets(st.integers(start, end), max_size=8)))
    pairs = list(zip(places[::2], places[1::2], strict=False))
    edits = tuple(Edit("some_repair", Span(a, b), raw[a:b], draw(st.sampled_from(["", "x", "y\n"]))) for a, b in pairs)
    at = draw(st.none() | st.integers(0, len(raw)))
    error = None if at is None else Fault("E", "m", at, *place(raw, at), said="")
    return raw, Attempt("whole", Span(start, end), "failed", edits=edits, error=error)


@given(attempts())
def test_the_stretches_are_the_raw_text_and_every_mark_lies_where_the_trace_says(given: tuple[str, Attempt]) -> None:
    raw, attempt = given
    drawn = list(Drawing(raw, [attempt]).stretches())
    kept = [stretch for stretch in drawn if stretch.kind != "inserted"]
    assert "".join(stretch.text for stretch in kept) == raw
    assert [stretch.start for stretch in kept] == [0, *(stretch.end for stretch in kept)][: len(kept)]
    for number, edit in enumerate(attempt.edits, 1):
        own = [stretch for stretch in drawn if stretch.edit == number]
        assert "".join(stretch.text for stretch in own if stretch.kind == "removed") == edit.old
        assert "".join(stretch.text for stretch in own if stretch.kind == "inserted") == edit.new
        assert all(edit.span.start <= stretch.start <= stretch.end <= edit.span.end for stretch in own)
    assert [stretch.start for stretch in drawn if stretch.fault] == ([attempt.error.at] if attempt.error else [])
    assert decoded(drawn, attempt) == apply(raw, attempt.span, attempt.edits)


def decoded(drawn: list[Stretch], attempt: Attempt) -> str:
    """What the attempt decoded, put together from its stretches."""
    return "".join(stretch.text for stretch in drawn if stretch.attempt is attempt and stretch.kind != "removed")


@given(attempts(), st.sets(st.integers(0, 40), max_size=3))
def test_lines_and_cuts_change_nothing(given: tuple[str, Attempt], cuts: set[int]) -> None:
    raw, attempt = given
    lines = list(Drawing(raw, [attempt], cuts).lines(Span(0, len(raw)), 1))
    assert [line.number for line in lines] == list(range(1, raw.count("\n") + 2))
    assert [line.span.of(raw) for line in lines] == raw.split("\n")
    in_lines = [(s.kind, c) for line in lines for s in line.stretches for c in s.text]
    assert in_lines == [(s.kind, c) for s in Drawing(raw, [attempt]).stretches() for c in s.text]


@given(attempts(), st.integers(0, 40), st.integers(0, 40))
def test_a_window_is_what_the_whole_shows_there(given: tuple[str, Attempt], start: int, end: int) -> None:
    raw, attempt = given
    window = Span(min(start, len(raw)), min(max(start, end), len(raw)))
    drawn = Drawing(raw, [attempt]).stretches(window)
    assert "".join(stretch.text for stretch in drawn if stretch.kind != "inserted") == window.of(raw)


def test_only_lines_near_a_mark_are_drawn_where_that_is_asked_for() -> None:
    raw = "line\n" * 100 + '{"a": 1,}\n' + "line\n" * 100
    trace = parse(raw)
    numbers = [line.number for line in Drawing(raw, telling(trace)).marked_lines(2, 50)]
    assert numbers == [99, 100, 101, 102, 103]


def test_what_tells_most_is_chosen_else_the_last_failure_else_nothing() -> None:
    assert [attempt.ok for attempt in telling(parse("[1] and [2]"))]
    assert [attempt.outcome for attempt in telling(parse("{nope", "direct"))] == ["failed"]
    assert telling(parse("no JSON here", "fencepost")) == []


class Marks(HTMLParser):
    """Collects `<del>` and `<ins>` of the drawn text in an HTML export."""

    def __init__(self) -> None:
        super().__init__()
        self.kind = ""
        self.found: Marked = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("del", "ins") and attrs:
            self.kind = tag
            self.found.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self.kind = "" if tag == self.kind else self.kind

    def handle_data(self, data: str) -> None:
        if self.kind:
            self.found[-1] = (self.kind, self.found[-1][1] + data)


def in_html(raw: str, trace: Trace) -> Marked:
    turn = replace(made.turn(raw, home=trace.profile), fencepost=None)
    marks = Marks()
    marks.feed(b"".join(base.find("html", "sessions").pieces(made.session(turn), made.ABOUT)).decode())
    return joined(marks.found)


def in_terminal(raw: str, trace: Trace) -> Marked:
    lines = Drawing(raw, telling(trace)).lines(Span(0, len(raw)), 1)
    kinds = {"removed": "del", "inserted": "ins"}
    pieces = [piece for line in lines for piece in textmarks.pieces(line)]
    return joined([(kinds[look], text[2:-2]) for text, look in pieces if look in kinds])


def in_page(raw: str, trace: Trace) -> Marked:
    """Of the raw pane, which draws one attempt: the first of those that tell most."""
    index = [attempt is telling(trace)[0] for attempt in trace.attempts].index(True)
    shown = rawview.view(raw, trace.attempts, rawview.Focus(index))
    pieces = [piece for line in shown.lines for piece in line.pieces if piece.tag != "text"]
    written = {"LF": "↵"}
    return joined(
        [
            (p.tag, "".join(visible(r.text) if r.label is None else written.get(r.label, r.label) for r in p.runs))
            for p in pieces
        ]
    )


def joined(marks: Marked) -> Marked:
    """Pieces of one kind that follow one another, as one."""
    found: Marked = []
    for kind, text in marks:
        if found and found[-1][0] == kind:
            found[-1] = (kind, found[-1][1] + visible(text))
        else:
            found.append((kind, visible(text)))
    return found


def in_trace(attempts: list[Attempt]) -> Marked:
    edits = [edit for attempt in attempts for edit in attempt.edits]
    pairs = [pair for edit in edits for pair in (("del", edit.old), ("ins", edit.new)) if pair[1]]
    return joined(pairs)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(BROKEN, st.sampled_from(["fencepost", "four-tier"]))
def test_page_terminal_and_html_mark_what_the_trace_says(raw: str, profile: str) -> None:
    agree(raw, parse(raw, profile))


@pytest.mark.parametrize("raw", [CALL, made.BROKEN, "{'a': 1,}\n\n[1,,2]"])
def test_they_agree_on_defects_of_several_kinds(raw: str) -> None:
    trace = parse(raw)
    assert in_trace(telling(trace))
    agree(raw, trace)


def agree(raw: str, trace: Trace) -> None:
    attempts = telling(trace)
    assert in_html(raw, trace) == in_terminal(raw, trace) == in_trace(attempts)
    if attempts:
        assert in_page(raw, trace) == in_trace(attempts[:1])


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("}}", "", 'removes "}}"'),
        ("", ":", 'inserts ":"'),
        ("'", '"', "replaces a single quote by a double quote"),
        ("", "\\", "inserts a backslash"),
        ("None", "null", 'replaces "None" by "null"'),
        ("\u202e\n", "", 'removes "⟨U+202E⟩↵"'),
        ("x" * 100, "", f'removes "{"x" * 40} … 20 characters … {"x" * 40}"'),
    ],
)
def test_a_change(old: str, new: str, sentence: str) -> None:
    edit = Edit("some_repair", Span(3, 3 + len(old)), old, new)
    assert words.change_sentence(edit) == sentence
    assert words.edit_sentence("a\nb" + old, edit) == f"some_repair at line 2, column 2: {sentence}"


@pytest.mark.parametrize(
    ("raw", "profile", "sentence"),
    [
        ("[1]", "fencepost", "reads one value"),
        ('Here: {"a": 1}', "fencepost", "reads one value, found inside other text"),
        ("[1,]", "fencepost", "reads one value after 1 edit (trailing comma)"),
        ("nothing", "fencepost", "finds no JSON"),
        ("[1}", "direct", "stops at line 1, column 3: Expecting ',' delimiter"),
        ("call:f{a:@{b}}", "fencepost", "fails: the call of f cannot be read: its arguments cannot be read"),
        ("<|tool_call_start|>[f(a=1)]<|tool_call_end|>", "fencepost", "reads a Python call of f with 1 argument"),
    ],
)
def test_a_trace(raw: str, profile: str, sentence: str) -> None:
    assert words.trace_sentence(parse(raw, profile)) == sentence


def test_an_attempt_and_a_verdict() -> None:
    trace = parse("[1,]")
    (chosen,) = trace.chosen
    assert words.attempt_sentence(trace.attempts[chosen], True) == "Accepted after 1 edit: trailing comma."
    assert words.verdict_sentence(trace).startswith(
        "repaired: a value was read from text that is not JSON, by fencepost "
    )
    failed = parse("[1}", "direct").attempts[0]
    assert words.attempt_sentence(failed, chosen=False) == "Expecting ',' delimiter at line 1, column 3, offset 2."


@pytest.mark.parametrize(
    ("counts", "findings", "sentence"),
    [
        ((0, 0, 0, 0), "", "No response was recorded in this session."),
        ((1, 0, 0, 0), "", "1 response, none failed."),
        ((3, 0, 0, 0), "A loop.", "A loop. 3 responses, none failed."),
        ((3, 1, 1, 0), "", "1 of 3 responses failed (parser `direct`); Fencepost can read it."),
        (
            (3, 2, 1, 0),
            "A.",
            "A. 2 of 3 responses failed (parser `direct`); Fencepost can read 1 of them.",
        ),
        ((3, 2, 0, 0), "", "2 of 3 responses failed (parser `direct`)."),
        ((3, 0, 0, 3), "", "Parser `direct` not run: 3 responses."),
        ((3, 0, 0, 2), "", "3 responses, none failed. The parser was not run over 2 of them."),
    ],
)
def test_a_session(counts: tuple[int, int, int, int], findings: str, sentence: str) -> None:
    assert words.session_sentence(counts, "direct", findings) == sentence


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ('<function name="f"><param name="a">1</param></function>', "a tagged call of f with 1 argument"),
        (
            '<｜DSML｜invoke name="f"><｜DSML｜parameter name="a">x</｜DSML｜parameter></｜DSML｜invoke>',
            "a DeepSeek call of f",
        ),
        ('<minimax:tool_call><invoke name="f"><parameter name="a">1</parameter></invoke>', "a tagged call of f"),
        ('<antml:invoke name="f"><antml:parameter name="a">1</antml:parameter></antml:invoke>', "a Claude call of f"),
        ("<function=f>\n<parameter=a>\nx\n</parameter>\n</function>", "a Qwen call of f with 1 argument"),
    ],
)
def test_a_call_is_said_to_be_of_whose_notation_it_is(raw: str, said: str) -> None:
    assert (words.call_sentence(parse(raw).attempts[-1]) or "").startswith(said)
