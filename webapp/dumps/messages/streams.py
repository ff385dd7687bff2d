"""Puts a streamed answer together: the events of a response body become the body as it would have come in one piece."""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from webapp.dumps.decoding import Damage, Decoder, json_or_none
from webapp.dumps.messages import block_streams, chat_streams, text_streams
from webapp.dumps.messages.chat_streams import is_end
from webapp.dumps.values import as_object, id_text

_OBJECT = re.compile(r'\{\s*"')
_ANTHROPIC = ("message_start", "content_block_start", "content_block_delta")
_BARE_EVENTS = ("ping", "message_stop")
_NAMED_EVENTS = (*_ANTHROPIC, "content_block_stop", "message_delta", *_BARE_EVENTS)
_HELD = ("text", "input_json", "thinking", "signature", "citation")
"""what the helpers of Anthropic's SDK add among its events: how far a block has come"""
_MOST_BESIDE = 12
_BEHIND = 64 * 1024
"""characters: the line of an error is counted from the beginning of the text that is decoded"""
MOST_STREAM = 16 * 1024 * 1024
"""characters of one stream"""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a stream: the body that its events say, and those events with their places, counted from 0."""

    body: Any
    places: list[int]
    events: list[dict[str, Any]]


def assembled(body: str) -> Any:
    """The body that a stream's events say, in its provider's own shape; None where they say none.

    Server-sent events, lines of JSON, Amazon's event stream read as text, or the whole body as JSON text.
    """
    if len(body) > MOST_STREAM:
        return None
    whole = json_or_none(body)
    if isinstance(whole, dict):
        event = whole if is_event(whole) else wrapped_event(whole)
        return whole if event is None else put_together([event])
    if isinstance(whole, list) and any("generated_text" in as_object(item) for item in whole):  # Hugging Face's
        return whole
    return put_together(whole if isinstance(whole, list) else [event for _, event in chunks(body)])


def chunks(body: str) -> list[tuple[str, Any]]:
    """The chunks of a stream's text: each as it came, with what stands around it, and the JSON that it holds."""
    if is_data_stream(body):
        return data_stream(body)
    events, decoder, at, begin, base, rest = list[tuple[str, Any]](), Decoder(), 0, 0, 0, body
    while match := _OBJECT.search(body, at):
        if (start := match.start()) - base > _BEHIND:
            base, rest = start, body[start:]
        try:
            value, end = decoder.value(rest, start - base)
            at = base + end
        except Damage as damage:
            is_deep = damage.reason.startswith("nested deeper")  # so is what begins within it
            last = body.find("\n", start) if is_deep else body.rfind("{", start + 1, base + damage.at)
            at = len(body) if is_deep and last < 0 else max(start + 1, last)
        else:
            events.append((body[begin:at], value))
            begin = at
    return [*events[:-1], *((text + body[begin:], value) for text, value in events[-1:])]


_LINE = re.compile(r"^([0-9a-k]):([\"{\[].*)$", re.M)
"""a line of the older data stream: what it holds is said by a letter"""
_KINDS = {"0": "text-delta", "g": "reasoning-delta"}


def is_data_stream(body: str) -> bool:
    """Whether this is the SDK's older stream: `0:"text"`, `9:{call}`, `d:{finish}`, one a line."""
    lines = [line for line in body.strip().splitlines()[:20] if line.strip()]
    return len(lines) > 1 and all(_LINE.match(line) for line in lines)


def data_stream(body: str) -> list[tuple[str, dict[str, Any]]]:
    """Its lines, each with what it says as an event of the newer one."""
    events: list[tuple[str, dict[str, Any]]] = []
    for line in _LINE.finditer(body):
        letter, value = line[1], json_or_none(line[2])
        if letter in _KINDS and isinstance(value, str):
            events.append((line[0], {"type": _KINDS[letter], "delta": value}))
        elif letter == "3":
            events.append((line[0], {"type": "error", "error": value}))
        elif letter == "9" and isinstance(value, dict):
            events.append((line[0], {"type": "tool-input-available", **value, "input": value.get("args")}))
        elif letter == "f":  # a step begins, and with it another text
            events.append((line[0], {"type": "text-start"}))
        elif letter in ("d", "e") and isinstance(value, dict):
            events.append((line[0], {"type": "finish", "usage": value.get("usage")}))
    return events


def put_together(events: list[Any]) -> Any:
    """The body that a stream's events say, as `assembled`; a list of them where it holds several answers."""
    joined = answers(events)
    bodies = [body for answer in joined for body in (answer.body if isinstance(answer.body, list) else [answer.body])]
    return (bodies[0] if len(bodies) == 1 else bodies) if joined else None


