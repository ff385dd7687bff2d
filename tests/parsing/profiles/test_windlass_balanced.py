"""Report 004: braces too many at the end of a tool call, and where the mending stops."""

from __future__ import annotations

import json

import pytest

from webapp.parsing import parse
from webapp.parsing.edit import Edit, apply
from webapp.parsing.span import Span

CALL = '{"tool": "run_code", "arguments": {"code": "print(\'hello\')"}}'


def fence(block: str) -> str:
    return f"```json\n{block}\n```"


def test_the_report_s_test_content_gives_its_call_with_two_braces_removed():
    raw = f"\nHere's my tool call:\n\n{fence(CALL + '}}')}\n\nExtra braces at end.\n"
    trace = parse(raw, "windlass-balanced")
    assert trace.verdict == "repaired"
    assert trace.values == (json.loads(CALL),)
    failed, mended = trace.attempts
    assert failed.error.message == "Extra data"
    assert raw[: failed.error.at] == raw[: raw.index("}}}}") + 2]
    end = raw.index("\n```\n\nExtra")
    assert mended.edits == (Edit("extra_closer", Span(end - 2, end), "}}", ""),)
    assert mended.note == ("[WARN] Fixed malformed JSON: removed 2 extra braces; tool call prompt_tool_0: run_code")


@pytest.mark.parametrize("extra", [1, 2, 3, 40])
def test_any_number_of_extras_is_fixed(extra):
    trace = parse(fence(CALL + "}" * extra), "windlass-balanced")
    assert trace.values == (json.loads(CALL),)
    assert f"removed {extra} extra braces" in trace.attempts[1].note


def test_an_object_that_closes_before_the_run_still_fails():
    raw = fence('{"tool":"t","arguments":{"a":{"b":1},"c":2}}}}')
    trace = parse(raw, "windlass-balanced")
    assert trace.verdict == "failed"
    assert [attempt.outcome for attempt in trace.attempts] == ["failed", "failed"]
    assert trace.attempts[1].note.startswith("a validation error for the agent: ")


def test_braces_in_strings_are_counted():
    raw = fence('{"tool":"t","arguments":{"code":"}}}"}')
    trace = parse(raw, "windlass-balanced")
    block = trace.attempts[1]
    assert apply(raw, block.span, block.edits) == '{"tool":"t","arguments":{"code":"}}}"}}'
    assert block.edits == (Edit("missing_closer", Span(block.span.end, block.span.end), "", "}"),)
    assert trace.values == ({"tool": "t", "arguments": {"code": "}}}"}},)
    assert "removed 2 extra braces" in block.note


def test_missing_braces_are_left_alone():
    trace = parse(fence('{"tool":"t","arguments":{"a":1}'), "windlass-balanced")
    assert [attempt.edits for attempt in trace.attempts] == [()]
    assert trace.verdict == "failed"


def test_without_valid_blocks_there_are_no_tool_calls():
    assert parse("I need the output from run_code", "windlass-balanced").verdict == "none"


def test_as_many_closers_as_openers_are_left_alone():
    """Balancing would have read this one: a closer in a string makes up for the missing one."""
    trace = parse(fence('{"tool":"}","arguments":{"c":1}'), "windlass-balanced")
    assert (trace.verdict, len(trace.attempts)) == ("failed", 1)
