"""Messages of the Assistants API whose stream ends before they do: what their deltas say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webapp.dumps.entries import Entry
from webapp.dumps.records import Problem
from webapp.dumps.values import as_list, as_object, id_text

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
