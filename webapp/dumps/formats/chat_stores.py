"""Chats as programs store them: Cursor, Copilot in VS Code, OpenCode, and the log of Simon Willison's `llm`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Literal

from webapp.dumps.archive_members import zip_objects
from webapp.dumps.base import Conversation, DumpHead, Entry, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import entries_of, nested
from webapp.dumps.messages.pieces import Piece, call
from webapp.dumps.messages.turns import error_turns, text_turns, turns_of, with_usage
from webapp.dumps.records import Entries, Problem, Turn
from webapp.dumps.sessions import microseconds, spilled
from webapp.dumps.sqlite_tables import Tables, joined_rows, opened_tables, plain
from webapp.dumps.values import as_list, as_object, first_text, id_text, text

_TABLE = "cursorDiskKV"
_CONVERSATION, _MESSAGE = "composerData:", "bubbleId:"


class CursorDatabase(Declared):
    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        message_count, read_ids = 0, list[str]()
        with opened_tables(source) as tables:
            for row in tables.rows(_TABLE, "key"):
                key = str(row.get("key"))
                message_count += key.startswith(_MESSAGE)
                if not key.startswith(_CONVERSATION):
                    continue
                about = _value(row)
                if not isinstance(about, dict):
                    yield Problem(key, "expected a JSON object; skipped")
                    continue
                ident = key.removeprefix(_CONVERSATION)
                listed = as_list(about.pop("conversation", None))
                entries = nested(key, "conversation", listed) if listed else _linked(tables, ident, about, read_ids)
                if listed or about.get("fullConversationHeadersOnly"):  # most are drafts, in which nobody spoke
                    yield SessionEntries(ident, entries, text(about.get("name")), extra=about)
        if left_out := message_count - len(set(read_ids)):
            yield Problem(_TABLE, f"stored messages that no conversation lists, which were left out: {left_out:,}")

    def read_entry(self, entry: dict[str, Any], conversation: Declaring) -> list[Turn]:
        counts = as_object(entry.get("tokenCount"))  # zeros where nobody counted
        return with_usage(
            super().read_entry(entry, conversation), {key: count for key, count in counts.items() if count}
        )


def _value(row: dict[str, Any]) -> Any:
    """What a row holds: JSON as text, or as bytes."""
    value = row.get("value")
    return json_or_none(value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value))


def _linked(tables: Tables, ident: str, about: dict[str, Any], read_ids: list[str]) -> Entries:
    """The messages that a conversation lists by their ids; the keys of those that are there go into `read`."""
    for header in as_list(about.get("fullConversationHeadersOnly")):
        key = f"{_MESSAGE}{ident}:{id_text(as_object(header).get('bubbleId'))}"
        value = next((_value(row) for row in tables.rows(_TABLE, key=key)), None)
        read_ids.extend([key] if value is not None else [])
        yield (key, value) if isinstance(value, dict) else Problem(key, "a message that the conversation lists is gone")


class VsCodeChat(Declared):
    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        return _changed(source, head) if _is_log(head) else super().sessions(source, head)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        message, result = entry.get("message"), as_object(entry.get("result"))
        prompt = message if isinstance(message, str) else first_text(message, "text")
        turns = text_turns(prompt, "user", conversation) if prompt else []
        model = first_text(entry, "modelId")
        rounds = as_list(as_object(result.get("metadata")).get("toolCallRounds"))
        response_parts = as_list(entry.get("response"))
        pieces = [*_rounds(rounds, as_object(result.get("metadata"))), *_shown(response_parts, rounds)]
        kindless = [part for part in response_parts if not as_object(part).get("kind")]  # as only texts are
        if unread := sum(_shown_text(part) is None for part in kindless):
            conversation.notes.append(f"{unread} parts of the response hold no readable text; they were left out")
        error = first_text(as_object(result.get("errorDetails")), "message")
        turns += [placed for piece in pieces for placed in turns_of([piece], "assistant", conversation, model=model)]
        if not pieces and error is None:
            conversation.notes.append("a request without a readable response")
        if error is not None:
            turns += error_turns(error, "provider")
        return turns


def _is_log(head: DumpHead) -> bool:
    """A chat as VS Code stores it since 1.109: the chat as it was, then a change a line."""
    first = head.objects[0] if head.objects else {}
    return first.get("kind") == 0 and "requests" in as_object(first.get("v"))


def _changed(source: Source, head: DumpHead) -> Sessions:
    """The chat that the changes lead to; a change that leads nowhere is named."""
    chat: dict[str, Any] = {}
    for entry in entries_of(source, head):
        if isinstance(entry, Problem):
            yield entry
        elif entry[1].get("kind") == 0:
            chat = as_object(entry[1].get("v"))
        else:
            yield from _change(chat, *entry)
    requests = as_list(chat.pop("requests", None))
    name = id_text(chat.get("sessionId")) or source.stem
    yield SessionEntries(name, nested("the chat", "requests", requests), first_text(chat, "customTitle"), extra=chat)


def _change(chat: dict[str, Any], at: str, change: dict[str, Any]) -> Iterator[Problem]:
    """Make a change; what to say of requests that it takes back, or where it leads nowhere."""
    path, start = as_list(change.get("k")), change.get("i")
    before = len(as_list(chat.get("requests")))
    if path == ["requests"] and isinstance(start, int) and start < before:
        yield Problem(at, f"{before - start} requests were taken back here, with their answers; left out")
    if not _apply(chat, change) and path[:1] == ["requests"]:
        yield Problem(at, "a change of a place that is not there; left out")


def _apply(chat: Any, change: dict[str, Any]) -> bool:
    """Set (1), append to (2) or delete (3) what a path leads to; whether it was there."""
    kind, path = change.get("kind"), as_list(change.get("k"))
    try:
        for step in path[:-1]:
            chat = chat[step]
        if kind == 2:
            listed = chat.setdefault(path[-1], []) if isinstance(chat, dict) else chat[path[-1]]
            if isinstance(change.get("i"), int):
                del listed[change["i"] :]
            listed.extend(as_list(change.get("v")))
        elif kind == 3:
            del chat[path[-1]]
        else:
            chat[path[-1]] = change.get("v")
    except (AttributeError, KeyError, IndexError, TypeError):
        return False
    return True


def _rounds(rounds: list[Any], metadata: dict[str, Any]) -> Iterator[Piece]:
    """What the model said and called, round by round, with what came of the calls."""
    results = as_object(metadata.get("toolCallResults"))
    for part in (part for part in rounds if isinstance(part, dict)):
        if response_text := text(part.get("response")):
            yield Piece("text", response_text)
        for value in as_list(part.get("toolCalls")):
            if isinstance(value, dict):
                yield (tool_call := call(value))
                if (answer := results.get(tool_call.id or "")) is not None:
                    yield Piece.of_result(answer, tool_call.name, tool_call.id)


def _shown_text(part: Any) -> str | None:
    """The text of a part, which may be an object around it."""
    for value in (as_object(part).get("value"), as_object(part).get("content")):
        inner = value.get("value") if isinstance(value, dict) else value
        if isinstance(inner, str):
            return inner
    return None


def _shown(parts: list[Any], rounds: list[Any]) -> Iterator[Piece]:
    """What was shown: thoughts and, joined, texts between the tools' notices; nothing where the rounds hold these."""
    if any(text(as_object(part).get("response")) for part in rounds):
        return
    for kind, run in groupby(map(_shown_as, parts), lambda shown: shown[0]):
        joined = "".join(said for _, said in run)
        if joined.strip():
            yield Piece(kind, joined)


