"""The log of Simon Willison's `llm` (logs.db): conversations of the older tables, threads of the newer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entry, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.calls import listed_calls
from webapp.dumps.messages.pieces import Piece, text_or_json
from webapp.dumps.messages.turns import result_turns, spent, text_turns, turns_of
from webapp.dumps.sessions import grouped
from webapp.dumps.sqlite_tables import Tables, opened_tables, plain
from webapp.dumps.values import as_list, as_object, first_text, id_text, text


class LlmLogs(Format):
    shapes = "the logs.db of llm (SQLite), or what `llm logs --json` prints"
    times = ("datetime_utc",)

    def sniff(self, head: DumpHead) -> int:
        if head.shape != "sqlite":
            return 93 if head.all_have("conversation_id", "datetime_utc", "response", "prompt") else 0
        old = {"conversations", "responses"} <= set(head.names)
        return 95 if old or {"threads", "turns", "messages", "parts"} <= set(head.names) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape != "sqlite":  # `llm logs --json`
            yield from grouped(source, head, lambda row: id_text(row.get("conversation_id")) or id_text(row.get("id")))
            return
        with opened_tables(source) as tables:
            turns = {row["id"] for row in tables.rows("turns")}
            yield from _conversations(tables, turns)
            yield from _threads(tables)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        model = first_text(entry, "resolved_model", "model")
        once = spent({"input": entry.get("input_tokens"), "output": entry.get("output_tokens")})
        if "parts" in entry:
            pieces = [piece for index, part in enumerate(as_list(entry["parts"])) for piece in _part(part, index)]
            written = entry.get("role") == "assistant"
            return turns_of(pieces, text(entry.get("role")), conversation, once if written else None, model=model)
        return _response(entry, conversation, once, model)


plugin = LlmLogs()


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


def _response(
    entry: dict[str, Any], conversation: Conversation, once: dict[str, Any], model: str | None
) -> list[PlacedTurn]:
    """A row of the older tables: what was asked, results of tools among it, then the answer and its calls."""
    turns: list[PlacedTurn] = []
    for key, role in (("system_fragments", "system"), ("system", "system"), ("fragments", "user"), ("prompt", "user")):
        is_list = isinstance(entry.get(key), list)
        for index, raw in enumerate(entry[key] if is_list else [entry.get(key)]):
            if text(raw):
                turns += text_turns(raw, (key, index) if is_list else (key,), role, conversation)
    for index, row in enumerate(map(as_object, as_list(entry.get("tool_results")))):
        path = ("tool_results", index, "output")
        turns += result_turns(text(row.get("output")), path, conversation, *_called(row))
    pieces = [Piece("thinking", entry["reasoning"], ("reasoning",))] if text(entry.get("reasoning")) else []
    calls = [
        Piece.of_call(row.get("arguments"), ("tool_calls", index, "arguments"), *_called(row), dict(row))
        for index, row in enumerate(listed_calls(entry, "tool_calls", conversation.notes))
    ]
    if text(entry.get("response")) or not calls:
        pieces.append(Piece("text", text(entry.get("response")) or "", ("response",)))
    return [*turns, *turns_of([*pieces, *calls], "assistant", conversation, once, model=model)]


def _called(row: dict[str, Any]) -> tuple[str | None, str | None]:
    return text(row.get("name")), text(row.get("tool_call_id"))


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


def _part(part: Any, index: int) -> Iterator[Piece]:
    part = as_object(part)
    kind, name, payload = str(part.get("type")), text(part.get("tool_name")), part.get("payload")
    at, inner = ("parts", index, "text"), as_object(json_or_none(payload) if isinstance(payload, str) else payload)
    ident = first_text(inner, "tool_call_id", "id")
    if kind in ("tool_call", "tool_result"):
        key = "arguments" if kind == "tool_call" else "output"
        raw, path = (
            (part["text"], at) if text(part.get("text")) else (text_or_json(inner.get(key, payload), ())[0], None)
        )
        call = {"name": name, **inner} if kind == "tool_call" else None
        yield Piece("call" if kind == "tool_call" else "result", raw, path, name, ident, call)
    elif text(part.get("text")):
        yield Piece("thinking" if kind == "reasoning" else "text", part["text"], at)
