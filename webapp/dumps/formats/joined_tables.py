"""Chats whose parts lie in tables or files of their own: OpenCode's messages, and the log of Simon Willison's `llm`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from webapp.dumps.archive_members import zip_objects
from webapp.dumps.base import DumpHead, Entry, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.records import Problem
from webapp.dumps.sessions import microseconds, spilled
from webapp.dumps.sqlite_tables import Tables, opened_tables, plain
from webapp.dumps.values import as_object, id_text, text

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


def _threads(tables: Tables) -> Iterator[SessionEntries]:
    messages = {row["hash"]: row for row in tables.rows("messages")}
    parts: dict[Any, list[dict[str, Any]]] = {}
    for row in tables.rows("parts", "message_hash", "position"):
        parts.setdefault(row.get("message_hash"), []).append(plain(row))
    names = {row["id"]: text(row.get("name")) for row in tables.rows("threads")}
    for thread, turns in groupby(tables.rows("turns", "thread_id", "id"), lambda row: row.get("thread_id")):
        yield SessionEntries(id_text(thread) or "thread", _thread(turns, messages, parts), names.get(thread))


def _thread(
    turns: Iterable[dict[str, Any]], messages: dict[Any, dict[str, Any]], parts: dict[Any, list[dict[str, Any]]]
) -> Iterator[Entry]:
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
            value = {**plain(messages[ident]), **about, **counts, "turn": turn["id"], "parts": parts.get(ident, [])}
            yield f"message {ident}", value


plugins = (OpenCode("opencode"), LlmLogs("llm_logs"))
