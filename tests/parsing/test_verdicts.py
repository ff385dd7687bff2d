"""A verdict says what the text is, whichever parser read it and whatever is known of what that parser changed."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import json5
import json_repair
import orjson
import pydantic
import pytest

from tests.parsing import _cases
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


@pytest.mark.parametrize("name, raw", [("instructor", "```json\n[NaN]\n```"), ("smolagents", '{"a": "x\ny"}')])
def test_what_json_loads_takes_as_it_stands_was_not_changed(name: str, raw: str) -> None:
    trace = parse(raw, name)
    assert (trace.verdict, trace.attempts[0].edits) == ("repaired", ())
    assert words.trace_sentence(trace).startswith("reads one value as it stands: Python's json takes NaN, Infinity and")


def test_a_flag_survives_storage() -> None:
    trace = run(lambda text: [json.loads(text)], "1")
    assert trace.as_dict()["flags"] == [{"flag": "changed_afterwards", "span": [0, 1]}]
    assert Trace.from_dict(trace.as_dict()).flags == trace.flags


def test_true_is_not_one_where_a_value_is_looked_for() -> None:
    assert place_of("[1] [true]", Span(0, 10), [True]) == Span(4, 10)
    assert place_of("[1.0]", Span(0, 5), [1]) == Span(0, 5)


FLAGS = _cases.read(Path(__file__).with_name("flags.md"))
"""texts with the flags that they have and where, `ambiguous` alone, or what they are not"""


@pytest.mark.parametrize("case", FLAGS, ids=lambda case: case.name)
def test_what_could_be_read_otherwise_is_flagged_by_kind_and_place(case: _cases.Case) -> None:
    trace = parse(case.raw)
    for kind, _, place in (word.partition("@") for word in case.done):
        if place:
            start, end = map(int, place.split("-"))
            assert trace.ambiguous and Span(start, end) in {flag.span for flag in trace.flags if flag.kind == kind}
            assert words.PLACED_FLAGS[kind] in words.trace_sentence(trace)
            assert any(words.PLACED_FLAGS[kind] in sentence for sentence in words.flag_sentences(trace))
        elif kind.startswith("not_"):
            assert kind.removeprefix("not_") not in {flag.kind for flag in trace.flags}
        else:
            assert trace.ambiguous == (kind == "ambiguous")


@pytest.mark.parametrize("lead", ["", "Sure!\n", "Here is the JSON:\n", "Final Answer: ", "<think>Maybe {}.</think>\n"])
@pytest.mark.parametrize("broken", ['{"a": }}{ "x" : : 1}', '[{"a": "b" "c": :: }', '{"k": [1, 2}: }, "m"'])
def test_broken_json_behind_a_lead_in_has_failed_or_is_flagged(lead: str, broken: str) -> None:
    trace = parse(lead + broken)
    assert trace.verdict == "failed" or trace.ambiguous or trace.truncated


def _changed(trace: Trace) -> bool:
    return any(flag.kind == "changed_afterwards" for flag in trace.flags)


def test_policies_are_named_in_the_trace() -> None:
    assert parse("{}").policy == {
        "roots": "all",
        "missing": "null",
        "duplicates": "last",
        "truncated": "keep",
        "scalars": "accept",
        "wanted": "",
    }
