"""Claude Code transcripts: JSONL of lines that share a message's id; sidechains are branches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from webapp.dumps import grouping
from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, Seen, id_text, text
from webapp.dumps.formats._chat import Piece
from webapp.dumps.formats._turns import Found, Talk, message_turns, numbered, spent, turns_of
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.times import moment

_OWN = ({"sessionId", "uuid"}, {"parentUuid"}, {"isSidechain"}, {"summary", "leafUuid"}, {"messageId", "snapshot"})
_REMEMBERED = 100_000
"""How many messages and blocks are remembered; what is logged again is logged again soon."""


class ClaudeCode:
    name = "claude_code"
    shapes = 'Claude Code transcripts {"type", "uuid", "sessionId", "message"} one a line'

    def sniff(self, head: Head) -> int:
        if head.shape not in ("lines", "object"):
            return 0
        found = [head.members] if head.shape == "object" else head.samples
        return 95 if any(isinstance(sample, dict) and _is_line(sample) for sample in found) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        for name, entries in grouping.by_session(source, lambda line: _session(line, source.stem)):
            yield SessionStart(name, self.name)
            yield from self.turns(entries, {})

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(_turns(entries))


plugin = ClaudeCode()


def _session(line: dict[str, Any], stem: str) -> str | None:
    """The session of a line; a subagent's file, `agent-<id>.jsonl`, names its parent's and is one of its own."""
    name, agent = id_text(line.get("sessionId")), text(line.get("agentId"))
    return f"{name}/{agent}" if name and agent and stem.rpartition("/")[2] == f"agent-{agent}" else name


def _is_line(value: dict[str, Any]) -> bool:
    if not isinstance(value.get("type"), str):
        return False
    return any(keys <= value.keys() for keys in _OWN)


@dataclass(slots=True)
class _State:
    """What later lines need of earlier ones."""

    talk: Talk = field(default_factory=Talk)
    counted: dict[str, dict[str, Any]] = field(default_factory=dict)
    """how much of each message's usage was counted"""
    said: dict[int, int] = field(default_factory=dict)
    """the entry in which a block of a message came first, by a hash; a message that grows is written again"""
    chains: dict[str, int] = field(default_factory=dict)
    """the sidechain that a line, or an agent, belongs to"""
    chain_count: int = 0


def _turns(entries: Iterable[Entry | Problem]) -> Iterator[Turn | Problem]:
    state, seen, count = _State(), Seen("uuid"), 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        at, value = entry
        yield from seen.again(at, value.get("uuid"))
        found = _line(value, state)
        again = _again(value, found, state, count)
        yield from numbered(count, value, found if again is None else [_repeated(pair, again) for pair in found])
        count += 1


def _line(value: dict[str, Any], state: _State) -> list[Found]:
    message = value.get("message")
    about = {
        "sent_at": moment(value.get("timestamp")),
        "parent": text(value.get("parentUuid")),
        "sounding": _chain(value, state),
    }
    if not isinstance(message, dict):
        return _note(value, about, state)
    role = text(message.get("role")) or text(value.get("type"))
    once = _spent(message, value, state)
    model = text(message.get("model"))
    return message_turns({**message, "role": role}, state.talk, ("message",), once=once, model=model, **about)


def _note(value: dict[str, Any], about: dict[str, Any], state: _State) -> list[Found]:
    """A line that is no message: a summary, a system note, a snapshot of files."""
    kind = text(value.get("type"))
    key = next((key for key in ("summary", "content", "message") if isinstance(value.get(key), str)), None)
    said = [] if key is None else [Piece("text", value[key], (key,))]
    found = turns_of(said, None, state.talk, **about)
    return [(_renamed(turn, kind), path) for turn, path in found]


def _renamed(turn: Turn, role: str | None) -> Turn:
    return replace(turn, role=role)


def _spent(message: dict[str, Any], value: dict[str, Any], state: _State) -> dict[str, Any]:
    """The usage of a message, the first time that it comes; then by how much it grew, as a message that streams says.

    What came from a cache is not in it: it stays in the entry.
    """
    name = text(message.get("id")) or text(value.get("requestId")) or text(value.get("uuid"))
    if name is None or not isinstance(message.get("usage"), dict):
        return {}
    if len(state.counted) > _REMEMBERED:
        state.counted.clear()
    now = spent(message["usage"], value.get("costUSD"))
    before = state.counted.get(name, {})
    state.counted[name] = {**before, **{key: max(before.get(key, 0), now[key]) for key in now}}
    return {key: now[key] - before.get(key, 0) for key in now if key not in before or now[key] > before[key]}


def _chain(value: dict[str, Any], state: _State) -> int | None:
    """The number of the sidechain that a line belongs to, from 1; None on the main chain."""
    if value.get("isSidechain") is not True:
        return None
    names = [name for key in ("agentId", "parentUuid") if (name := text(value.get(key)))]
    known = next((state.chains[name] for name in names if name in state.chains), None)
    if known is None:
        state.chain_count += 1
        known = state.chain_count
    for key in ("uuid", "agentId"):
        if name := text(value.get(key)):
            state.chains[name] = known
    return known


def _again(value: dict[str, Any], found: list[Found], state: _State, count: int) -> int | None:
    """The entry that said all of this already: a message that is still being written is logged again."""
    message = value.get("message")
    name = text(message.get("id")) if isinstance(message, dict) else None
    keys = [hash((name, turn.kind, turn.raw)) for turn, _ in found if name and turn.raw]
    if len(state.said) > _REMEMBERED:
        state.said.clear()
    firsts = {state.said.get(key) for key in keys}
    for key in keys:
        state.said.setdefault(key, count)
    return firsts.pop() if len(firsts) == 1 and keys else None


def _repeated(pair: Found, first: int) -> Found:
    return replace(pair[0], duplicate_of=first), pair[1]
