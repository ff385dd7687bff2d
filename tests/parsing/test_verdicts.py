"""A verdict says what the text is, whichever parser read it and whatever is known of what that parser changed."""

from __future__ import annotations

import ast
import json
from typing import Any

import json5
import json_repair
import orjson
import pydantic
import pytest

from webapp.parsing import Trace, parse, words
from webapp.parsing.edit import Span
from webapp.parsing.outcomes import run
from webapp.parsing.verdicts import place_of


class Answer(pydantic.BaseModel):
    a: int
    b: str = "default"


orjson_loads = orjson.loads
"""bound before any hook, as in a program that preloads it, or as a parser in another language is: nothing is seen"""


def _lenient(text: str) -> Any:
    return json.loads(text, strict=False)


def _after_colon(text: str) -> Any:
    return orjson_loads(text[text.index("{") :])


SEEN = {
    "strict": json.loads,
    "literal": ast.literal_eval,
    "json5": json5.loads,
    "control": _lenient,
    "repair": lambda text: json_repair.repair_json(text, return_objects=True),
    "unseen": orjson_loads,
    "unseen-cut": _after_colon,
}


@pytest.mark.parametrize(
    ("parser", "raw", "verdict"),
    [
        *((parser, '{"a": [1, "x"]}\n', "clean") for parser in SEEN if parser != "unseen-cut"),
        ("strict", '{"a": NaN}', "repaired"),
        ("literal", "{'a': 1}", "repaired"),
        ("literal", '{"a": True}', "repaired"),
        ("json5", "{a: 1,}", "repaired"),
        ("json5", '// note\n{"a": 1}', "extracted"),
        ("control", '{"a": "x\ny"}', "repaired"),
        ("repair", '{"a": 1,}', "repaired"),
        ("repair", 'Here: {"a": 1}', "extracted"),
        ("unseen", '{"a":1}', "clean"),
        ("unseen-cut", 'Here: {"a":1}', "extracted"),
    ],
)
def test_a_captured_parser_gets_the_verdict_of_the_text(parser: str, raw: str, verdict: str) -> None:
    trace = run(SEEN[parser], raw)
    assert trace.verdict == verdict
    assert not _changed(trace)
    if verdict != "repaired":
        assert not [edit for at in trace.chosen for edit in trace.attempts[at].edits]


@pytest.mark.parametrize(
    ("profile", "raw", "verdict"),
    [
        ("direct", "[Infinity]", "repaired"),
        ("smolagents", '{"a": "x\ty"}', "repaired"),
        ("smolagents", 'x {"a": 1}', "extracted"),
        ("langchain", '{"a": "x\ny"}', "repaired"),
        ("crewai", "{'a': 1}", "repaired"),
        ("crewai", '{"a": 1}', "clean"),
        ("json-repair", "see {1} and {'a': 1}", "repaired"),
        ("llamaindex", "a: [x, 2]", "repaired"),
        ("llamaindex", "a: [1, 2]", "extracted"),
        ("llamaindex", '{"a": 1}', "clean"),
    ],
)
def test_a_restated_parser_gets_the_verdict_of_the_text(profile: str, raw: str, verdict: str) -> None:
    assert parse(raw, profile).verdict == verdict


@pytest.mark.parametrize(
    ("parser", "raw", "verdict", "value"),
    [
        (lambda text: Answer(**json.loads(text)).model_dump(), '{"a": 1}', "clean", {"a": 1, "b": "default"}),
        (lambda text: {"ok": True, "data": json.loads(text)}, "[1]", "clean", {"ok": True, "data": [1]}),
        (lambda text: Answer.model_validate_json(text).model_dump(), '{"a": "1"}', "clean", {"a": 1, "b": "default"}),
        (lambda text: json.loads(text[6:])["a"], 'Here: {"a": 5}', "extracted", 5),
        (lambda text: {**ast.literal_eval(text), "c": 3}, "{'a': 1}", "repaired", {"a": 1, "c": 3}),
    ],
)
def test_a_value_that_json_does_not_say_was_changed_afterwards_and_is_no_repair(
    parser: Any, raw: str, verdict: str, value: Any
) -> None:
    trace = run(parser, raw)
    assert (trace.verdict, trace.values) == (verdict, (value,))
    if verdict != "repaired":
        assert _changed(trace) and "changed the value afterwards at" in words.trace_sentence(trace)
        assert not words.chosen_edits(trace)


def test_what_a_lenient_decoder_changed_is_said_not_to_have_been_seen() -> None:
    trace = run(ast.literal_eval, "{'a': (1, 2)}")
    assert words.trace_sentence(trace) == "reads one value by a lenient decoder; what it changed was not seen"
    assert "what it changed was not seen" in (trace.attempts[trace.chosen[0]].note or "")


