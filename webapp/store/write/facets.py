"""Counts what the list filters by and statistics add up, over one session's turns as they are written.

`session.facets` keeps it as JSON, so that no list, facet or chart ever reads turns:

    {"profiles": {"windlass-strict": {"verdicts": [clean, extracted, repaired, failed, none], "repairs": {name: n},
                  "won": {strategy or "": n}}},
     "models": {model: [5 verdicts under a known home profile, 5 under fencepost]},
     "errors": {kind: n}, "agents": [names], "phases": [names], "tools": [names], "hosts": [names],
     "finding": {rule: n}, "contracts": {state of a response, or "broken": n}, "held": {model␟host␟state of a call: n},
     "stop": {why the model stopped, or "not_in_this_log": n},
     "asked": {verdict under fencepost of a text whose parser is unknown and matters: n}}

Each number counts responses; empty parts are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from webapp.dumps.records import Turn
from webapp.parsing import Trace
from webapp.store.db.ids import short
from webapp.store.write.parser import ALL_THE_SAME
from webapp.store.write.tally import VERDICTS

if TYPE_CHECKING:
    from webapp.store.models import Turn as StoredTurn

MOST_KINDS = 40
MOST_NAMES = 200
OTHER = "other"
"""how a session counts errors of further kinds than 40"""
_KIND_LENGTH = 80
_INDEX = {verdict: index for index, verdict in enumerate(VERDICTS)}
_VARIABLE = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|0x[0-9a-fA-F]+|[-+]?\d[\d.,_]*")
_SPACE = re.compile(r"\s+")


class Digest(NamedTuple):
    """What is counted of one trace."""

    profile: str
    verdict: int
    strategy: str
    repairs: tuple[str, ...]
    error: str | None


def digest(trace: Trace) -> Digest:
    """`verdict` is an index of `VERDICTS`, `strategy` what won or "", `error` the kind of a failed trace's last."""
    chosen = trace.chosen
    repairs: tuple[str, ...] = ()
    if trace.verdict == "repaired":
        repairs = tuple({edit.repair for index in chosen for edit in trace.attempts[index].edits})
    return Digest(
        trace.profile,
        _INDEX[trace.verdict],
        short(trace.attempts[chosen[0]].strategy, 64) if chosen else "",
        repairs,
        _last_error(trace) if trace.verdict == "failed" else None,
    )


def kind_of(message: str) -> str:
    """The kind of an error: its first 80 code points on one line, what is quoted and numbers taken out of it."""
    return _kind(message[:400])


@lru_cache(maxsize=4096)
def _kind(message: str) -> str:
    plain = _SPACE.sub(" ", _VARIABLE.sub(_placeholder, message)).strip()
    return short(plain, _KIND_LENGTH) or OTHER


def _placeholder(match: re.Match[str]) -> str:
    first = match.group()[0]
    return f"{first}…{first}" if first in "'\"`" else "N"


def _last_error(trace: Trace) -> str | None:
    for attempt in reversed(trace.attempts):
        if attempt.error is not None:
            return kind_of(f"{attempt.error.type}: {attempt.error.message}")
        if attempt.outcome == "failed" and attempt.reason:
            return kind_of(attempt.reason)
    return None


@dataclass(slots=True)
class OfProfile:
    """One profile's counters, as the module says."""

    verdicts: list[int] = field(default_factory=lambda: [0] * len(VERDICTS))
    won: dict[str, int] = field(default_factory=dict)
    repairs: dict[str, int] = field(default_factory=dict)

    def count(self, parse_digest: Digest) -> None:
        """Count one parse."""
        self.verdicts[parse_digest.verdict] += 1
        self.won[parse_digest.strategy] = self.won.get(parse_digest.strategy, 0) + 1
        for repair in parse_digest.repairs:
            self.repairs[repair] = self.repairs.get(repair, 0) + 1