def _shown_as(part: Any) -> tuple[Literal["text", "thinking", "other"], str]:
    """What a part of a response is, and its text; what is linked within a text is read by its name."""
    holder = as_object(part)
    if holder.get("kind") == "thinking":
        thoughts = holder.get("value")
        return "thinking", "".join(map(str, thoughts)) if isinstance(thoughts, list) else text(thoughts) or ""
    if holder.get("kind") == "inlineReference":
        linked = as_object(holder.get("inlineReference"))
        return "text", first_text(holder, "name") or first_text(linked, "name") or ""
    if holder.get("kind") in ("codeblockUri", "undoStop"):
        return "text", ""
    said = _shown_text(part)
    return ("other", "") if said is None else ("text", said)


_STORED = re.compile(r"(?:^|/)(session|message|part)/[^/]+/[^/]+\.json$")


class OpenCode(Declared):
    def sniff(self, head: DumpHead) -> int:
        if head.shape == "zip":
            kinds = {match[1] for name in head.names if (match := _STORED.search(name))}
            return 90 if {"message", "part"} <= kinds else 0
        return super().sniff(head)

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        return _stored(source) if head.shape == "zip" else super().sessions(source, head)


def _stored(source: Source) -> Sessions:
    """The sessions of a storage folder: messages by their files' names, parts under the messages that they name."""
    infos: dict[str, dict[str, Any]] = {}
    with spilled() as messages, spilled() as parts:
        for entry in zip_objects(source, _STORED):
            if isinstance(entry, Problem):
                yield entry
                continue
            at, value = entry
            kind, holder, _ = at.split("/")[-3:]
            if kind == "session":
                infos[id_text(value.get("id")) or holder] = value
            elif kind == "message":
                when = microseconds(as_object(value.get("time")).get("created"))
                messages.put(id_text(value.get("sessionID")) or holder, when, at, value)
            else:
                parts.put(id_text(value.get("messageID")) or holder, 0, at, value)
        of_message = {name: [value for _, value in listed] for name, listed in parts.sessions()}
        for name, listed in messages.sessions():
            joined = ((at, {"info": value, "parts": of_message.get(str(value.get("id")), [])}) for at, value in listed)
            extra = {"info": infos[name]} if name in infos else {}
            yield SessionEntries(name, joined, text(as_object(extra.get("info")).get("title")), extra=extra)


