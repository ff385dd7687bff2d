"""What is a tool call, in which shape, and which calls of a response were lost."""

from __future__ import annotations

import pytest

from webapp.findings.tool_calls import calls, is_call, looks_like_call


@pytest.mark.parametrize(
    ("value", "home", "expected"),
    [
        ({"tool": "say", "arguments": {}}, "direct", True),
        ({"name": "say", "parameters": {}}, "direct", True),
        ({"function": {"name": "say", "arguments": "{}"}}, "direct", True),
        ({"tool": "say"}, "windlass-strict", True),
        ({"tool": "say"}, "direct", False),
        ({"function": {"name": "say"}}, "direct", False),
        (["say"], "direct", False),
    ],
)
def test_a_call_is_a_name_and_its_arguments(value: object, home: str, expected: bool) -> None:
    assert is_call(value, home) is expected


def test_calls_in_lists_and_under_tool_calls_count() -> None:
    call = {"name": "say", "arguments": {}}
    assert calls([call, [call, 1], {"tool_calls": [call, call]}], "direct") == 4


def test_a_text_that_nobody_can_decode_may_hold_a_call() -> None:
    assert looks_like_call('{"tool": "say", "arguments": {"text": "un"escaped')
    assert not looks_like_call('{"tool": "say"}')
