"""Streams whose events add to one text under one name: those of Hugging Face, llama.cpp, Dify, Bedrock and SGLang."""

from __future__ import annotations

from typing import Any, NamedTuple

from webapp.dumps.json_path import at, holds
from webapp.dumps.messages.chat_streams import joined, or_empty


class _Row(NamedTuple):
    """What an event passes that adds to an answer, where its text stands, and what the last of an answer passes."""

    adds: str
    text: str
    ends: str


_ROWS = (
    _Row("token.special=False", "token.text", "generated_text:text"),
    _Row("content:text stop:true", "content", "stop=True"),
    _Row("event=message|agent_message answer:text", "answer", "event=message_end"),
    _Row("event=text_chunk data.text:text", "data.text", "event=workflow_finished"),
    _Row("result:text is_end:true", "result", "is_end=True"),
    _Row("output.text:text output.finish_reason", "output.text", "!output.finish_reason=null output.finish_reason"),
    _Row("completion:text stop_reason=null or completion:text stop_reason:text", "completion", "stop_reason:text"),
    _Row("generation:text stop_reason=null or generation:text stop_reason:text", "generation", "stop_reason:text"),
    _Row("outputText:text index", "outputText", "completionReason:text"),
    _Row("outputs[0].text:text", "outputs[0].text", "outputs[0].stop_reason:text"),
    _Row(
        "results[0].generated_text:text",
        "results[0].generated_text",
        "results[0].stop_reason:text !results[0].stop_reason=not_finished",
    ),
    _Row("text:text meta_info:object", "text", "meta_info.finish_reason"),
)
"""in the language of declared formats"""


def _row_of(events: list[dict[str, Any]]) -> _Row | None:
    return next((row for row in _ROWS if any(holds(event, row.adds) for event in events)), None)


def is_text_stream(event: dict[str, Any]) -> bool:
    """Whether an event may be of such a stream: bodies that came in one piece look like its last one."""
    return _row_of([event]) is not None


def text_stream(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The text that the events add up to, beside what the last of them says."""
    row = _row_of(events) or _ROWS[0]
    pieces = [or_empty(at(event, row.text)[0]) for event in events if holds(event, row.adds)]
    return {**events[-1], "text": joined(pieces)}


def text_begins(event: dict[str, Any], before: list[dict[str, Any]], ended: set[Any]) -> bool:
    """Whether an answer has ended before an event; one that adds nothing goes on with what came before it."""
    row = _row_of(before)
    return row is not None and holds(before[-1], row.ends) and holds(event, row.adds)
