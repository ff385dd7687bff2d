"""Slack's exports: a day of a channel as a list; what bots and apps posted are answers, what people wrote prompts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, Sessions, Source
from webapp.dumps.documents import with_list
from webapp.dumps.messages.turns import each_filled, event_turns, text_turns
from webapp.dumps.sessions import by_time
from webapp.dumps.values import as_list, as_object, first_text, text

_BOT = ("bot_id", "bot_profile")
_DEEPEST = 10
_NO_SPEECH = ("channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name", "bot_add")


class Slack(Format):
    shapes = 'Slack\'s exports [{"type": "message", "text", "ts", "bot_id" or "user"}]'
    times = ("ts",)
    parent_key = "thread_ts"
    session_field = None  # a file is a day of a channel; a thread goes over several

    def sniff(self, head: DumpHead) -> int:
        """Only where a bot speaks: of what people say to each other nothing is a model's answer."""
        listed = head.items.get("messages", []) if head.shape == "object" else head.objects
        messages = [item for item in listed if isinstance(item, dict) and _is_message(item)]
        fits = head.shape in ("array", "lines", "object") and len(messages) * 2 > len(listed)
        return 85 if fits and (any(map(_is_bot, messages)) or head.mentions("bot_id")) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape != "object":
            return super().sessions(source, head)
        _, entries = with_list(source, head, "messages", needed="messages")  # an answer of Slack's API, the last first
        return by_time(entries, lambda message: source.stem, lambda message: message.get("ts"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        raw = text(entry.get("text")) or "".join(_block_texts(entry.get("blocks"))) or None
        if raw is None or entry.get("subtype") in _NO_SPEECH or entry.get("type") != "message":
            turns = event_turns(text(entry.get("subtype")), raw)
        else:
            role = "assistant" if _is_bot(entry) else "user"
            turns = text_turns(raw, ("text",) if text(entry.get("text")) else None, role, conversation)
        return each_filled(turns, agent=_agent(entry))


plugin = Slack()


def _block_texts(value: Any, depth: int = 0) -> Iterator[str]:
    """What blocks say, where the message beside them is empty."""
    for inner in as_list(value) if depth < _DEEPEST else []:
        holder = as_object(inner)
        message_text = holder.get("text")
        message_text = message_text.get("text") if isinstance(message_text, dict) else message_text
        if isinstance(message_text, str):
            yield message_text
        yield from _block_texts(holder.get("elements") or holder.get("fields"), depth + 1)


def _is_message(value: dict[str, Any]) -> bool:
    return value.get("type") == "message" and "ts" in value and bool(value.keys() & {"user", *_BOT})


def _is_bot(value: dict[str, Any]) -> bool:
    return value.get("subtype") == "bot_message" or any(value.get(key) for key in _BOT)


def _agent(entry: dict[str, Any]) -> str | None:
    name = first_text(as_object(entry.get("bot_profile")), "name") or first_text(entry, "username", "bot_id")
    return name or first_text(as_object(entry.get("user_profile")), "real_name", "name") or text(entry.get("user"))
