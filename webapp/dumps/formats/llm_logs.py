"""The log of Simon Willison's `llm` (logs.db): conversations of the older tables, threads of the newer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from webapp.dumps.base import DumpHead, Entry, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.sqlite_tables import Tables, opened_tables, plain
from webapp.dumps.values import id_text, text


class LlmLogs(Declared):
    def sniff(self, head: DumpHead) -> int:
        if head.shape != "sqlite":
            return super().sniff(head)
        old = {"conversations", "responses"} <= set(head.names)
        return 95 if old or {"threads", "turns", "messages", "parts"} <= set(head.names) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        return _stored(source) if head.shape == "sqlite" else super().sessions(source, head)


plugin = LlmLogs("llm_logs")


def _stored(source: Source) -> Sessions:
    with opened_tables(source) as tables:
        turns = {row["id"] for row in tables.rows("turns")}
        yield from _conversations(tables, turns)
        yield from _threads(tables)


def _conversations(tables: Tables, turn_ids: set[Any]) -> Iterator[SessionEntries]:
    names = {row["id"]: text(row.get("name")) for row in tables.rows("conversations")}
    fragments = {row["id"]: row.get("content") for row in tables.rows("fragments")}
    beside = {
        "tool_calls": _by_response(tables.rows("tool_calls", "id")),
        "tool_results": _by_response(tables.rows("tool_results", "id")),
        "fragments": _by_response(tables.rows("prompt_fragments", "order"), fragments),
        "system_fragments": _by_response(tables.rows("system_fragments", "order"), fragments),
    }
    rows = (row for row in tables.rows("responses", "conversation_id", "id") if row["id"] not in turn_ids)
    for ident, responses in groupby(rows, lambda row: row.get("conversation_id") or row["id"]):
        entries = (_with(row, beside) for row in responses)
        yield SessionEntries(id_text(ident) or "conversation", entries, names.get(ident))


def _by_response(rows: Iterable[dict[str, Any]], texts: dict[Any, Any] | None = None) -> dict[Any, list[Any]]:
    by_response: dict[Any, list[Any]] = {}
    for row in rows:
        value = plain(row) if texts is None else texts.get(row.get("fragment_id"))
        by_response.setdefault(row.get("response_id"), []).append(value)
    return by_response


def _with(row: dict[str, Any], beside: dict[str, dict[Any, list[Any]]]) -> Entry:
    more = {key: rows[row["id"]] for key, rows in beside.items() if row["id"] in rows}
    return f"response {row['id']}", {**plain(row), **more}


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