def in_pieces(value: list[Any]) -> Any:
    """The body that the chunks of a stream come to, each of which stands as a text; None of other lists."""
    chunks = [json_or_none(piece) for piece in value if isinstance(piece, str) and piece[:1] == "{"]
    return put_together(chunks) if len(chunks) == len(value) > 1 else None


def answers(events: list[Any]) -> list[Answer]:
    """Each answer that a stream's events say; none where no provider's stream is known that looks like this."""
    places = [place for place, event in enumerate(events) if isinstance(event, dict)]
    parts = [_bare(events[place]) for place in places]
    dialect = next((dialect_ for dialect_ in _DIALECTS if any(map(dialect_.fits, parts))), None)
    if dialect is None:
        inner = [wrapped_event(part) for part in parts]
        joined = answers(inner) if any(inner) else []
        return [replace(answer, places=[places[place] for place in answer.places]) for answer in joined]
    groups = [([parts[at] for at in of_one], [places[at] for at in of_one]) for of_one in _each_answer(parts, dialect)]
    return [Answer(chat_streams.settled(dialect.make(of_one)), at, of_one) for of_one, at in groups]


def is_event(value: Any) -> bool:
    """Whether this is an event of a provider's stream, and can be nothing else."""
    if not isinstance(value, dict):
        return False
    event, kind = _bare(value), str(value.get("type"))
    if value.get("object") in ("chat.completion.chunk", "text_completion.chunk") or chat_streams.is_older_cohere(value):
        return True
    if event is not value or any(fits(value) for fits in _SURE):
        return True
    if kind.startswith("response."):
        return "sequence_number" in value or bool(value.keys() & {"response", "item", "delta", "part", "text"})
    if (kind in _HELD and "snapshot" in value) or chat_streams.is_cohere(value):
        return True
    return kind in _NAMED_EVENTS and bool(value.keys() & {"message", "index", "delta"} or kind in _BARE_EVENTS)


_SURE = (block_streams.is_bedrock, block_streams.is_agui, text_streams.is_interaction)


def wrapped_event(value: Any) -> Any:
    """The event that an entry of a log holds beside when it came; None where it holds none."""
    members = value.values() if isinstance(value, dict) and len(value) <= _MOST_BESIDE else ()
    return next((inner for inner in members if is_event(inner)), None)


def _bare(event: dict[str, Any]) -> dict[str, Any]:
    """An event of Amazon's that stands under its name, or as the bytes of a chunk, without that."""
    name = next(iter(event)) if len(event) == 1 else None
    if name == "chunk" and isinstance(written := as_object(event[name]).get("bytes"), str):
        with suppress(ValueError):
            inner = json_or_none(base64.b64decode(written).decode("utf-8", "replace"))
            return inner if isinstance(inner, dict) else event
    return {"event": name, **event[name]} if name in block_streams.BEDROCK and isinstance(event[name], dict) else event


def _each_answer(events: list[dict[str, Any]], dialect: _Dialect) -> list[list[int]]:
    """The places of each answer's events in order: by the ids that they have, else from one that begins an answer."""
    idents = [dialect.ident(event) if dialect.ident else None for event in events]
    by_ident = _tell_apart(idents, [bool(dialect.ident and is_end(event)) for event in events])
    groups: dict[Any, list[int]] = {}
    current: Any = None
    before, ended = list[dict[str, Any]](), set[Any]()
    for place, (event, ident) in enumerate(zip(events, idents, strict=True)):
        if by_ident:
            current = ident or current
        elif before and dialect.begins(event, before, ended):
            current, before, ended = (current or 0) + 1, [], set()
        before.append(event)
        ended |= chat_streams.ended(event)
        groups.setdefault(current, []).append(place)
    if by_ident and None in groups:  # what comes before the first id belongs to it
        early = groups.pop(None)
        first = next(iter(groups))
        groups[first] = [*early, *groups[first]]
    return list(groups.values())


def _tell_apart(idents: list[Any], ends: list[bool]) -> bool:
    """Whether ids tell several answers apart: some servers give each chunk one of its own."""
    counts = Counter(ident for ident in idents if ident)
    return len(counts) > 1 and (max(counts.values()) > 1 or sum(ends) > 1)


_MARKS = re.compile(r'\s*(?:data:|event:|\{)[\s\S]*?"(?:choices|candidates|delta|content)"')
_WRAPPED = re.compile(r'\s*(?:data:|event:|\{)[\s\S]*?"(?:choices|candidates|delta|content|output|completion|done)"')
_LOOKED_AT = 4096
_DEEPEST = 3