class LlmLogs(Declared):
    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield from super().sessions(source, head)
        if head.shape == "sqlite" and "turns" in head.names:
            with opened_tables(source) as tables:
                yield from _threads(tables)


_WITH_PARTS = {
    "joins": [{"into": "parts", "table": "parts", "by": "message_hash", "on": "hash", "order": ["position"]}]
}


def _threads(tables: Tables) -> Iterator[SessionEntries]:
    messages = {row["hash"]: row for row in joined_rows(tables, "messages", _WITH_PARTS, ["*"])}
    names = {row["id"]: text(row.get("name")) for row in tables.rows("threads")}
    for thread, turns in groupby(tables.rows("turns", "thread_id", "id"), lambda row: row.get("thread_id")):
        yield SessionEntries(id_text(thread) or "thread", _thread(turns, messages), names.get(thread))


def _thread(turns: Iterable[dict[str, Any]], messages: dict[Any, dict[str, Any]]) -> Iterator[Entry]:
    """The messages of a thread, each once: what a turn was asked, then what it answered."""
    passed: set[Any] = set()
    for turn in turns:
        chain, at = [], turn.get("tip_message_hash")
        while at in messages and at not in passed:
            passed.add(at)
            chain.append(at)
            at = messages[at].get("parent_hash")
        about = {key: turn.get(key) for key in ("model", "resolved_model", "datetime_utc")}
        last = chain[0] if chain else None
        for ident in reversed(chain):
            counts = {key: turn.get(key) for key in ("input_tokens", "output_tokens")} if ident == last else {}
            counts |= {"turn_row": plain(turn)} if ident == last else {}
            yield f"message {ident}", {**messages[ident], **about, **counts, "turn": turn["id"]}


plugins = (CursorDatabase("cursor_db"), VsCodeChat("vscode_chat"), OpenCode("opencode"), LlmLogs("llm_logs"))
