"""Parsers of their own kinds: the verdict says what the text is, and a swallowed failure is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.capture import own_parsers
from tests.capture.made import process
from webapp.parsing import Trace, parse
from webapp.parsing.failure_group import group
from webapp.parsing.outcomes import run, trace_of

PROSE = "Sorry, I cannot help with that."
BROKEN = '{"a": 1, "b": [2, }'
FILE = Path(own_parsers.__file__)


def traced(name: str, text: str) -> Trace:
    return run(getattr(own_parsers, name), text)


@pytest.mark.parametrize("name", ["gives_an_empty_object", "gives_a_constant", "gives_the_error"])
def test_a_swallowed_failure_is_one(name: str) -> None:
    trace = traced(name, BROKEN)
    last = trace.attempts[-1]
    assert (trace.verdict, last.strategy, trace.values) == ("failed", "swallowed", ())
    assert last.reason is not None and last.reason.startswith("the parser caught the error and returned ")
    assert last.error == trace.attempts[0].error and last.error is not None


@pytest.mark.parametrize("text", ['{"name": "f", "arguments": "{"n": 1}"}', '{"tool": "t", "arguments": {"n": }}'])
def test_a_constant_is_none_of_this_text_though_its_keys_are(text: str) -> None:
    trace = traced("gives_a_constant", text)
    assert (trace.verdict, trace.attempts[-1].strategy, trace.values) == ("failed", "swallowed", ())


RAISE_OR_GIVE_WHAT_IS_NO_JSON = (
    *("lenient_library", "yaml_library", "json5_library", "python_literal", "control_characters_allowed"),
    *("gives_an_empty_object", "gives_a_constant", "gives_the_error", "searches", "waits"),
)


@pytest.mark.parametrize("name", RAISE_OR_GIVE_WHAT_IS_NO_JSON)
def test_prose_is_none(name: str) -> None:
    assert (traced(name, PROSE).verdict, traced(name, PROSE).values) == ("none", ())


def test_what_the_text_itself_says_is_a_value() -> None:
    for text, value in (("{}", {}), ("null", None), ('""', ""), ("[]", [])):
        trace = traced("gives_an_empty_object", text)
        assert (trace.verdict, trace.values) == ("clean", (value,))


def test_a_result_object_is_no_value_and_its_part_can_be_named() -> None:
    trace = traced("gives_an_object", '{"a": 1}')
    assert trace.verdict == "failed"
    reason = "returned a ParseResult, which holds no JSON: name the part that does, as --value data"
    assert trace.attempts[-1].reason == reason
    assert traced("is_no_value", "[1]").attempts[-1].reason == "returned a set, which holds no JSON"
    reason = "returned a dict with a ParseResult at .results.0, which holds no JSON: "
    trace = traced("gives_an_object_within", '{"a": 1}')
    assert (trace.verdict, trace.attempts[-1].reason) == (
        "failed",
        f"{reason}name the part that does, as --value results.0.data",
    )
    child = process(f"{FILE}:gives_an_object", value="data")
    try:
        assert trace_of('{"a": 1}', child.parse('{"a": 1}')).values == ({"a": 1},)
        child.spec = replace(child.spec, value="data.b")
        child.close()
        assert child.parse('{"a": 1}').error.said == "a dict has no 'b', which --value names"  # type: ignore[union-attr]
    finally:
        child.close()


def test_types_that_have_a_text_are_that_text_and_a_set_a_list() -> None:
    child = process(f"{FILE}:with_other_types")
    for trace in (traced("with_other_types", '{"a": 1}'), trace_of('{"a": 1}', child.parse('{"a": 1}'))):
        assert trace.values == ({"a": 1, "when": "2026-11-25", "tags": ["a", "b", "c"]},)
        assert [flag.kind for flag in trace.flags] == ["changed_afterwards"]
    child.close()


def test_a_number_of_another_type_is_that_number() -> None:
    text = '{"a": 1.50, "b": [0.1, 2]}'
    child = process(f"{FILE}:with_exact_numbers")
    for trace in (traced("with_exact_numbers", text), trace_of(text, child.parse(text))):
        assert (trace.verdict, trace.values, trace.flags) == ("clean", ({"a": 1.5, "b": [0.1, 2]},), ())
    child.close()


def test_async_def_is_awaited() -> None:
    assert traced("waits", '{"a": 1}').values == ({"a": 1},)
    child = process(f"{FILE}:waits")
    assert child.parse("[1]").value == [1]
    child.close()


def test_what_the_program_changed_is_no_repair() -> None:
    text = '{"a": 1}'
    for name, value in (
        ("with_defaults", {"a": 1, "steps": 3}),
        ("wrapped", {"ok": True, "data": {"a": 1}}),
    ):
        trace = traced(name, text)
        (chosen,) = (trace.attempts[index] for index in trace.chosen)
        assert (trace.values, chosen.edits) == ((value,), ())
        assert chosen.note is not None and chosen.note.startswith("the program changed the value afterwards: ")
        assert trace.verdict in ("clean", "extracted")
    part = traced("takes_a_part", '{"tool": "t", "arguments": {"b": 2}}')
    assert part.values == ({"b": 2},) and part.verdict in ("clean", "extracted")


def test_what_says_nothing_of_the_text_is_a_group_of_its_own() -> None:
    parsers = Path(__file__).with_name("parsers.py")
    groups = []
    for function, text in (("hangs", "hang"), ("ends_the_process", "end")):
        child = process(f"{parsers}:{function}", seconds=0.5 if function == "hangs" else 60)
        failed = trace_of(text, child.parse(text))
        assert failed.verdict == "failed"
        groups.append(group(text, failed, parse(text)))
        child.close()
    text = '{"a": 1}'
    names = ("searches", "gives_an_object", "gives_an_object_within")
    groups += [group(text, traced(name, text), parse(text)) for name in names]
    assert [each and each.title for each in groups] == [
        "the parser took longer than 0.5 s",
        "the parser died: its process ended by itself with exit code 3",
        "the parser raised AttributeError",
        "the parser returned a ParseResult",
        "the parser returned a dict with a ParseResult",
    ]