def parsed_body(value: Any) -> Any:
    """What a body says: its JSON, or a stream put together; None for other texts."""
    value = _unwrapped(value)
    if isinstance(value, list):
        return put_together(value) or value
    return assembled(value) if isinstance(value, str) else value


def _unwrapped(value: Any) -> Any:
    """The text of a provider's answer that stands in a list or an object of its own, or in pieces; else the value."""
    inner = value
    for _ in range(_DEEPEST):
        if isinstance(inner, list) and inner and all(isinstance(piece, str) for piece in inner):
            inner = "".join(inner)
        elif isinstance(inner, list | dict) and len(inner) == 1:
            inner = inner[0] if isinstance(inner, list) else next(iter(inner.values()))
    return inner if isinstance(inner, str) and _WRAPPED.match(inner[:_LOOKED_AT]) else value


def is_body(value: Any) -> bool:
    """Whether this is a provider's whole answer: its JSON, that as a text, or a stream as a text."""
    if isinstance(value, list):
        return bool(value) and all(map(is_event, value))
    if isinstance(value, str):
        value = assembled(value) if _MARKS.match(value[:_LOOKED_AT]) else None
    if not isinstance(value, dict):
        return False
    listed = any(isinstance(value.get(key), list) for key in ("choices", "candidates"))
    return listed or (value.get("role") == "assistant" and isinstance(value.get("content"), list | str))


_Begins = Callable[[dict[str, Any], list[dict[str, Any]], set[Any]], bool]


def _starts(*names: str, key: str = "type") -> _Begins:
    return lambda event, before, _: event.get(key) in names and before[-1].get(key) not in names


@dataclass(frozen=True, slots=True)
class _Dialect:
    """Which events a provider's stream has, what puts an answer together, and where another one begins."""

    fits: Callable[[dict[str, Any]], bool]
    make: Callable[[list[dict[str, Any]]], Any]
    begins: _Begins = lambda *_: False
    """of an event, those of the answer before it, and its choices that have ended"""
    ident: Callable[[dict[str, Any]], Any] | None = None
    """the answer that an event says it belongs to"""


def _adk(events: list[dict[str, Any]]) -> list[Any]:
    """The messages of Google ADK's events, without those of which a whole one follows."""
    return [event["content"] for event in events if event.get("content") and not event.get("partial")]


_DIALECTS = (
    _Dialect(lambda event: "author" in event and bool(event.keys() & {"invocationId", "invocation_id"}), _adk),
    _Dialect(block_streams.is_chatgpt, block_streams.chatgpt),
    _Dialect(chat_streams.is_older_cohere, chat_streams.older_cohere, _starts("stream-start", key="event_type")),
    _Dialect(lambda event: event.get("type") in _ANTHROPIC, block_streams.anthropic, _starts("message_start")),
    _Dialect(block_streams.is_bedrock, block_streams.bedrock, _starts("messageStart", key="event")),
    _Dialect(
        lambda event: isinstance(event.get("candidates"), list),
        block_streams.google,
        block_streams.google_begins,
        lambda event: id_text(event.get("responseId", event.get("response_id"))),
    ),
    _Dialect(
        lambda event: isinstance(event.get("choices"), list),
        chat_streams.chat,
        chat_streams.begins,
        lambda event: id_text(event.get("id")),
    ),
    _Dialect(block_streams.is_ollama, block_streams.ollama, lambda _, before, __: before[-1].get("done") is True),
    _Dialect(block_streams.is_ui_stream, block_streams.ui_stream, _starts("start")),
    _Dialect(
        chat_streams.is_responses,
        chat_streams.responses,
        _starts("response.created"),
        lambda event: id_text(as_object(event.get("response")).get("id", event.get("response_id"))),
    ),
    _Dialect(chat_streams.is_cohere, chat_streams.cohere, _starts("message-start")),
    _Dialect(block_streams.is_agui, block_streams.agui, _starts("RUN_STARTED")),
    _Dialect(text_streams.is_mistral, text_streams.mistral, _starts("conversation.response.started")),
    _Dialect(text_streams.is_dashscope, text_streams.dashscope, ident=lambda event: id_text(event.get("request_id"))),
    _Dialect(text_streams.is_interaction, text_streams.interaction, _starts("interaction.created", key="event_type")),
    _Dialect(text_streams.is_text_stream, text_streams.text_stream, text_streams.text_begins),
)
