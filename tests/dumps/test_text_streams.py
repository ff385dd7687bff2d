"""Streams take work that grows with their events, and no more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tests.pace import is_linear
from webapp.dumps.messages.streams import put_together
from webapp.dumps.messages.unknown_streams import guessed_stream

Events = list[Any]


def _piece(number: int) -> dict[str, Any]:
    return {"token": {"text": f" {number}", "special": False}}


def _hugging_face(count: int) -> Events:
    return [_piece(number) for number in range(count)]


def _many_answers(count: int) -> Events:
    last = {"token": {"text": "", "special": True}, "generated_text": " 1"}
    return [{**_piece(number), **(last if number % 2 else {})} for number in range(count)]


def _growing(count: int) -> Events:
    return [
        {"text": "fog " * min(number, 20) + "-" * number, "meta_info": {"id": "a", "finish_reason": None}}
        for number in range(count)
    ]


def _calls(count: int) -> Events:
    calls = ({"index": number % 7, "function": {"name": "f", "arguments": "{}"}} for number in range(count))
    return [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]


def _parts(count: int) -> Events:
    contents = (
        "b",
        [{"type": "text", "text": "c"}],
        [{"type": "thinking", "thinking": [{"type": "text", "text": "d"}]}],
    )
    return [{"choices": [{"index": 0, "delta": {"content": contents[number % 3]}}]} for number in range(count)]


def _texts_and_none(count: int) -> Events:
    """Empty texts, one that says something, and what is no text."""
    said = ("" if number < count // 2 else "a" if number == count // 2 else 5 for number in range(count))
    return [{"choices": [{"index": 0, "delta": {"reasoning": text}}]} for text in said]


def _usage(count: int) -> Events:
    usage = ({"type": "message_delta", "usage": {str(number): 1}} for number in range(count))
    return [{"type": "message_start", "message": {"usage": {"a": 1}}}, *usage]


def _unknown(count: int) -> Events:
    return [{"delta": f" {number}"} for number in range(count)]


def _under_many_names(count: int) -> Events:
    return [{f"part{number}": {"delta": f" {number}"}} for number in range(count)]


def steps_of(work: Callable[[Events], object], events: Events) -> int:
    """How many functions are called while it works on the events, each of which does a bounded part of it."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work(events)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("work", "events"),
    [
        (put_together, _hugging_face),
        (put_together, _many_answers),
        (put_together, _growing),
        (put_together, _calls),
        (put_together, _parts),
        (put_together, _texts_and_none),
        (guessed_stream, _unknown),
        (guessed_stream, _under_many_names),
    ],
)
def test_four_times_as_many_events_are_four_times_the_work(
    work: Callable[[Events], object], events: Callable[[int], Events]
) -> None:
    few, many = (steps_of(work, events(count)) for count in (500, 2000))
    assert few > 500
    assert many < 4.4 * few


def test_members_that_many_events_add_are_not_copied_with_each() -> None:
    few, many = _usage(4000), _usage(16_000)
    assert is_linear(lambda: put_together(few), lambda: put_together(many), 4)
    assert len(put_together(many)["usage"]) == 16_001 and few[0]["message"]["usage"] == {"a": 1}


def test_each_event_of_a_stream_is_in_the_answer_once() -> None:
    assert put_together(_hugging_face(2000))["message"]["content"] == "".join(f" {number}" for number in range(2000))
    assert guessed_stream(_unknown(2000)) == ("delta", "".join(f" {number}" for number in range(2000)))
