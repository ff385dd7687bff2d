"""Sentences about edits, attempts, traces and sessions, as pages, terminal and exports say them."""

from __future__ import annotations

import pytest

from webapp.parsing import parse, words
from webapp.parsing.edit import Edit, Span


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("}}", "", 'removes "}}"'),
        ("", ":", 'inserts ":"'),
        ("'", '"', "replaces a single quote by a double quote"),
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
    ],
)
def test_a_trace(raw: str, profile: str, sentence: str) -> None:
    assert words.profile_sentence(parse(raw, profile)) == sentence


def test_an_attempt_and_a_verdict() -> None:
    trace = parse("[1,]")
    (chosen,) = trace.chosen
    assert words.attempt_sentence(trace.attempts[chosen], True) == "Accepted after 1 edit: trailing comma."
    assert words.verdict_sentence(trace).startswith(
        "repaired: a value was read from text that is not JSON, by fencepost "
    )
    failed = parse("[1}", "direct").attempts[0]
    assert words.attempt_sentence(failed, chosen=False) == "Expecting ',' delimiter at line 1, column 3, offset 2."
    assert words.profile_sentence("RuntimeError: x") == "broke"


@pytest.mark.parametrize(
    ("counts", "findings", "sentence"),
    [
        ((0, 0, 0), "", "No response was recorded in this session."),
        ((1, 0, 0), "", "1 response, none failed."),
        ((3, 0, 0), "A loop.", "A loop. 3 responses, none failed."),
        ((3, 1, 1), "", "1 of 3 responses failed (parser `direct`); Fencepost can read it."),
        (
            (3, 2, 1),
            "A.",
            "A. 2 of 3 responses failed (parser `direct`); Fencepost can read 1 of them.",
        ),
        ((3, 2, 0), "", "2 of 3 responses failed (parser `direct`)."),
    ],
)
def test_a_session(counts: tuple[int, int, int], findings: str, sentence: str) -> None:
    assert words.session_sentence(*counts, "direct", findings) == sentence


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
