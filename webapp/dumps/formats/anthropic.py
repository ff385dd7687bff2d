"""Anthropic messages: a list, {"messages", "system"}, requests with responses; content a text or blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, text
from webapp.dumps.formats import openai
from webapp.dumps.formats._bodies import Exchanges, exchange
from webapp.dumps.formats._chat import content
from webapp.dumps.formats._turns import Found, Talk, message_turns, numbered, spent, turns_of
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, Turn, changed
from webapp.dumps.source import Source
from webapp.dumps.times import moment

_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document")
_TIMES = ("timestamp", "created_at")


class Anthropic:
    name = "anthropic"
    shapes = 'Anthropic messages (a list, {"messages", "system"}, {"request", "response"}; JSON or one a line)'

    def sniff(self, head: Head) -> int:
        """Above OpenAI's score, and only where something stands that OpenAI does not have."""
        if not openai.plugin.sniff(head):
            return 0
        if head.shape == "object":
            return 70 if _is_ours({**head.members, **head.items}) else 0
        return 70 if any(_is_ours(sample) for sample in head.samples if isinstance(sample, dict)) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        return openai.read_as(self, source, head)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(_turns(entries, context))


plugin = Anthropic()


def _is_ours(value: dict[str, Any]) -> bool:
    """Blocks that only Anthropic has, or a message or request as only its API writes them."""
    for key in ("request", "response", "result", "message"):
        if isinstance(value.get(key), dict) and _is_ours(value[key]):
            return True
    if value.get("type") == "message" and "role" in value and ("stop_reason" in value or "model" in value):
        return "output" not in value
    messages = value.get("messages")
    if isinstance(messages, list):
        with_system = isinstance(value.get("system"), str | list) or "anthropic_version" in value
        return with_system or any(_is_ours(message) for message in messages if isinstance(message, dict))
    blocks = value.get("content")
    return isinstance(blocks, list) and any(isinstance(inner, dict) and _has_block(inner) for inner in blocks)


def _has_block(block: dict[str, Any]) -> bool:
    source = block.get("source")
    return block.get("type") in _BLOCKS or (block.get("type") == "image" and isinstance(source, dict))


def _turns(entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
    state, count = Exchanges(Talk(model=text(context.get("model")))), 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        value = entry[1]
        found = _message(value, state.talk) if "role" in value else _timed(_exchange(value, state), value)
        yield from numbered(count, value, found or [(Turn(0, "event"), None)])
        count += 1


def _message(value: dict[str, Any], talk: Talk) -> list[Found]:
    once = spent(value.get("usage"), value.get("cost"))
    return message_turns(value, talk, once=once, model=text(value.get("model")), sent_at=_when(value))


def _timed(found: list[Found], value: dict[str, Any]) -> list[Found]:
    """The turns of an exchange, at its time where they have none of their own."""
    when = _when(value)
    return [(turn if turn.sent_at or not when else changed(turn, sent_at=when), path) for turn, path in found]


def _when(value: dict[str, Any]) -> datetime | None:
    return next((found for key in _TIMES if (found := moment(value.get(key)))), None)


def _exchange(value: dict[str, Any], state: Exchanges) -> list[Found]:
    if isinstance(value.get("result"), dict):  # of a batch
        return exchange(None, value["result"].get("message"), (), ("result", "message"), state)
    if "request" in value or "response" in value:
        return exchange(value.get("request"), value.get("response"), ("request",), ("response",), state)
    if "messages" in value:
        return exchange(value, None, (), (), state)
    return turns_of(content(value.get("content"), ("content",)), "user", state.talk) if "content" in value else []
