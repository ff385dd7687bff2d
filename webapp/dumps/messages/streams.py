"""Puts a streamed answer together: the events of a response body become the body as it would have come in one piece."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from webapp.dumps.decoding import Damage, Decoder, json_or_none
from webapp.dumps.json_path import at, holds
from webapp.dumps.messages.assembly import Growing, Pieces, named, rows, settled
from webapp.dumps.messages.stream_kinds import STREAMS, Stream, bare, each_answer, is_event, stream_of, wrapped_event
from webapp.dumps.values import as_list, as_object, first_text, id_text

_OBJECT = re.compile(r'\{\s*"')
_BEHIND = 64 * 1024
"""characters: the line of an error is counted from the beginning of the text that is decoded"""
MOST_STREAM = 16 * 1024 * 1024
"""characters of one stream"""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a stream: the body that its events say, and those events with their places, counted from 0.

    `pieces` are the texts that grew, as far as the body does not only repeat what its last event says.
    """

    body: Any
    places: list[int]
    events: list[dict[str, Any]]
    pieces: list[Pieces]


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
    if isinstance(whole, list):
        return put_together(whole) or whole
    return put_together([event for _, event in chunks(body)])


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
            events.append((line[0], {"type": "tool-input-available", **value}))
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


_ROWS = {stream.name: (rows(stream.rows), rows(stream.of_each)) for stream in STREAMS}


def answers(events: list[Any]) -> list[Answer]:
    """Each answer that a stream's events say; none where no provider's stream is known that looks like this."""
    places = [place for place, event in enumerate(events) if isinstance(event, dict)]
    parts = [bare(events[place]) for place in places]
    stream = stream_of(parts)
    if stream is None:
        inner = [wrapped_event(part) for part in parts]
        joined = answers(inner) if any(inner) else []
        return [replace(answer, places=[places[place] for place in answer.places]) for answer in joined]
    joined = []
    for of_one in each_answer(parts, stream):
        body, pieces = _made(stream, [parts[place] for place in of_one])
        joined.append(Answer(body, [places[place] for place in of_one], [parts[place] for place in of_one], pieces))
    return joined


def _made(stream: Stream, events: list[dict[str, Any]]) -> tuple[Any, list[Pieces]]:
    """The body that the events of one answer say, and the texts that grew in it."""
    if stream.name == "adk":  # its messages, without those of which a whole one follows
        return [event["content"] for event in events if event.get("content") and not event.get("partial")], []
    if stream.name == "chatgpt":
        return _chatgpt(events)
    of_event, of_choice = _ROWS[stream.name]
    growing = Growing(("each" if stream.grows else "last") if stream.text else "")
    for number, event in enumerate(events):
        growing.number = number
        if stream.anew and holds(event, stream.anew):
            growing.begun[named(event, stream.named)] += 1
        growing.take(event, of_event)
        for choice in as_list(at(event, stream.each)[0]):
            growing.take(as_object(choice), of_choice)
    said, about = settled(growing.grown), growing.about
    said = {key: inner for key, inner in said.items() if not (stream.whole and about.get(key))}
    about |= {"object": about["object"].removesuffix(".chunk")} if isinstance(about.get("object"), str) else {}
    return {**stream.body, **about, **said}, growing.pieces


_TEXTS = ("/message/content/parts/", "/message/content/text")


def _chatgpt(events: list[dict[str, Any]]) -> tuple[dict[str, Any], list[Pieces]]:
    """What the assistant said on ChatGPT's site, in messages in the order in which they began, and patches of these."""
    said: dict[str, Any] = {"whole": {"author": {"role": "assistant"}}}  # of which only the rest may come
    messages = {"": said}
    growing, place = Growing(), ""
    for growing.number, event in enumerate(events):
        whole = as_object(event.get("v")).get("message") or event.get("message")
        if isinstance(whole, dict):
            place, content = "", as_object(whole.get("content"))
            said = messages[id_text(whole.get("id")) or ""] = {"whole": whole}
            for written in (*as_list(content.get("parts")), content.get("text")):
                growing.add(said, "text", written if isinstance(written, str) else "")
            continue
        for delta in map(as_object, as_list(event.get("v")) if event.get("o") == "patch" else [event]):
            place = first_text(delta, "p") or place  # where the last one did if it does not say where
            if isinstance(delta.get("v"), str) and place.startswith(_TEXTS):
                if delta.get("o") == "replace":
                    said.pop("text", None)
                growing.add(said, "text", delta["v"])
    wholes = [(message["whole"], str(message.get("text", ""))) for message in messages.values()]
    model = next((slug for whole, _ in wholes if (slug := first_text(whole.get("metadata"), "model_slug"))), None)
    choices = [{"message": _message(whole, written)} for whole, written in wholes if written and _is_answer(whole)]
    return {"model": model, "choices": choices}, growing.pieces


def _is_answer(whole: dict[str, Any]) -> bool:
    return as_object(whole.get("author")).get("role") == "assistant"


def _message(whole: dict[str, Any], written: str) -> dict[str, Any]:
    """A message of the assistant as OpenAI's API has it; what goes to a tool is its call."""
    recipient = first_text(whole, "recipient") or "all"
    if recipient == "all":
        return {"role": "assistant", "content": written}
    return {"role": "assistant", "tool_calls": [{"function": {"name": recipient, "arguments": written}}]}


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
        value = assembled(value) if _WRAPPED.match(value[:_LOOKED_AT]) else None
    if not isinstance(value, dict):
        return False
    listed = any(isinstance(value.get(key), list) for key in ("choices", "candidates"))
    said = as_object(value.get("output")).get("message")  # Bedrock's; Ollama's and Cohere's have no type
    said = said if said or "type" in value else value.get("message")
    message = value if isinstance(value.get("role"), str) else as_object(said)
    is_said = message.get("role") == "assistant" and isinstance(message.get("content"), list | str)
    return listed or is_said or (value.get("object") == "response" and isinstance(value.get("output"), list))
