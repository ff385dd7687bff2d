"""ShareGPT data sets: {"conversations": [{"from", "value"}]}, one conversation an item or a line; each is a session."""

from __future__ import annotations

from itertools import chain
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.documents import nested
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import each_with, message_turns, text_turns, turns_of
from webapp.dumps.records import Problem
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.values import as_list, as_object, first_id, text

_ROLES = {
    **dict.fromkeys(("human", "user", "prompter"), "user"),
    **dict.fromkeys(("gpt", "assistant", "chatgpt", "bing", "bard", "model", "bot"), "assistant"),
    **dict.fromkeys(("observation", "tool", "function_response", "ipython"), "tool"),
}
_LISTS = ("conversations", "conversation", "items", "messages")
_SPEAKERS, _TEXTS = ("from", "from", "role"), ("value", "text", "content")
"""data sets of messages as OpenAI's have them stand under "conversations", too"""
_ROUND = ({"human": "user", "user": "user"}, {"assistant": "assistant", "bot": "assistant", "gpt": "assistant"})
"""keys of a prompt, and of its answer, where one object holds both"""
_PREFERENCES = {"chosen": 1, "rejected": 2}


class ShareGpt(Format):
    shapes = 'ShareGPT data sets [{"conversations": [{"from", "value"}]}]'

    def sniff(self, head: DumpHead) -> int:
        fitting = sum(map(_is_conversation, head.objects))
        empty = sum(any(value.get(key) == [] for key in _LISTS) for value in head.objects)  # stand in large data sets
        return 95 if fitting and fitting + empty == len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield from each_session(entries_of(source, head), source.stem, _session)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if entry.keys() & _ROUND[1].keys() and not entry.keys() & {*_SPEAKERS}:
            return _round(entry, conversation)
        key = next((key for key in _TEXTS if key in entry), _TEXTS[0])
        value, speaker = entry.get(key), str(next((entry[name] for name in _SPEAKERS if name in entry), None)).lower()
        branch = _PREFERENCES.get(str(entry.get("preference")))
        if key == "content" and (entry.get("tool_calls") or not isinstance(value, str)):
            return each_with(message_turns(entry, conversation), sounding=branch)
        raw, at = (value, (key,)) if isinstance(value, str) else (None, None)
        piece = Piece("text", raw, at)
        if speaker == "function_call":  # its value is the whole call, as the model wrote it
            piece = Piece("call", raw, at, None, None, {"arguments": raw})
        elif _ROLES.get(speaker) == "tool":
            piece = Piece("result", raw, at)
        role = "assistant" if speaker == "function_call" else _ROLES.get(speaker, speaker)
        return each_with(turns_of([piece], role, conversation), sounding=branch)


plugin = ShareGpt()


def _round(entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """A prompt and its answer in one object, as Chinese data sets have them."""
    texts = [(entry[key], key, role) for keys in _ROUND for key, role in keys.items() if text(entry.get(key))]
    return [placed for raw, key, role in texts for placed in text_turns(raw, (key,), role, conversation)]


def _is_conversation(value: dict[str, Any]) -> bool:
    key = next((key for key in _LISTS if isinstance(value.get(key), list)), None)
    messages: list[Any] = [] if key is None else value[key]
    if key == "messages" and not all(isinstance(item, dict) and "from" in item for item in messages):
        return False
    return bool(messages) and sum(map(_is_message, messages)) * 2 > len(messages)


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    if all(isinstance(next((item[key] for key in keys if key in item), None), str) for keys in _ROUND):
        return True
    return any(speaker in item and key in item for speaker, key in zip(_SPEAKERS, _TEXTS, strict=True))


def _session(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries | Problem:
    key = next((key for key in _LISTS if isinstance(value.get(key), list)), None)
    if key is None:
        return Problem(at, "no list of conversations; skipped")
    messages: list[Any] = list(value.pop(key))
    if system := text(value.get("system")):
        messages.insert(0, {"from": "system", "value": system})
    for name in _PREFERENCES:  # answers of which one was preferred, as branches
        answer = value.get(name)
        answer = {"from": "gpt", "value": answer} if isinstance(answer, str) else answer
        answers = [answer] if isinstance(answer, dict) else as_list(answer)
        messages.extend({**as_object(one), "preference": name} for one in answers)
    ident = first_id(value, "id", "conversation_id") or fallback
    missing = [name for name in _PREFERENCES if name not in value] if value.keys() & set(_PREFERENCES) else []
    words = "of the preferred and the rejected answer one is missing"
    one_side = [Problem(at, f"{words} ({name!r})") for name in missing[:1]]
    return SessionEntries(ident, chain(one_side, nested(at, key, messages)), extra=value)
