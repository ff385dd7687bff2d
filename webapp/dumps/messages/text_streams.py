"""Streams that add to one text under one name, as Hugging Face's, Dify's and SGLang's, or say what others do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from webapp.dumps.json_path import at, holds
from webapp.dumps.messages.chat_streams import add, chat, joined, number, or_empty, responses
from webapp.dumps.values import as_object, text


class _Row(NamedTuple):
    """What an event passes that adds to an answer, where its text stands, and what the last of an answer passes."""

    adds: str
    text: str
    ends: str
    grows: bool = False
    """whether each event may say again all that those before it said"""


_ROWS = (
    _Row("token.special=False", "token.text", "generated_text:text"),
    _Row("content:text stop:true", "content", "stop=True"),
    _Row("event=message|agent_message answer:text", "answer", "event=message_end"),
    _Row("role=assistant type=answer content:text id", "content", "event=conversation.message.completed"),
    _Row("event=text_chunk data.text:text", "data.text", "event=workflow_finished"),
    _Row("result:text is_end:true", "result", "is_end=True"),
    _Row(
        "type=token|text_delta|content_delta content|text|data|delta|token:text !start !pos !offset !line !loc !kind",
        "content|text|data|delta|token",
        "type=done|end|finish",
    ),
    _Row("output.text:text output.finish_reason", "output.text", "!output.finish_reason=null|None", grows=True),
    _Row("completion:text stop_reason=null or completion:text stop_reason:text", "completion", "stop_reason:text"),
    _Row("generation:text stop_reason=null or generation:text stop_reason:text", "generation", "stop_reason:text"),
    _Row("completion|deltaText:text stopReason:text", "completion|deltaText", "stopReason:said", grows=True),
    _Row("outputText:text index", "outputText", "completionReason:text"),
    _Row("outputs[0].text:text", "outputs[0].text", "outputs[0].stop_reason:text"),
    _Row(
        "results[0].generated_text:text",
        "results[0].generated_text",
        "results[0].stop_reason:text !results[0].stop_reason=not_finished",
    ),
    _Row(
        "text:text meta_info.finish_reason=null or text:text meta_info.finish_reason:object",
        "text",
        "meta_info.finish_reason",
        grows=True,
    ),
)
"""in the language of declared formats"""
_ASKED = {"prompt", "question", "query", "input", "inputs", "instruction", "messages"}
"""keys of a record that holds what was asked, too, and is no piece of an answer"""


def _row_of(events: list[dict[str, Any]]) -> _Row | None:
    return next((row for row in _ROWS if any(holds(event, row.adds) for event in events)), None)


def is_text_stream(event: dict[str, Any]) -> bool:
    """Whether an event may be of such a stream: bodies that came in one piece look like its last one."""
    return _row_of([event]) is not None


def are_pieces(events: list[dict[str, Any]]) -> bool:
    """Whether these are pieces of such an answer, none of which is all of it."""
    row = _row_of(events)
    return (
        row is not None
        and len(events) > 1
        and all(holds(event, row.adds) or holds(event, row.ends) for event in events)
        and not holds(events[0], row.ends)
        and events[0].keys().isdisjoint(_ASKED)
        and bool(_SAID.search("".join(text(at(event, row.text)[0]) or "" for event in events)))
    )


def text_stream(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The text that the events add up to, beside what the last of them says."""
    row = _row_of(events) or _ROWS[0]
    pieces = [or_empty(at(event, row.text)[0]) for event in events if holds(event, row.adds)]
    return {**events[-1], "text": _grown(pieces) if row.grows else _once(pieces)}


def _grown(pieces: list[str]) -> str:
    """The last of pieces each of which says again what those before it came to; else the text of all."""
    said = [piece for piece in pieces if piece]
    is_grown = len(said) > 1 and all(after.startswith(before) for before, after in pairwise(said))
    return said[-1] if is_grown else _once(pieces)


def _once(pieces: list[str]) -> str:
    """The text of pieces, the last of which may say again what those before it came to."""
    *before, last = pieces or [""]
    return last if len(before) > 1 and last == "".join(before) else joined(pieces)


def text_begins(event: dict[str, Any], before: list[dict[str, Any]], ended: set[Any]) -> bool:
    """Whether an answer has ended before an event; one that adds nothing goes on with what came before it."""
    row = _row_of([event])
    if row is None:
        return False
    return holds(before[-1], row.ends) or ("id" in event and event["id"] != before[-1].get("id", event["id"]))


_EVENT = re.compile(r"(?:(?:data|event|id|retry)?:[^\n]*(?:\n|\Z))+")
_FIELDS = re.compile(r"^(data|event): ?([^\r\n]*)", re.M)
_LEAST = 2


def plain_stream(written: str) -> str | None:
    """The text that the data of server-sent events add up to, where these are no JSON, as Replicate's; else None."""
    if not _EVENT.match(written.lstrip()) or _EVENT.sub("", written).strip():
        return None
    by_name: dict[str, list[str]] = defaultdict(list)
    for event in _EVENT.findall(written):
        fields = _FIELDS.findall(event)
        data = "\n".join(piece for field, piece in fields if field == "data")
        by_name[next((name for field, name in fields if field == "event"), "")].append(data)
    pieces = [piece for piece in max(by_name.values(), key=len, default=[]) if piece != "[DONE]"]
    whole = "".join(pieces)
    is_json = any(piece.lstrip()[:1] in ("{", "[") for piece in pieces)
    return None if is_json or len(pieces) < _LEAST or not _SAID.search(whole) else whole


