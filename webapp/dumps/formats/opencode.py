"""OpenCode: `opencode export`, its database, or a zip of its storage, whose parts are joined by their ids."""

from __future__ import annotations

import re
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

from webapp.dumps.archive_members import of_zip
from webapp.dumps.base import NATIVE, Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import Entries, Entry, nested, with_list
from webapp.dumps.messages.beside import stop
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import each_filled, error_turns, event_turns, text_turns, turns_of, with_usage
from webapp.dumps.records import Problem, changed
from webapp.dumps.sessions import each_session, entries_of, grouped, microseconds, spilled
from webapp.dumps.sqlite_tables import Tables, opened_tables, plain
from webapp.dumps.values import as_list, as_object, first_text, id_text, moment, text

_STORED = re.compile(r"(?:^|/)(session|message|part)/[^/]+/[^/]+\.json$")


class OpenCode(Format):
    home = NATIVE
    shapes = 'OpenCode\'s export {"info", "messages": [{"info", "parts"}]} or a zip of its storage'

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "sqlite":
            return 90 if {"session", "message", "part"} <= set(head.names) else 0
        if head.shape == "zip":
            kinds = {match[1] for name in head.names if (match := _STORED.search(name))}
            return 90 if {"message", "part"} <= kinds else 0
        if head.shape == "object":
            return 95 if _is_message(head.first_of("messages")) else 0
        if head.objects and all(_is_message(item) or _is_run_line(item) for item in head.objects):
            return 94
        messages = [message for item in head.objects for message in as_list(item.get("messages"))[:1]]
        return 95 if messages and all(map(_is_message, messages)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "sqlite":
            yield from _of_database(source)
        elif head.shape == "zip":
            yield from _stored(source)
        elif head.shape == "object":
            yield _session(source.stem, *with_list(source, head, "messages", needed="info"))
        elif any(_is_message(item) or _is_run_line(item) for item in head.objects):
            yield from grouped(source, head, _session_id)
        else:
            yield from each_session(entries_of(source, head), source.stem, _listed)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if _is_run_line(entry):
            about = {"role": "assistant", "time": {"created": entry.get("timestamp")}, "error": entry.get("error")}
            counts = {key: as_object(entry.get("part")).get(key) for key in ("tokens", "cost")}
            entry = {"info": {**about, **counts}, "parts": [entry["part"]] if "part" in entry else []}
        info = as_object(entry.get("info"))
        role, parent = text(info.get("role")), id_text(info.get("parentID"))
        model = first_text(info, "modelID") or first_text(info.get("model"), "modelID")
        turns: list[PlacedTurn] = []
        if not isinstance(entry.get("parts"), list):
            conversation.notes.append("a message without a list of parts")
        for index, part in enumerate(as_list(entry.get("parts"))):
            turns += _part(as_object(part), index, role, model, conversation)
            if as_object(part).get("type") == "step-finish":
                turns = _stopped(turns, as_object(part).get("reason"))
        turns = _stopped(turns, info.get("finish"))
        if error := as_object(info.get("error")):
            turns += error_turns(_reason(error), text(error.get("name")))
        turns = with_usage(turns, info.get("tokens"), info.get("cost"))
        return each_filled(turns, parent=parent, sent_at=moment(as_object(info.get("time")).get("created")))


plugin = OpenCode()


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("info"), dict) and isinstance(value.get("parts"), list)


def _is_run_line(value: dict[str, Any]) -> bool:
    """A line of `opencode run --format json`: a part of the answer."""
    return "sessionID" in value and isinstance(value.get("type"), str) and bool(value.keys() & {"part", "error"})


def _session_id(entry: dict[str, Any]) -> str | None:
    return id_text(entry.get("sessionID")) or id_text(as_object(entry.get("info")).get("sessionID"))