def test_a_flag_survives_storage() -> None:
    trace = run(lambda text: [json.loads(text)], "1")
    assert trace.as_dict()["flags"] == [{"flag": "changed_afterwards", "span": [0, 1]}]
    assert Trace.from_dict(trace.as_dict()).flags == trace.flags


def test_true_is_not_one_where_a_value_is_looked_for() -> None:
    assert place_of("[1] [true]", Span(0, 10), [True]) == Span(4, 10)
    assert place_of("[1.0]", Span(0, 5), [1]) == Span(0, 5)


@pytest.mark.parametrize(
    ("raw", "kind", "span"),
    [
        ('{"a": 1} or {"a": 2}', "several_values", (0, 8)),
        ('{"a": 1} and "b": 2', "left_over", (13, 18)),
        ("{'a': ['1/2', see (1)', 'y']}", "swallowed_keys", (11, 11)),
        ("{'a': [a, b', 'y']}", "swallowed_keys", (10, 10)),
        ('```json\n{"a": [1, 2\n```\nDone.', "closed_by_guess", (19, 19)),
        ('<tool_call>{"name": "f", "arguments": {}</tool_call>', "closed_by_guess", (40, 40)),
        ('{"a": 1, "d": @@@ ###}', "left_over", (14, 21)),
        ('Action: search[{"q": "x"}]', "left_over", (13, 14)),
        ("{`path: []}", "left_over", (0, 1)),
        ("""["path"*: "it's"}""", "closed_by_guess", (0, 1)),
        ('{"a": 1, "b": "src\\"}', "closed_by_guess", (18, 19)),
        ('Then step(x, y(), {"a": 1}) runs.', "left_over", (18, 19)),
        ("Then {'user': USER, 'links': raw_links} goes.", "left_over", (14, 18)),
        ('{"k": "ai", "ml", "nlp", "n": 3}', "closed_by_guess", (16, 17)),
        ("{'a': 'x' if y else 'z'}", "swallowed_keys", (8, 8)),
        ("{'a': {'b': {'c': 1}}, 'd': 2}}", "closed_by_guess", (30, 31)),
        ("{'x': [[1, 2]}", "closed_by_guess", (13, 13)),
        ('["ok"= "a, b"}', "closed_by_guess", (0, 1)),
        ("{'a': 1, 'x: ', 'b': [True]}", "swallowed_keys", (10, 11)),
        ('["a", "b: "c"]', "swallowed_keys", (10, 10)),
        ('{"ok": tru}', "bare_word", (7, 10)),
        ('{"ok": flase, "name": Bob}', "bare_word", (7, 12)),
        ("[tru, nulll]", "bare_word", (1, 4)),
        ('<think>Maybe {"x": 0}.</think>', "draft", (13, 21)),
    ],
)
def test_a_flag_names_its_kind_and_place(raw: str, kind: str, span: tuple[int, int] | None) -> None:
    trace = parse(raw)
    assert kind in {flag.kind for flag in trace.flags} and trace.ambiguous
    assert span is None or Span(*span) in {flag.span for flag in trace.flags if flag.kind == kind}
    assert words.PLACED_FLAGS[kind] in words.trace_sentence(trace)
    assert any(words.PLACED_FLAGS[kind] in sentence for sentence in words.flag_sentences(trace))


@pytest.mark.parametrize("raw", ["[mon, wed]", '{"a": truck, "b": full}', '{"lang": tr}', '{"a": no}', '{"a": tru'])
def test_a_bare_word_that_is_one_is_not_doubted(raw: str) -> None:
    assert "bare_word" not in {flag.kind for flag in parse(raw).flags}


@pytest.mark.parametrize("lead", ["", "Sure!\n", "Here is the JSON:\n", "Final Answer: ", "<think>Maybe {}.</think>\n"])
@pytest.mark.parametrize("broken", ['{"a": }}{ "x" : : 1}', '[{"a": "b" "c": :: }', '{"k": [1, 2}: }, "m"'])
def test_broken_json_behind_a_lead_in_has_failed_or_is_flagged(lead: str, broken: str) -> None:
    trace = parse(lead + broken)
    assert trace.verdict == "failed" or trace.ambiguous or trace.truncated


@pytest.mark.parametrize("answer", ["I cannot help with that.", '[{"a" = : 1}; {"a": 2}', "No."])
def test_a_draft_is_not_the_answer(answer: str) -> None:
    trace = parse(f'<think>Maybe {{"x": 0}}? No.</think>\n{answer}')
    assert {"x": 0} not in trace.values


def _changed(trace: Trace) -> bool:
    return any(flag.kind == "changed_afterwards" for flag in trace.flags)


@pytest.mark.parametrize("raw", ["Set x = {'a': {'b': 1}} first.", '[Event "x"]\n[Site "y"]\n\n1. e4 e5'])
def test_an_assignment_in_a_sentence_and_headers_of_a_game_are_no_json(raw: str) -> None:
    assert parse(raw).values == ()
