"""Slack's exports: a day of a channel as a list; what bots and apps posted are answers, what people wrote prompts."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import each_filled, turns_of
from webapp.dumps.records import Turn
from webapp.dumps.times import moment
from webapp.dumps.values import as_object, first_text, id_text, text

_BOT = ("bot_id", "bot_profile")
_NO_SPEECH = ("channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name", "bot_add")


class Slack(Format):
    name = "slack"
    shapes = 'Slack\'s exports [{"type": "message", "text", "ts", "bot_id" or "user"}]'

    def sniff(self, head: DumpHead) -> int:
        """Only where a bot speaks: of what people say to each other nothing is a model's answer."""
        messages = [item for item in head.objects if _is_message(item)]
        fits = head.shape in ("array", "lines") and len(messages) * 2 > len(head.objects)
        return 85 if fits and (any(map(_is_bot, messages)) or head.mentions("bot_id")) else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return None  # a file is a day of a channel; a thread goes over several

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        raw, agent = text(entry.get("text")), _agent(entry)
        if raw is None or entry.get("subtype") in _NO_SPEECH or entry.get("type") != "message":
            turns: list[PlacedTurn] = [(Turn(0, "event", raw=raw, role=text(entry.get("subtype"))), None)]
        else:
            role = "assistant" if _is_bot(entry) else "user"
            turns = turns_of([Piece("text", raw, ("text",))], role, conversation)
        about = {"sent_at": moment(entry.get("ts")), "parent": id_text(entry.get("thread_ts"))}
        return each_filled(turns, agent=agent, **about)


plugin = Slack()


def _is_message(value: dict[str, Any]) -> bool:
    return value.get("type") == "message" and "ts" in value and bool(value.keys() & {"user", *_BOT})


def _is_bot(value: dict[str, Any]) -> bool:
    return value.get("subtype") == "bot_message" or any(value.get(key) for key in _BOT)


def _agent(entry: dict[str, Any]) -> str | None:
    name = first_text(as_object(entry.get("bot_profile")), "name") or first_text(entry, "username", "bot_id")
    return name or first_text(as_object(entry.get("user_profile")), "real_name", "name") or text(entry.get("user"))
