"""Chats as their apps export them, wherever the messages lie: lists of {"sender", "text"}, {"is_user", "mes"} …"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, cycle, islice
from typing import Any, NamedTuple

from webapp.dumps.base import Conversation, DumpHead, Format, SessionEntries, Sessions, Source
from webapp.dumps.decoding import opened
from webapp.dumps.documents import entries_of
from webapp.dumps.formats.transcript import told
from webapp.dumps.messages.calls import event_calls
from webapp.dumps.messages.named_texts import SAID, is_chat, speaker, spoken
from webapp.dumps.messages.pieces import block
from webapp.dumps.messages.turns import each_filled, each_with, message_turns, text_turns, turns_of
from webapp.dumps.records import Entries, Entry, Problem, Turn, changed
from webapp.dumps.source import entry_or_problem
from webapp.dumps.unread import UnreadTexts
from webapp.dumps.values import (
    UNNAMED,
    WORDS,
    as_list,
    as_object,
    first_id,
    first_moment,
    first_text,
    in_turn,
    names_in,
)

_IDS, _PARENTS, _MODELS, _TIMES = (tuple(WORDS[f"chat_{key}"].split()) for key in ("ids", "parents", "models", "times"))
_CHAT_RESULT = {"chat_history", "summary", "human_input"}  # of AutoGen's
_REPLIES = ("children", "replies")
_NAME = re.compile(r"(?:conversation|session|thread|chat|user)(?:[_.-]?(?:id|key|name|uuid))?", re.I)
_ID = re.compile(r"_?id|uuid", re.I)
"""keys by which it is told whether two records with the same words are states of one chat"""
_IN_TURN = {"data", "history", "chat_history", "chatbot", "chat", "dialog", "dialogue", "conversation", "conversations"}
"""keys of lists of texts that two say in turn, as UltraChat and Gradio have them"""
_LED = 400
"""characters of a text that show whether somebody's name stands before it"""
_NAMED = "whoever is not called a user here is taken for a model"
_DEEPEST, _MOST_PASSED, _SHOWN = 6, 50, 50
"""levels; entries without a chat between two states of one; items of a list that show whether messages are in it"""
_SURE, _GUESSED = 14, 4
"""less than of any format that knows whose messages these are; of those within texts also less than by names"""


class _Chat(NamedTuple):
    """A list of messages, where it stands, and what stands around it, the nearest last."""

    at: str
    around: tuple[dict[str, Any], ...]
    messages: list[Any]
    told: Any = None
    """the text, or the list of texts, that it was read from"""
    unnamed: str = ""
    """what is said where nothing says who speaks"""


class Chats(Format):
    shapes = 'chats of other apps, wherever they lie: lists of {"sender", "text"}, {"is_user", "mes"} and the like'
    surest = _SURE
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        if head.shape not in ("object", "array", "lines", "parquet"):
            return 0
        has_chat = is_chat(head.objects) or any(next(_chats("", (), value, 0, _SHOWN), None) for value in head.objects)
        told_in = [chat for value in head.objects if not has_chat for chat in islice(_told("", value), 1)]
        speaks = "?" in head.text or not all(chat.unnamed for chat in told_in)
        return _SURE if has_chat else _GUESSED if told_in and speaks and 2 * len(told_in) >= len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape != "object" and is_chat(head.objects):
            yield from super().sessions(source, head)
            return
        count = 0
        for entry in _grown(entries_of(source, head)):
            if isinstance(entry, Problem):
                yield entry
                continue
            chats = list(_chats(entry[0], (), entry[1], 0)) or list(_told(*entry))
            yield from _left_over(*entry, chats)
            if not chats and head.shape != "object":
                yield Problem(entry[0], "no messages of two sides are known in it; it was left out")
            texts_before: dict[int, list[set[str]]] = {}
            for chat in chats:
                if _repeats(chat, texts_before, chats):
                    yield Problem(chat.at, "these messages repeat those before them; left out")
                    continue
                if chat.around and chat.around[-1].keys() >= _CHAT_RESULT:
                    words = "the roles are as AutoGen's agent that began the chat sees them: its own are answers"
                    yield Problem(chat.at, words)
                if chat.unnamed and not count:
                    yield Problem(chat.at, chat.unnamed)
                count += 1
                yield _session(chat, source.stem if head.shape == "object" and count == 1 else f"{source.stem}-{count}")

    def follows(self, entry: dict[str, Any]) -> bool:
        return spoken(entry) is not None

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        message = spoken(entry)
        if message is None and (called := [piece for piece in block(entry) if piece.kind in ("call", "result")]):
            return turns_of(called, "assistant", conversation)
        if message is None and (calling := event_calls(entry, conversation.tools)):
            return [turn for one in calling for turn in message_turns(one, conversation)]
        if message is None:
            if any(map(entry.get, SAID)):
                conversation.notes.append("nobody who is known says anything in it; kept as an event")
            elif speaker(entry) == "assistant":
                conversation.notes.append("an answer of which nothing is known")
            return []
        model = first_text(message, *_MODELS) or first_text(as_object(message.get("extra")), *_MODELS)
        model = model or first_text(as_object(message.get("metadata")), *_MODELS)
        if all("apiName" in as_object(tool) for tool in as_list(message.get("tools"))):  # LobeChat's calls
            message = {"tool_calls": message.get("tools"), **message}
        turns = message_turns(message, conversation, model=model)
        turns += _other_answers(message, conversation)
        if message["role"] == "assistant" and entry.get("error") is True:  # LibreChat's, whose text is the reason
            turns = [changed(turn, kind="error") if turn.kind == "response" else turn for turn in turns]
        return each_filled(turns, parent=first_id(message, *_PARENTS), sent_at=first_moment(message, *_TIMES))


