"""Tool calls with a tag that is missing: read, or named with what was seen and where; never nothing without a word."""

from __future__ import annotations

import re

import pytest

from tests.parsing.promises import keeps_its_promises
from webapp.parsing import Trace, parse

CALLS = {
    "glm": "<tool_call>look\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>",
    "glm of two": "<tool_call>look\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>n</arg_key>"
    "\n<arg_value>5</arg_value>\n</tool_call>",
    "qwen": "<tool_call>\n<function=look>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
    "hermes": '<tool_call>\n{"name": "look", "arguments": {"city": "Paris"}}\n</tool_call>',
    "mistral": '[TOOL_CALLS][{"name": "look", "arguments": {"city": "Paris"}}]',
    "mistral by name": '[TOOL_CALLS]look[ARGS]{"city": "Paris"}',
    "llama": '<|python_tag|>{"name": "look", "parameters": {"city": "Paris"}}<|eom_id|>',
    "llama function": '<function=look>{"city": "Paris"}</function>',
    "anthropic": '<function_calls>\n<invoke name="look">\n<parameter name="city">Paris</parameter>\n</invoke>\n'
    "</function_calls>",
    "deepseek": '<｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{"city": "Paris"}\n```<｜tool▁call▁end｜>',
    "kimi": '<|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"city": "Paris"}<|tool_call_end|>',
}
TAG = re.compile(r"</?[a-z_]+[^<>]*>|<[|｜][^<>]*>|\[[A-Z_]+\]")


def without_one(text: str) -> list[str]:
    """The text without each of its tags, from behind each on, and up to each."""
    tags = list(TAG.finditer(text))
    return [
        *(text[: tag.start()] + text[tag.end() :] for tag in tags),
        *(text[tag.end() :] for tag in tags[:-1]),
        *(text[: tag.start()] for tag in tags[1:]),
    ]


def named(trace: Trace) -> list[str]:
    return [attempt.reason or "" for attempt in trace.attempts[1:] if attempt.outcome != "accepted"]


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_call_without_one_of_its_tags_is_read_or_named(text: str) -> None:
    for raw in without_one(text):
        trace = keeps_its_promises(raw)
        assert trace.values or named(trace) or not TAG.search(raw), raw


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_no_other_value_is_taken(text: str) -> None:
    whole = {"city": "Paris"}
    for raw in without_one(text):
        for value in parse(raw).values:
            call = value[0] if isinstance(value, list) else value
            arguments = call.get("arguments", call.get("parameters", call))
            arguments = {key: value.strip() if isinstance(value, str) else value for key, value in arguments.items()}
            assert arguments in ({}, whole, whole | {"n": 5}, {"n": 5}), (raw, value)


def test_what_is_lost_with_the_opening_tag_is_said() -> None:
    trace = parse("<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>")
    assert trace.verdict == "failed"
    assert (trace.attempts[1].span.start, trace.attempts[1].reason) == (
        0,
        "the call of an unknown tool cannot be read: its opening tag is missing, and with it the name of its tool",
    )
    assert "a tag of a tool call" in (parse("It is done.</tool_call>").attempts[1].reason or "")


def test_a_call_without_its_opening_tag_is_marked() -> None:
    trace = parse("look\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>")
    assert trace.ambiguous and not trace.truncated
    edits = trace.attempts[trace.chosen[0]].edits
    assert (edits[0].repair, edits[0].span.start, edits[0].new) == ("missing_opener", 0, '{"name": "')


def test_a_parameter_alone_is_a_tag_as_others_are() -> None:
    assert list(parse('<parameter=a>{"b": 1}</parameter>').values) == [{"b": 1}]
