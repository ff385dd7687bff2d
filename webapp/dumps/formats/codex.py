"""Codex rollouts: JSONL of {timestamp, type, payload}; what its log writes twice is merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from webapp.dumps import grouping
from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, Seen, id_text, text
from webapp.dumps.formats._chat import Path, Piece, block
from webapp.dumps.formats._turns import Found, Talk, message_turns, numbered, spent, turns_of
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.times import moment
from webapp.dumps.twins import Side, merged

_TYPES = ("session_meta", "turn_context", "event_msg", "response_item", "compacted")
_ITEMS = ("message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call")
_SPOKEN = {"user_message": "user", "agent_message": "assistant", "agent_reasoning": "thinking"}
_SIDES = ("user", "assistant", "thinking")


class Codex:
    name = "codex"
    shapes = 'Codex rollouts {"timestamp", "type", "payload"} one a line'

    def sniff(self, head: Head) -> int:
        found = [head.members] if head.shape == "object" else head.samples if head.shape == "lines" else []
        lines = [sample for sample in found if isinstance(sample, dict)]
        if any(line.get("type") in _TYPES and isinstance(line.get("payload"), dict) for line in lines):
            return 95
        first = lines[0] if lines else {}
        old = {"id", "timestamp", "instructions"} <= first.keys() and "role" not in first
        return 90 if old and all(line.get("type") in _ITEMS or "record_type" in line for line in lines[1:]) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        for name, entries in grouping.by_session(source, _sessions()):
            yield SessionStart(name, self.name)
            yield from self.turns(entries, {})

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(merged(_turns(entries)))


plugin = Codex()


def _sessions() -> grouping.SessionOf:
    """What names a session: its first line. A fork's holds its parent's again, which begins none of its own."""
    parents: set[str] = set()

    def session(line: dict[str, Any]) -> str | None:
        payload = line.get("payload")
        if (name := _session(line)) is None or name in parents:
            return None
        if isinstance(payload, dict) and (parent := id_text(payload.get("forked_from_id"))):
            parents.add(parent)
        return name

    return session


def _session(line: dict[str, Any]) -> str | None:
    payload = line.get("payload")
    if line.get("type") == "session_meta" and isinstance(payload, dict):
        return id_text(payload.get("id"))
    return id_text(line.get("id")) if "instructions" in line and "type" not in line else None


def _turns(entries: Iterable[Entry | Problem]) -> Iterator[tuple[Turn | Problem, Side | None]]:
    talk, seen, count = Talk(), _Ids(), 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry, None
            continue
        at, line = entry
        for problem in seen.again(at, line):
            yield problem, None
        found, logged = _line(line, talk)
        for turn in numbered(count, line, found):
            yield turn, _side(turn, logged)
        count += 1


class _Ids:
    """The ids of items and of calls so far; a call and its output share one, so each kind of item has its own."""

    def __init__(self) -> None:
        self._items = Seen("item id")
        self._calls: dict[str, Seen] = {}

    def again(self, at: str, line: dict[str, Any]) -> Iterator[Problem]:
        payload = line.get("payload")
        item = payload if isinstance(payload, dict) else line
        kind = item.get("type")
        if not (line.get("type") == "response_item" or (payload is None and kind in _ITEMS)) or not isinstance(
            kind, str
        ):
            return
        yield from self._items.again(at, item.get("id"))
        yield from self._calls.setdefault(kind, Seen(f"call id of a {kind[:50]}")).again(at, item.get("call_id"))


def _side(turn: Turn, logged: int | None) -> Side | None:
    """User, assistant and thinking texts come as an event and as an item."""
    return (f"{turn.role}", logged) if logged is not None and turn.raw and turn.role in _SIDES else None


def _line(line: dict[str, Any], talk: Talk) -> tuple[list[Found], int | None]:
    """The turns of a line, and whether it is an event (1) or an item (0) of those that come twice."""
    payload = line.get("payload")
    body, at = (payload, ("payload",)) if isinstance(payload, dict) else (line, ())
    about: dict[str, Any] = {"sent_at": moment(line.get("timestamp"))}
    kind = line.get("type")
    if kind == "event_msg":
        return _event(body, at, about, talk), 1
    if kind == "turn_context":
        talk.model = text(body.get("model")) or talk.model
    if kind == "response_item" or (payload is None and kind in _ITEMS):
        return _item(body, at, about, talk), 0
    return [(Turn(0, "event", role=text(kind), **about), None)], None


def _item(item: dict[str, Any], at: Path, about: dict[str, Any], talk: Talk) -> list[Found]:
    if item.get("type") == "message":
        return message_turns(item, talk, at, **about)
    if item.get("type") == "local_shell_call":
        item = {"arguments": item.get("action"), **item, "name": "local_shell", "type": "function_call"}
    found = list(block(item, at))
    if not found:
        return [(Turn(0, "event", role=text(item.get("type")), **about), None)]
    return turns_of(found, "assistant", talk, **about)


def _event(body: dict[str, Any], at: Path, about: dict[str, Any], talk: Talk) -> list[Found]:
    kind = text(body.get("type"))
    said = next((key for key in ("message", "text") if isinstance(body.get(key), str)), None)
    if kind not in _SPOKEN or said is None:
        info = body.get("info")
        usage = info.get("last_token_usage") if isinstance(info, dict) else None
        return [(replace(Turn(0, "event", role=kind, **about), **spent(usage)), None)]
    piece = Piece("thinking" if kind == "agent_reasoning" else "text", body[said], (*at, said))
    return turns_of([piece], _SPOKEN[kind], talk, **about)