@dataclass(slots=True)
class Facets:
    """A session's counters while it is written; `as_dict` is what `session.facets` keeps."""

    profiles: dict[str, OfProfile] = field(default_factory=dict)
    models: dict[str, list[int]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    agents: dict[str, None] = field(default_factory=dict)
    phases: dict[str, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    finding: dict[str, int] = field(default_factory=dict)
    contracts: dict[str, int] = field(default_factory=dict)
    stop: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    def response(self, model: str | None, digests: Sequence[Digest], *, known: bool = True) -> None:
        """Count a response: the home profile's digest, if that is `known`, then `fencepost`'s where it is another."""
        for parse_digest in digests:
            self.count(parse_digest)
        if known and digests[0].error is not None:
            self._error(digests[0].error)
        if model is not None and (model in self.models or len(self.models) < MOST_NAMES):
            counts = self.models.setdefault(model, [0] * 10)
            counts[digests[0].verdict] += known
            counts[5 + digests[-1].verdict] += 1

    def count(self, parse_digest: Digest) -> None:
        """Count what one profile made of a response."""
        of_profile = self.profiles.get(parse_digest.profile)
        if of_profile is None:
            of_profile = self.profiles[parse_digest.profile] = OfProfile()
        of_profile.count(parse_digest)

    def turn(self, turn: Turn) -> None:
        """Note who takes part in a turn, whose names are as they are stored."""
        if turn.phase is not None:
            _note(self.phases, turn.phase)
        if turn.host is not None:
            _note(self.hosts, turn.host)
        if turn.kind not in ("tool_call", "tool_result") and turn.agent is not None:
            _note(self.agents, turn.agent)
        if turn.tool_calls or turn.kind == "tool_call":
            for name in tools_of(turn):
                _note(self.tools, short(name, 255))

    def contract(self, stop: str, *states: str) -> None:
        """Count a response under why its model stopped, and the states that it has."""
        self.stop[stop] = self.stop.get(stop, 0) + 1
        for state in states:
            self.contracts[state] = self.contracts.get(state, 0) + 1

    def call(self, turn: Turn, state: str) -> None:
        """Count a call by its model, who served that, and its state."""
        key = "\x1f".join((turn.model or "", turn.host or "", state))
        if key in self.held or len(self.held) < MOST_NAMES:
            self.held[key] = self.held.get(key, 0) + 1

    def text(self, verdict: str) -> None:
        """Count a text whose parser is unknown, where it matters: neither plain JSON nor prose."""
        if verdict not in ALL_THE_SAME:
            self.asked[verdict] = self.asked.get(verdict, 0) + 1

    def failure(self, text: str) -> None:
        """Count a failure that the dump records."""
        self._error(kind_of(text))

    def _error(self, kind: str) -> None:
        if kind not in self.errors and len(self.errors) >= MOST_KINDS:
            kind = OTHER
        self.errors[kind] = self.errors.get(kind, 0) + 1

    def as_dict(self) -> dict[str, Any]:
        """What `session.facets` keeps."""
        profiles = {
            name: {
                "verdicts": counters.verdicts,
                "won": counters.won,
                **({"repairs": counters.repairs} if counters.repairs else {}),
            }
            for name, counters in self.profiles.items()
        }
        parts: dict[str, Any] = {"profiles": profiles, "models": self.models, "errors": self.errors}
        parts |= {"agents": list(self.agents), "phases": list(self.phases), "tools": list(self.tools)}
        parts["hosts"] = list(self.hosts)
        parts |= {"finding": self.finding, "contracts": self.contracts, "stop": self.stop}
        parts |= {"held": self.held, "asked": self.asked}
        return {name: part for name, part in parts.items() if part}


def _note(names: dict[str, None], name: str) -> None:
    if len(names) < MOST_NAMES:
        names.setdefault(name)


def tools_of(turn: Turn | StoredTurn) -> list[str]:
    """The names of the tools that a turn calls, in whatever shape its format has them."""
    names = [_tool(call) for call in turn.tool_calls or ()]
    if turn.kind == "tool_call":
        names.append(turn.agent)
    return [name for name in names if isinstance(name, str) and name]


def _tool(call: Any) -> Any:
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    if isinstance(function, str):
        return function
    holder = function if isinstance(function, dict) else call
    return holder.get("name") or holder.get("tool")