def _other_answers(message: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """The answers that SillyTavern's user swiped away, by their numbers."""
    turns: list[Turn] = []
    for number, swipe in enumerate(as_list(message.get("swipes"))):
        if isinstance(swipe, str) and swipe != message.get("content"):
            turns += each_with(text_turns(swipe, message["role"], conversation), sounding=number)
    return turns


plugin = Chats()


def _grown(entries: Entries) -> Entries:
    """Without states of a chat that the next one begins with, which a program repeats each time it logs; said once."""
    state: tuple[Entry, list[Any]] | None = None
    passed: list[Entry | Problem] = []
    repeated = 0
    for entry in chain(entries, [None]):
        chats = [chat.messages for chat in _chats("", (), entry[1], 0)] if isinstance(entry, tuple) else []
        if isinstance(entry, tuple) and len(chats) == 1 and state and _goes_on(state, entry, chats[0]):
            state, repeated = (entry, chats[0]), repeated + 1
            continue
        if entry is not None and len(chats) != 1:
            passed.append(entry)
        if entry is None or len(chats) == 1 or len(passed) > _MOST_PASSED:
            yield from _flushed(state, repeated, passed)
            state = (entry, chats[0]) if len(chats) == 1 and isinstance(entry, tuple) else None
            passed, repeated = [], 0


def _goes_on(state: tuple[Entry, list[Any]], entry: Entry, messages: list[Any]) -> bool:
    """Whether a record holds the same chat as the one before it, and more: of one name, and one id if there is no more.

    Other people may say the same, and a model may be asked the same twice.
    """
    ((_, before), said), after = state, entry[1]
    if messages[: len(said)] != said or _named(_NAME, before) != _named(_NAME, after):
        return False
    return len(messages) > len(said) or _named(_ID, before) == _named(_ID, after)


def _named(pattern: re.Pattern[str], value: Any) -> dict[str, Any]:
    """What a record is called."""
    items = [pair for pair in as_object(value).items() if isinstance(pair[1], str | int)]
    return {key: inner for key, inner in items if pattern.fullmatch(str(key))}


def _flushed(state: tuple[Entry, list[Any]] | None, repeated: int, passed: list[Entry | Problem]) -> Entries:
    """The last state of a chat, with a word of those before it, and what stood between them."""
    if state:
        yield state[0]
    if state and repeated:
        records = "record holds" if repeated == 1 else "records hold"
        yield Problem(state[0][0], f"{repeated:,} {records} a beginning of this chat, which is read once")
    yield from passed


def _repeats(chat: _Chat, said: dict[int, list[set[str]]], chats: list[_Chat]) -> bool:
    """Whether a list next to another says nothing new, as the timeline of Copilot's older sessions, or is its state.

    `said` are the texts of those before it, by what they stand in; states stand deeper than the whole chat.
    """
    if any(len(one.around) < len(chat.around) and one.messages[: len(chat.messages)] == chat.messages for one in chats):
        return True
    if not chat.around:
        return False
    contents = (as_object(spoken(message)).get("content") for message in chat.messages)
    texts = {content for content in contents if isinstance(content, str)}
    before = said.setdefault(id(chat.around[-1]), [])
    before.append(texts)
    return bool(texts) and any(texts <= earlier for earlier in before[:-1])


def _session(chat: _Chat, fallback: str) -> SessionEntries:
    around = chat.around[-1] if chat.around else {}
    beside = {key: value for key, value in around.items() if value is not chat.messages and value is not chat.told}
    title = next((title for holder in reversed(chat.around) if (title := first_text(holder, "title", "name"))), None)
    chat_id = first_id(beside, *_IDS) or first_id(as_object(beside.get("conversation")), *_IDS)
    small = {key: value for key, value in beside.items() if not isinstance(value, list | dict)}
    return SessionEntries(chat_id or fallback, _entries(chat.at, chat.messages), title, extra=small)


def _chats(
    at: str, around: tuple[dict[str, Any], ...], value: Any, depth: int, most: int | None = None
) -> Iterator[_Chat]:
    """The lists of messages in a value: the outermost, and of a message with replies itself; in `most` of a list."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        if value and all(isinstance(item, str) and item[:1] == "{" for item in value):  # as Redis keeps them
            value = list(map(opened, value))
        if is_chat(list(islice(_with_replies(value), _SHOWN))):
            yield _Chat(at, around, value)
            return
        for index, inner in enumerate(value[:most]):
            if isinstance(inner, dict | list):
                yield from _chats(f"{at}[{index}]", around, inner, depth + 1, most)
    elif isinstance(value, dict):
        by_ids = [*value.values()] if all(isinstance(inner, dict) for inner in value.values()) else []
        listed = by_ids if any(inner.keys() & {*_TIMES, "ts"} for inner in by_ids) else [value]
        if is_chat(list(islice(_with_replies(listed), _SHOWN))):
            yield _Chat(at, around, listed, value)
            return
        for key, inner in value.items():
            if isinstance(inner := opened(inner), dict | list):
                yield from _chats(f"{at}, {key}" if at else str(key), (*around, value), inner, depth + 1, most)


def _told(at: str, value: dict[str, Any], depth: int = 0) -> Iterator[_Chat]:
    """The dialogues that are one text each, or a list of the lines that are said: {"log": "User: …\\nAgent: …"}."""
    for key, inner in value.items():
        said = in_turn(inner) if key in _IN_TURN else []
        names = names_in(inner, value, may_repeat=not key.endswith(("history", "chatbot"))) if said else []
        if said and (names or not told("\n".join(text[:_LED] for text in said[:4] if text))):
            roles = [speaker({"role": name}) or "assistant" for name in names] or cycle(("user", "assistant"))
            sides = zip(roles, said[1::2] if names else said, strict=False)
            messages = [{"role": role, "content": text} for role, text in sides if text is not None]
            yield _Chat(f"{at}, {key}", (value,), messages, inner, _NAMED if names else UNNAMED)
            continue
        texts = [inner] if isinstance(inner, str) else inner if isinstance(inner, list) else []
        texts = [text for text in texts if isinstance(text, str)]
        for messages in [messages for text in texts if (messages := told(text))] or [told("\n".join(texts))]:
            if messages:
                yield _Chat(f"{at}, {key}", (value,), messages, inner)
        for item in inner if isinstance(inner, list) else [inner]:
            if isinstance(item, dict) and depth < _DEEPEST:
                yield from _told(f"{at}, {key}", item, depth + 1)


def _with_replies(messages: list[Any]) -> Iterator[Any]:
    """Messages, each followed by what was said in reply to it."""
    waiting = list(reversed(messages))
    while waiting:
        message = waiting.pop()
        responses = as_list(as_object(message).get("responses"))
        if several := [answer for answer in responses if as_object(answer).get("messages")]:
            models = [(first_text(answer, "model"), as_list(answer["messages"])) for answer in several]
            listed = [{"model": model, **as_object(inner)} for model, inners in models for inner in inners]
            waiting.extend(reversed(listed))  # TypingMind's answers of several models to one prompt
            continue
        yield message
        replies = next((as_list(message[key]) for key in _REPLIES if as_object(message).get(key)), [])
        waiting.extend(reply for reply in reversed(replies) if isinstance(reply, dict))


def _entries(at: str, messages: list[Any]) -> Entries:
    for number, message in enumerate(_with_replies(messages)):
        if isinstance(message, dict):
            message = {key: value for key, value in message.items() if key not in _REPLIES}
        yield entry_or_problem(f"{at}[{number}]", message)


def _left_over(at: str, value: dict[str, Any], chats: list[_Chat]) -> Iterator[Problem]:
    """What is said outside of the lists that are read."""
    lists = {id(part) for chat in chats for part in (chat.messages, chat.told) if part is not None} | {
        id(chat.messages[0]) for chat in chats if len(chat.messages) == 1
    }
    unread = UnreadTexts()
    unread.learn(at, _without(value, lists), [])
    yield from unread.problems()


def _without(value: Any, lists: set[int]) -> Any:
    if id(value) in lists:
        return None
    if isinstance(value, str) and isinstance(inner := opened(value), dict | list) and any(_chats("", (), inner, 0)):
        return None  # JSON that holds a chat
    if isinstance(value, list) and value and isinstance(value[0], str) and any(_chats("", (), value, 0)):
        return None  # messages, each as JSON
    if isinstance(value, dict):
        return {key: _without(inner, lists) for key, inner in value.items()}
    return [_without(inner, lists) for inner in value] if isinstance(value, list) else value
