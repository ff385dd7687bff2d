"""Streams of ChatGPT's own site: messages that come whole again and again, or grow by deltas {"p", "o", "v"}."""

from __future__ import annotations

from typing import Any

from webapp.dumps.values import as_list, as_object, first_text, id_text

_PARTS, _TEXT = "/message/content/parts/", "/message/content/text"


def is_chatgpt(event: dict[str, Any]) -> bool:
    return "author" in as_object(as_object(event.get("v")).get("message") or event.get("message"))


def chatgpt(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What the assistant said in all messages of the stream, in the order in which they began."""
    messages: dict[str, dict[str, Any]] = {}
    message: dict[str, Any] = {}
    place = ""
    for event in events:
        whole = as_object(event.get("v")).get("message") or event.get("message")
        if isinstance(whole, dict):
            content = as_object(whole.get("content"))
            message = {**whole, "content": {**content, "parts": list(as_list(content.get("parts")))}}
            messages[id_text(whole.get("id")) or ""] = message
            place = ""
            continue
        for delta in as_list(event["v"]) if event.get("o") == "patch" else [event]:
            place = first_text(delta, "p") or place
            _grow(as_object(message.get("content")), place, as_object(delta))
    model = next((slug for one in messages.values() if (slug := first_text(one.get("metadata"), "model_slug"))), None)
    return {"model": model, "choices": [{"message": said} for one in messages.values() if (said := _said(one))]}


def _grow(content: dict[str, Any], place: str, delta: dict[str, Any]) -> None:
    """Add a delta's text, which belongs where the last one did if it does not say where."""
    written = delta.get("v")
    if not isinstance(written, str):
        return
    replaces = delta.get("o") == "replace"
    if place == _TEXT:
        content["text"] = written if replaces else f"{content.get('text') or ''}{written}"
    number = place.removeprefix(_PARTS)
    if place.startswith(_PARTS) and number.isdigit() and int(number) <= len(content.get("parts", [])):
        parts = content["parts"]
        parts.extend([""] * (int(number) + 1 - len(parts)))
        before = parts[int(number)]
        parts[int(number)] = written if replaces or not isinstance(before, str) else before + written


def _said(message: dict[str, Any]) -> dict[str, Any] | None:
    """A message of the assistant as OpenAI's API has it; what goes to a tool is its call."""
    content = as_object(message.get("content"))
    if as_object(message.get("author")).get("role") != "assistant":
        return None
    written = "".join(part for part in as_list(content.get("parts")) if isinstance(part, str)) or content.get("text")
    recipient = first_text(message, "recipient") or "all"
    if not isinstance(written, str) or not written:
        return None
    if recipient == "all":
        return {"role": "assistant", "content": written}
    return {"role": "assistant", "tool_calls": [{"function": {"name": recipient, "arguments": written}}]}
