"""A tool's answer that says its call could not be read marks the call, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from webapp.dumps.linked_turns import LOOKAHEAD, TurnWindow
from webapp.dumps.messages.calls import ID_KEYS
from webapp.dumps.records import Problem, Turn

SAID = "Error: failed to parse tool call arguments as JSON: Expecting ',' delimiter: line 1 column 5 (char 4)"


def with_call_failures(turns: list[Turn | Problem]) -> list[Turn | Problem]:
    failures = TurnWindow()
    return [*(left for turn in turns for left in failures.put(turn)), *failures.rest()]


def talk(arguments: str | None, answer: str | None, failure: str | None = None, between: int = 0) -> list[Turn]:
    call = Turn(0, "tool_call", raw=arguments, tool_calls=[{"id": "c1"}])
    result = Turn(1 + between, "tool_result", raw=answer, parent="c1", failure=failure)
    return [call, *(Turn(1 + n, "event") for n in range(between)), result]


@pytest.mark.parametrize("key", ID_KEYS)
def test_the_call_is_marked(key):
    call, result = talk('{"a" 1}', SAID)
    call, result = with_call_failures([replace(call, tool_calls=[{key: "c1"}]), result])
    assert (call.failure, result.failure) == (SAID, None)


def test_what_the_dump_notes_goes_to_the_call_and_without_an_answer_there_is_none():
    call, result = with_call_failures(talk("{}", "x", failure="parsing: bad"))
    assert (call.failure, result.failure) == ("parsing: bad", None)
    assert [turn.failure for turn in with_call_failures(talk('{"a" 1}', None))] == [None, None]


def test_without_its_call_it_stays():
    _, result = with_call_failures([Turn(0, "event"), Turn(1, "tool_result", parent="other", failure="parsing: bad")])
    assert result.failure == "parsing: bad"


def test_order_problems_and_far_answers():
    turns = [Problem("x", "y"), *talk('{"a" 1}', SAID, between=LOOKAHEAD)]
    found = list(with_call_failures(turns))
    assert found == turns
    assert next(turn.failure for turn in with_call_failures(talk('{"a" 1}', SAID, between=LOOKAHEAD - 2))) == SAID
