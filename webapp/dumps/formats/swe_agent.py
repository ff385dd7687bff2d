"""SWE-agent trajectories (.traj): history and trajectory, which both hold the responses; demonstrations left out."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, objects, text
from webapp.dumps.documents import members
from webapp.dumps.formats._chat import Piece
from webapp.dumps.formats._turns import Found, Talk, message_turns, numbered, turns_of
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import walk

_DEMONSTRATIONS = "demonstrations"
_LISTS = frozenset(("history", "trajectory"))


class SweAgent:
    name = "swe_agent"
    shapes = 'SWE-agent trajectories {"trajectory": […], "history": […], "info"}'

    def sniff(self, head: Head) -> int:
        steps, history = _first(head, "trajectory"), _first(head, "history")
        if steps and ("observation" in steps or "action" in steps):
            return 95
        if "trajectory" in head.items and not steps and head.mentions("observation", "response"):
            return 95
        if head.shape == "array":
            first = next((sample for sample in head.samples if isinstance(sample, dict)), {})
            return 80 if "agent" in first and "role" in first and "content" in first else 0
        alone = "role" in history and "trajectory" not in head.keys
        return 85 if alone and ("agent" in history or "info" in head.keys or "is_demo" in history) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        extra = {key: value for key, value in _outside(source, head).items() if key not in _LISTS}
        demos = [entry[1] for entry in _listed(source, head, "history", demos=True) if not isinstance(entry, Problem)]
        if demos:
            extra[_DEMONSTRATIONS] = demos
        yield SessionStart(source.stem, self.name, extra=extra)
        yield from self.turns(_entries(source, head), extra)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(_turns(entries))


plugin = SweAgent()


def _first(head: Head, key: str) -> dict[str, Any]:
    return next((item for item in head.items.get(key, []) if isinstance(item, dict)), {})


def _outside(source: Source, head: Head) -> dict[str, Any]:
    """What stands beside the lists, `info` above all, without holding the trajectory."""
    if head.shape == "array":
        return {}
    if head.whole or "trajectory" not in head.keys:
        return members(source, head, "history", wanted="info")
    found = (part for part in walk(source.text(), _LISTS) if not isinstance(part, Problem))
    return {part.key: part.value for part in found if hasattr(part, "value") and not hasattr(part, "index")}


def _entries(source: Source, head: Head) -> Iterator[Entry | Problem]:
    """The history's messages, then the trajectory's steps."""
    yield from _listed(source, head, "history", demos=False)
    if head.shape != "array":
        for part in walk(source.text(), _LISTS):
            if not isinstance(part, Problem):  # the first walk told them
                yield from objects(iter([part]), "trajectory")


def _listed(source: Source, head: Head, key: str, *, demos: bool) -> Iterator[Entry | Problem]:
    key = "" if head.shape == "array" else key
    for entry in objects(walk(source.text(), _LISTS), key):
        if isinstance(entry, Problem) or (entry[1].get("is_demo") is True) == demos:
            yield entry


@dataclass(slots=True)
class _State:
    talk: Talk = field(default_factory=Talk)
    answers: deque[tuple[int, str]] = field(default_factory=deque)
    """the history's responses, with their entries, that no step has repeated yet"""


def _turns(entries: Iterable[Entry | Problem]) -> Iterator[Turn | Problem]:
    state, count = _State(), 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        value = entry[1]
        yield from numbered(count, value, _step(value, state) if "role" not in value else _said(value, count, state))
        count += 1


def _said(value: dict[str, Any], count: int, state: _State) -> list[Found]:
    agent = text(value.get("agent"))
    calls = value.get("tool_call_ids")
    if isinstance(calls, list) and len(calls) == 1 and "tool_call_id" not in value:
        found = message_turns({**value, "tool_call_id": calls[0]}, state.talk)
    else:
        found = message_turns(value, state.talk)
    for turn, _ in found:
        if turn.kind == "response" and turn.raw is not None:
            state.answers.append((count, turn.raw.strip()))
    return [(replace(turn, agent=turn.agent or agent), path) for turn, path in found]


def _step(value: dict[str, Any], state: _State) -> list[Found]:
    """A step's raw response, which repeats the history's unless that was cut, and what the environment answered."""
    raw = value.get("response")
    first = _repeats(raw, state) if isinstance(raw, str) else None
    said = [Piece("text", raw, ("response",))] if isinstance(raw, str) else []
    found = turns_of(said, "assistant", state.talk) if said else [(Turn(0, "event"), None)]
    found = [(replace(turn, duplicate_of=first), path) for turn, path in found]
    observed = text(value.get("observation"))
    if observed is not None and first is None:
        found.append((Turn(0, "tool_result", raw=observed, role="tool"), None))
    return found


def _repeats(raw: str, state: _State) -> int | None:
    """The entry of the history that holds this response; those passed over were never steps (or retried ones)."""
    said = raw.strip()
    for index, (entry, answer) in enumerate(state.answers):
        if answer == said:
            for _ in range(index + 1):
                state.answers.popleft()
            return entry
        if index > 20:
            break
    return None
