"""Report 001 after its fix: explicit fences only, and what they hide."""

from __future__ import annotations

import pytest

from webapp.parsing import parse

PYTHON = "results = {\n    'first_n_fibonacci': [],\n    'sum': 42\n}\nprint(f\"Sum: {results['sum']:,}\")\n"


def test_phase_without_tools_gives_no_call_and_no_error():
    trace = parse(PYTHON, "windlass-strict")
    assert (trace.verdict, trace.attempts) == ("none", ())


def test_phase_with_tools_is_parsed():
    raw = '```json\n{"tool": "run_code", "arguments": {"code": "print(\'hello\')"}}\n```'
    trace = parse(raw, "windlass-strict")
    assert trace.values == ({"tool": "run_code", "arguments": {"code": "print('hello')"}},)
    assert trace.verdict == "extracted"
    assert trace.attempts[0].note == "tool call prompt_tool_0: run_code"


def test_mixed_content_ignores_the_python_block():
    raw = (
        "Here's the data structure:\n```python\ndata = {\n    'results': [1, 2, 3],\n    'sum': 6\n}\n```\n\n"
        'Now I\'ll save it:\n```json\n{"tool": "set_state", "arguments": {"key": "data", "value": '
        '{"results": [1,2,3]}}}\n```\n'
    )
    trace = parse(raw, "windlass-strict")
    assert [value["tool"] for value in trace.values] == ["set_state"]
    assert len(trace.attempts) == 1


def test_prose_object_before_the_call_is_not_looked_at():
    raw = '{\n  "fibonacci": [0, 1, 1, 2, ...],\n  "sum": 42\n}\n\n```json\n{"tool": "set_state", "arguments": {}}\n```'
    assert len(parse(raw, "windlass-strict").attempts) == 1
    assert parse(raw, "windlass-strict").values == ({"tool": "set_state", "arguments": {}},)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('```json\n{"tool": "t", "arguments": {"md": "use `x`"}}\n```', "a backtick inside hides the block"),
        ('```json\n[{"tool": "t"}]\n```', "does not start with {"),
        ('```json\n{"tool": "t"}\n', "no closing fence"),
        ('```json\n{"tool": "t"\n```', "does not end with } before the next fence"),
    ],
)
def test_blocks_ignored_silently_are_shown(raw, reason):
    trace = parse(raw, "windlass-strict")
    assert trace.verdict == "none"
    assert trace.attempts[0].outcome == "rejected"
    assert trace.attempts[0].reason == f"{reason}: ignored silently"


def test_valid_json_without_tool_is_ignored_silently():
    trace = parse('```JSON\n{"a": 1}\n```', "windlass-strict")
    assert trace.verdict == "none"
    assert trace.attempts[0].reason == 'decoded, but has no "tool": ignored silently'


def test_arguments_that_are_no_object_are_an_error():
    trace = parse('```json\n{"tool": "t", "arguments": [1]}\n```', "windlass-strict")
    assert trace.verdict == "failed"
    assert trace.attempts[0].note == (
        "a validation error for the agent: Tool call 'arguments' must be an object/dict, got list"
    )


def test_errors_are_dropped_beside_a_call_and_calls_are_counted():
    raw = '```json\n{"tool": }\n``` ```json\n{"tool": "t"}\n```'
    trace = parse(raw, "windlass-strict")
    bad, good = trace.attempts
    assert bad.note == ("dropped, since another block is a call: Expecting value: line 1 column 10 (char 9)")
    assert good.note == "tool call prompt_tool_0: t"
    assert trace.chosen == (1,)


def test_a_name_that_is_no_string_is_not_spelled_out():
    trace = parse('```json\n{"tool": {"name": "x"}}\n```', "windlass-strict")
    assert trace.attempts[0].note == "tool call prompt_tool_0: (a name that is no string but dict)"


def test_no_note_says_that_anything_was_sent() -> None:
    """What a program sent stands in its dump, or nowhere: the parser of one report tells the agent, another nobody."""
    raw = '```json\n{"tool": "run_code", "arguments": {}}}\n```'
    told, silent = (parse(raw, name).attempts[0].note or "" for name in ("windlass-strict", "windlass-silent"))
    assert told.startswith("a validation error for the agent: Extra data")
    assert silent.startswith("caught, and nobody is told: Extra data")