def _listed(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries:
    return _session(fallback, value, nested(at, "messages", as_list(value.pop("messages", None))))


def _session(fallback: str, extra: dict[str, Any], entries: Entries) -> SessionEntries:
    info = as_object(extra.get("info"))
    return SessionEntries(id_text(info.get("id")) or fallback, entries, text(info.get("title")), extra=extra)


def _part(
    part: dict[str, Any], index: int, role: str | None, model: str | None, conversation: Conversation
) -> list[PlacedTurn]:
    kind, at, raw = part.get("type"), ("parts", index), part.get("text")
    if kind == "text" and isinstance(raw, str):
        if part.get("synthetic") is True and role == "assistant":  # the program wrote it, not the model
            return event_turns("synthetic", raw, (*at, "text"))
        return text_turns(raw, (*at, "text"), role, conversation, model=model)
    if not text(kind):
        conversation.notes.append(f"a part without a type (part {index} of the message)")
    if kind == "retry":
        return error_turns(_reason(as_object(part.get("error"))), kind)
    if kind in ("text", "reasoning") and not isinstance(raw, str):
        conversation.notes.append(f"a part of type {kind!r} without a text (part {index} of the message)")
    if kind == "reasoning" and isinstance(raw, str):
        return turns_of([Piece("thinking", raw, (*at, "text"))], role, conversation, model=model)
    if kind == "tool":
        return turns_of(_tool(part), "assistant", conversation, model=model)
    return event_turns(text(kind))


def _stopped(turns: list[PlacedTurn], word: Any) -> list[PlacedTurn]:
    """The turns, those of the step that ended now with the reason: a message may have several steps."""
    why = stop(word)
    return [(changed(turn, stop=turn.stop or why) if turn.written_by_model else turn, path) for turn, path in turns]


def _reason(error: dict[str, Any]) -> str | None:
    return first_text(error.get("data"), "message") or first_text(error, "message", "name")


def _tool(part: dict[str, Any]) -> list[Piece]:
    """A call with what became of it, which is `error` where the tool was not run or failed."""
    state, name, ident = as_object(part.get("state")), text(part.get("tool")), text(part.get("callID"))
    call = {"id": ident, "name": name, "arguments": state.get("input")}
    pieces = [Piece.of_call(text(state.get("raw")) or state.get("input"), (), name, ident, call)]
    answer = state.get("error") if state.get("status") == "error" else state.get("output")
    if answer is not None:
        pieces.append(Piece.of_result(answer, (), name, ident))
    return pieces


def _of_database(source: Source) -> Sessions:
    """The sessions of opencode.db: messages and parts are JSON texts in rows that name their session and message."""
    with opened_tables(source) as tables:
        about = {row.get("id"): plain(row) for row in tables.rows("session")}
        rows = tables.rows("message", "session_id", "time_created", "id")
        for ident, messages in groupby(rows, lambda row: row.get("session_id")):
            extra = {"info": about[ident]} if ident in about else {}
            joined = (_joined(tables, row) for row in messages)
            title = text(as_object(extra.get("info")).get("title"))
            yield SessionEntries(id_text(ident) or source.stem, joined, title, extra=extra)


def _joined(tables: Tables, row: dict[str, Any]) -> Entry | Problem:
    """A message with its parts."""
    at, info = f"message {row.get('id')}", json_or_none(str(row.get("data")))
    if not isinstance(info, dict):
        return Problem(at, "its data is no JSON object; skipped")
    parts = sorted(tables.rows("part", message_id=str(row.get("id"))), key=lambda part: str(part.get("id")))
    return at, {"id": row.get("id"), "info": info, "parts": [json_or_none(str(part.get("data"))) for part in parts]}


def _stored(source: Source) -> Sessions:
    """The sessions of a storage folder: messages by their files' names, parts under the messages that they name."""
    with tempfile.TemporaryDirectory(prefix="storage-") as folder, spilled() as messages, spilled() as parts:
        infos: dict[str, dict[str, Any]] = {}
        for member in of_zip(source, Path(folder)):
            if isinstance(member, Problem):
                yield member
            elif match := _STORED.search(member.name):
                value, *problems = member.value()
                if not isinstance(value, dict):
                    reason = "expected a JSON object; skipped"
                    yield value if isinstance(value, Problem) else Problem(member.name, reason)
                    continue
                yield from problems
                holder = member.name.split("/")[-2]
                if match[1] == "session":
                    infos[id_text(value.get("id")) or holder] = value
                elif match[1] == "message":
                    when = microseconds(as_object(value.get("time")).get("created"))
                    messages.put(id_text(value.get("sessionID")) or holder, when, member.name, value)
                else:
                    parts.put(id_text(value.get("messageID")) or holder, 0, member.name, value)
        of_message = {name: [value for _, value in listed] for name, listed in parts.sessions()}
        for name, listed in messages.sessions():
            joined = ((at, {"info": value, "parts": of_message.get(str(value.get("id")), [])}) for at, value in listed)
            extra = {"info": infos[name]} if name in infos else {}
            yield SessionEntries(name, joined, text(as_object(extra.get("info")).get("title")), extra=extra)
