"""Messages of the Assistants API whose stream ends before they do: what their deltas say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webapp.dumps.decoding import Damage, Decoder
from webapp.dumps.documents import Entry
from webapp.dumps.records import Problem
from webapp.dumps.source import Cut, Source, too_long
from webapp.dumps.values import as_list, as_object, id_text

_DONE = ("", "[DONE]")


def sse_events(source: Source) -> Iterator[Entry | Problem]:
    """Each event as `{"event": name, "data": object}` with its line; damaged ones as problems."""
    name, decoder = "", Decoder()
    for number, (at, line) in enumerate(source.lines(), start=1):
        if isinstance(line, Cut):
            yield Problem(f"line {number}", too_long(at))
            continue
        field, _, value = source.decode(line, at).strip().partition(":")
        if field == "event":
            name = value.strip()
        if field != "data" or value.strip() in _DONE:
            continue
        try:
            data = decoder.loads(value.strip())
        except Damage as damage:
            yield Problem(f"line {number}", f"{damage.reason} (character {damage.at} of the event); skipped")
            continue
        if isinstance(data, dict):
            yield f"line {number}", {"event": name, "data": data}


_MESSAGE = "thread.message."
_WHOLE = (f"{_MESSAGE}completed", f"{_MESSAGE}incomplete")


def whole_messages(events: Iterable[Entry | Problem]) -> Iterator[Entry | Problem]:
    """The events; behind the last the messages that began and did not end, as far as they came, each a problem."""
    begun: dict[str, tuple[str, dict[str, Any]]] = {}
    for event in events:
        yield event
        if isinstance(event, Problem):
            continue
        at, value = event
        name, data = str(value.get("event")), as_object(value.get("data"))
        ident = id_text(data.get("id")) or ""
        if name in _WHOLE:
            begun.pop(ident, None)
        elif name.startswith(_MESSAGE):
            place, message = begun.setdefault(ident, (at, {"role": "assistant", "content": {}}))
            begun[ident] = (place, _grown(message, data))
    for place, message in begun.values():
        message["content"] = list(message["content"].values())
        yield place, {"event": _WHOLE[1], "data": {**message, "object": "thread.message"}}
        yield Problem(place, "the stream ends within this message; what came of it was read")


def _grown(message: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:
    delta = data.get("delta")
    if not isinstance(delta, dict):
        return {**data, "content": message["content"]}
    for number, part in enumerate(as_list(delta.get("content"))):
        inner = as_object(part)
        thread_text = as_object(inner.get("text")).get("value")
        block = message["content"].setdefault(inner.get("index", number), {"type": "text", "text": {"value": ""}})
        block["text"]["value"] += thread_text if isinstance(thread_text, str) else ""
    return message
