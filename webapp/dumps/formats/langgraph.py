"""LangGraph's checkpoints in SQLite: each thread is a session, the messages of all its checkpoints, each once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from webapp import jsontext
from webapp.dumps.base import DumpHead, Entries, Entry, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.formats.langchain import LangChain
from webapp.dumps.messages.langchain import is_message, unwrapped
from webapp.dumps.msgpack_values import BadMsgpack, decoded
from webapp.dumps.records import Problem
from webapp.dumps.sessions import entries_of, spilled
from webapp.dumps.sqlite_tables import opened_tables
from webapp.dumps.values import as_list, as_object, first_id, id_text


class LangGraph(LangChain):
    shapes = 'LangGraph\'s checkpoints (SQLite), or states {"values": {"messages": […]}}'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "sqlite":
            return 95 if "checkpoints" in head.names else 0
        return 94 if head.objects and all(map(_is_state, head.objects)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape != "sqlite":
            yield from _states(source, head)
            return
        with opened_tables(source) as tables:
            rows = tables.rows("checkpoints", "thread_id", "checkpoint_id")
            for thread, checkpoints in groupby(rows, lambda row: id_text(row.get("thread_id")) or source.stem):
                yield SessionEntries(thread, _messages(checkpoints))


plugin = LangGraph()


def _messages(checkpoints: Iterable[dict[str, Any]]) -> Entries:
    """The messages of a thread in the order in which they came, each as its last checkpoint has it."""
    messages: dict[str, dict[str, Any]] = {}
    for row in checkpoints:
        at = f"checkpoint {row.get('checkpoint_id')}"
        value = _value(row)
        if isinstance(value, str):
            yield Problem(at, value)
            continue
        _take(as_object(value).get("channel_values"), messages)
    yield from _numbered(messages)


def _numbered(messages: dict[str, dict[str, Any]]) -> list[Entry]:
    return [(f"message {number}", message) for number, message in enumerate(messages.values())]


def _take(channels: Any, messages: dict[str, dict[str, Any]]) -> None:
    """Note the messages of a checkpoint's channels, each under its name."""
    for channel in as_object(channels).values():
        for index, message in enumerate(as_list(channel)):
            if is_message(message):
                messages[_name(message, index)] = message


def _is_state(value: dict[str, Any]) -> bool:
    messages = as_list(as_object(value.get("values")).get("messages"))
    return "next" in value and all(map(is_message, messages)) and isinstance(value.get("values"), dict)


def _states(source: Source, head: DumpHead) -> Sessions:
    """The states of threads, as its API and `get_state_history` give them, the last first."""
    with spilled() as aside:
        for number, entry in enumerate(entries_of(source, head)):
            if isinstance(entry, Problem):
                yield entry
            else:
                aside.put(_thread(entry[1]) or source.stem, -number, *entry)
        for name, states in aside.sessions():
            messages: dict[str, dict[str, Any]] = {}
            for _, state in states:
                _take(state.get("values"), messages)
            yield SessionEntries(name, _numbered(messages))


def _thread(state: dict[str, Any]) -> str | None:
    holders = (as_object(state.get("config")).get("configurable"), state.get("checkpoint"), state.get("metadata"))
    return next((name for holder in holders if (name := first_id(as_object(holder), "thread_id"))), None)


def _name(message: dict[str, Any], index: int) -> str:
    """A message's own id, else its place and what it says."""
    inner = unwrapped(message)[0]
    return id_text(inner.get("id")) or f"{index} {hash(jsontext.dumps(inner))}"


def _value(row: dict[str, Any]) -> Any:
    """What a checkpoint holds; a text that says why it cannot be read."""
    data, kind = row.get("checkpoint"), row.get("type")
    if kind in ("json", None) and isinstance(data, str | bytes):
        value = json_or_none(data if isinstance(data, str) else data.decode("utf-8", "replace"))
        return "not JSON; skipped" if value is None else value
    if kind != "msgpack" or not isinstance(data, bytes):
        return f"written as {str(kind)[:40]!r}, which is not read (a pickle never is); skipped"
    try:
        return decoded(data)
    except BadMsgpack as bad:
        return f"damaged msgpack ({bad}); skipped"