_ADDING = re.compile(r"token|delta|chunk|text|content|answer|completion|response|output", re.I)
"""names under which an event of a stream that nobody knows has what it adds, or by which its kind is called"""
_SAID = re.compile(r"\s|[{\u0080-]")
"""what is in a text or an object, and in no id"""
_DEEP = 3


def guessed_stream(events: list[Any]) -> tuple[str, str] | None:
    """Of a stream that nobody knows: the name under which most of its events add a text, and what these come to."""
    objects = [event for event in events if isinstance(event, dict)]
    grown: dict[str, list[str]] = defaultdict(list)
    for event in objects:
        for path, piece in _texts(event, "", 0):
            grown[path].append(piece)
    likely = {path: pieces for path, pieces in grown.items() if len(set(pieces)) > 1 and 3 * len(pieces) > len(objects)}
    best = max(likely, key=lambda path: len(likely[path]), default=None)
    guess = None if best is None or "user" in (event.get("role") for event in objects) else (best, _once(likely[best]))
    return guess if guess is not None and _SAID.search(guess[1]) else None


def _texts(event: dict[str, Any], at_: str, depth: int) -> Iterator[tuple[str, str]]:
    """What an event may add to an answer, and where it stands."""
    is_piece = any(_ADDING.search(str(event.get(key))) for key in ("type", "event"))
    for key, inner in event.items():
        if isinstance(inner, str) and (_ADDING.fullmatch(key) or (key == "data" and is_piece)):
            yield f"{at_}{key}", inner
        elif isinstance(inner, dict) and depth < _DEEP:
            yield from _texts(inner, f"{at_}{key}.", depth + 1)


def is_mistral(event: dict[str, Any]) -> bool:
    """Whether this is an event of Mistral's conversations."""
    return event.get("type") in ("message.output.delta", "function.call.delta", "conversation.response.started")


def mistral(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The answer of a conversation, by what the same events of OpenAI's API would say."""
    same: list[dict[str, Any]] = []
    for event in events:
        place = {"output_index": event.get("output_index"), "content_index": event.get("content_index")}
        if event.get("type") == "message.output.delta":
            same.append({"type": "response.output_text.delta", "delta": _text_of(event.get("content")), **place})
        elif event.get("type") == "function.call.delta":
            call = {"type": "function_call", "call_id": event.get("tool_call_id"), "name": event.get("name")}
            written = or_empty(event.get("arguments"))
            same += [
                {"item": call, **place},
                {"type": "response.function_call_arguments.delta", "delta": written, **place},
            ]
    return {**responses(same), "usage": events[-1].get("usage"), "model": events[0].get("model")}


def _text_of(content: Any) -> str:
    """The text of a content: itself, or of its part or parts that are texts; a thought is none."""
    parts = content if isinstance(content, list) else [content]
    return "".join(part if isinstance(part, str) else text(as_object(part).get("text")) or "" for part in parts)


def is_dashscope(event: dict[str, Any]) -> bool:
    """Whether this is an event of Alibaba's own API, whose choices stand in its output."""
    return isinstance(at(event, "output.choices[0].message")[0], dict) and "request_id" in event


def dashscope(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Its answer, by what the same events of OpenAI's API would say."""
    same = [
        {**event, "choices": [_as_delta(as_object(choice)) for choice in event["output"]["choices"]]}
        for event in events
    ]
    return {key: inner for key, inner in chat(same).items() if key != "output"}


def _as_delta(choice: dict[str, Any]) -> dict[str, Any]:
    why = choice.get("finish_reason")
    return {"index": 0, **choice, "delta": choice.get("message"), "finish_reason": None if why == "null" else why}


def is_interaction(event: dict[str, Any]) -> bool:
    """Whether this is an event of Google's newer API."""
    return str(event.get("event_type")).startswith(("interaction.", "step.", "content."))


def interaction(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The interaction as it ended, with the steps that its events say."""
    steps: dict[Any, dict[str, Any]] = {}
    about: dict[str, Any] = {}
    for event in events:
        about |= as_object(event.get("interaction"))
        delta = as_object(event.get("delta"))
        if event.keys() & {"step", "content", "delta"}:
            begun = as_object(event.get("step") or event.get("content"))
            step = steps.setdefault(number(event), dict(begun) or {"type": delta.get("type")})
            if isinstance(delta.get("text"), str):
                is_outer = step.get("type") == "model_output"
                add(step.setdefault("content", [{"type": "text"}])[-1] if is_outer else step, "text", delta["text"])
            elif isinstance(delta.get("arguments"), str):
                step["arguments"] = step.get("arguments") or None
                add(step, "arguments", delta["arguments"])
            elif isinstance(delta.get("arguments"), dict):
                step |= delta
    return {**about, "object": "interaction", "steps": about.get("steps") or list(steps.values())}
