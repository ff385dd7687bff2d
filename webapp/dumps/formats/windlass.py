"""Windlass logs: a session dump, its parquet fallback, the later version, or plain JSONL of entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from webapp.dumps.base import Context, DumpHead, Entries, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring, filling
from webapp.dumps.decoding import json_or_none, opened_literal
from webapp.dumps.documents import id_problem, with_list
from webapp.dumps.json_path import at, holds
from webapp.dumps.linked_turns import LAST_RESPONSE
from webapp.dumps.messages.pieces import as_json
from webapp.dumps.messages.turns import filled
from webapp.dumps.records import Kind, Problem, Turn, changed
from webapp.dumps.values import as_object, id_text, text, whole

_FIRST_FIELDS = {"timestamp", "session_id", "role", "content", "metadata"}
_FIELDS = ("node_type", "cascade_id", "cascade_file", "phase_name", "cell_name", "sounding_index", "take_index")


@dataclass(slots=True)
class _Log(Declaring):
    is_parquet: bool = False
    """whether the entries are those of the parquet fallback"""


class Windlass(Declared):
    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object":
            return _sniff_object(head)
        if head.shape not in ("lines", "array", "parquet"):
            return 0
        is_whole = head.objects and (all(map(_is_early, head.objects)) or all(map(_is_session, head.objects)))
        return 80 if is_whole or any(not value.keys().isdisjoint(_FIELDS) for value in head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" and ("node_type" not in head.members or "entries" in head.keys):
            return iter((_document(source, head),))
        return super().sessions(source, head)

    def conversation(self, context: Context) -> _Log:
        return _Log(is_parquet=context.get("source") == "parquet")

    def read_entry(self, entry: dict[str, Any], conversation: _Log) -> list[Turn]:  # type: ignore[override]
        metadata = as_object(opened_literal(_first(entry, "metadata", "metadata_json")))
        kind: Kind = next((kind for kind, tests in self.spec["kind"] if holds(entry, tests)), "event")
        turn = _turn(entry, metadata, kind, conversation.is_parquet)
        turn = filled(turn, **filling(self.spec["fill"], {**entry, "metadata": metadata}))
        return [turn, *_calls(turn)]


plugin = Windlass("windlass")


def _is_early(value: dict[str, Any]) -> bool:
    """An entry of the first logs, which had five fields and no `node_type`."""
    return value.keys() >= _FIRST_FIELDS and isinstance(value["timestamp"], int | float)


def _is_session(value: dict[str, Any]) -> bool:
    """A whole session, as it stands alone in a file of its own."""
    entries = value.get("entries")
    return isinstance(entries, list) and any(isinstance(entry, dict) and "node_type" in entry for entry in entries)


def _sniff_object(head: DumpHead) -> int:
    if "entries" in head.items:
        entries = head.items["entries"]
        fitting = [entry for entry in entries if isinstance(entry, dict) and any(key in entry for key in _FIELDS)]
        session_keys = head.keys & {"session_id", "dumped_at"}
        too_long = not entries and not head.whole and head.mentions(*_FIELDS)
        if fitting or too_long or (session_keys and not entries):
            return 90
        return 60 if session_keys else 0
    if "entries" in head.members or {"session_id", "dumped_at"} <= head.keys:
        return 50
    return 80 if "node_type" in head.members else 0


def _document(source: Source, head: DumpHead) -> SessionEntries:
    """The document as a session, by its own id, else the first entry's, else as the file is called."""
    beside, entries = with_list(source, head, "entries")
    early = [entry for entry in head.items.get("entries", []) if isinstance(entry, dict)]
    counted = _counted(entries, beside.get("entry_count"))
    ident = beside.pop("session_id", None)
    name = id_text(ident)
    name = (
        next(filter(None, (id_text(entry.get("session_id")) for entry in early)), source.stem) if name is None else name
    )
    title = next(filter(None, (text(entry.get("cascade_id")) for entry in early)), None)
    return SessionEntries(name, chain(id_problem("session_id", ident, name), counted), title, extra=beside)


def _counted(entries: Entries, count_said: Any) -> Entries:
    """Pass the entries on; say where they are other than the dump itself says."""
    count, sound = 0, True
    for entry in entries:
        sound = sound and not isinstance(entry, Problem)
        count += 1
        yield entry
    if sound and isinstance(count_said, int) and count_said != count:
        yield Problem("entry_count", f"the log says {count_said} entries and holds {count}")


def _turn(entry: dict[str, Any], metadata: dict[str, Any], kind: Kind, is_parquet: bool) -> Turn:
    calls = opened_literal(_first(entry, "tool_calls", "tool_calls_json"))
    return Turn(
        entry=0,
        kind=kind,
        raw=_raw(entry, kind, is_parquet),
        role=text(entry.get("role")) or None,
        agent=text(metadata.get("tool")) if kind == "tool_result" else None,
        tool_calls=calls if isinstance(calls, list) and calls else None,
        answers=LAST_RESPONSE if kind == "error" and entry.get("node_type") != "error" else None,
        most_rounds=whole(metadata.get("max_turns")) if kind == "event" else None,
    )


def _calls(turn: Turn) -> Iterator[Turn]:
    """The arguments of a response's calls, of those that its provider's API gave as a text of JSON."""
    for call in turn.tool_calls or () if turn.kind == "response" else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and isinstance(arguments := function.get("arguments"), str):
            about: dict[str, Any] = {"agent": text(function.get("name")), "tool_calls": [call]}
            spent: dict[str, Any] = {"tokens_in": None, "tokens_out": None, "cost": None}
            yield changed(turn, kind="tool_call", raw=arguments, answers=None, **about, **spent)


def _first(entry: dict[str, Any], *names: str) -> Any:
    """The first of these fields that is neither missing, null nor NaN."""
    for name in names:
        value = entry.get(name)
        if value is not None and value == value:
            return value
    return None


def _raw(entry: dict[str, Any], kind: Kind, is_parquet: bool) -> str | None:
    """The text of an entry."""
    fields = (entry.get("metadata"), entry.get("tool_calls"))
    are_json = is_parquet or any(isinstance(field, str) for field in fields)  # the fallback's, each as JSON text
    for name in ("content", "content_json"):
        value = _first(entry, name)
        if value is None:
            continue
        if not isinstance(value, str):
            return as_json(value)
        is_wrapped = name == "content_json" or (value[:1] == '"' and are_json)
        inner = json_or_none(value) if is_wrapped else None
        if isinstance(inner, str):
            return inner
        if name == "content" or inner is not None:
            return value
    whole = opened_literal(_first(entry, "full_response_json")) if kind == "response" else None
    answer = at(whole, "choices[0].message.content")[0]
    return answer if isinstance(answer, str) else None
