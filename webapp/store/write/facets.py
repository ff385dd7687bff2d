"""Counts what the list filters by and statistics add up, over one session's turns as they are seen.

What is counted is a value of a name, so many times. The names that the list filters by are `verdict P`, `strategy P`
and `repair P` of each profile P that was run, and of `home`, the session's own, `json.loads` where it is unknown and
`not_run` where it was not; and
error, finding, model, host, agent, phase, tool, contract, stop (and home, service, format, version).
Those that are only added up are `model home V` and `model fencepost V`, responses by model with the verdict V; `held`,
calls by model␟host␟state; and `asked`, texts whose parser is unknown and matters, by their verdict under `fencepost`.
Models, agents, phases, tools and hosts are there or not; the others count responses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from webapp.dumps.records import Turn
from webapp.parsing.trace import Trace
from webapp.store.db.ids import short
from webapp.store.write.parser import ALL_THE_SAME, OURS, UNKNOWN, read_as_json
from webapp.store.write.tally import NOT_RUN

MOST_KINDS = 40
MOST_NAMES = 200
OTHER = "other"
"""how a session counts errors of further kinds than 40"""
_KIND_LENGTH = 80
LONGEST = 255
"""code points of a value; those that are cut to the same are one"""
HOME = "home"
"""in place of a profile's name: each session's home profile"""
_VARIABLE = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|0x[0-9a-fA-F]+|[-+]?\d[\d.,_]*")
_SPACE = re.compile(r"\s+")


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


def last_error(trace: Trace) -> str | None:
    """The kind of a failed trace's last error."""
    for attempt in reversed(trace.attempts) if trace.verdict == "failed" else ():
        if attempt.error is not None:
            return kind_of(f"{attempt.error.type}: {attempt.error.message}")
        if attempt.outcome == "failed" and attempt.reason:
            return kind_of(attempt.reason)
    return None


def error_lines(trace: Trace) -> str:
    """What an `error` note says of a failed trace: each message and reason of its attempts once, a line each."""
    messages = [
        attempt.reason if attempt.error is None else f"{attempt.error.type}: {attempt.error.message}"
        for attempt in trace.attempts
        if not attempt.ok
    ]
    return "\n".join(dict.fromkeys(text for text in messages if text))


@dataclass(slots=True)
class Facets:
    """How often a session with the home profile `home` has each value, by name and value, as of what was seen."""

    home: str
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    _values: Counter[str] = field(default_factory=Counter)
    """how many values each name has"""

    def add(self, name: str, value: str, count: int = 1) -> None:
        """Count a value, which is as short as it is stored."""
        self.counts[name, value] = self.counts.get((name, value), 0) + count

    def response(self, model: str | None, traces: Sequence[Trace]) -> None:
        """Count a response: the home profile's trace, if that was run, then `fencepost`'s where it is another."""
        for trace in traces:
            self.trace(trace)
        is_run, ours = traces[0].profile == self.home, traces[-1].verdict
        if is_run and (error := last_error(traces[0])) is not None:
            self._error(error)
        if model is not None and self._note("model", model):
            self.add(f"model {OURS} {ours}", model)
            if is_run or self.home == UNKNOWN:
                self.add(f"model {HOME} {traces[0].verdict if is_run else read_as_json(ours)}", model)

    def not_run(self, model: str | None) -> None:
        """Count a response of which is not known whether it failed, since the home profile was not run."""
        self.add(f"verdict {HOME}", NOT_RUN)
        if model is not None and self._note("model", model):
            self.add(f"model {HOME} {NOT_RUN}", model)

    def trace(self, trace: Trace) -> None:
        """Count what one profile made of a response."""
        profile, verdict, chosen = trace.profile, trace.verdict, [trace.attempts[index] for index in trace.chosen]
        repairs = {edit.repair for attempt in chosen for edit in attempt.edits} if verdict == "repaired" else ()
        for name in (profile, HOME) if profile == self.home else (profile,):
            self.add(f"verdict {name}", verdict)
            if chosen and chosen[0].strategy:
                self.add(f"strategy {name}", short(chosen[0].strategy, 64))
            for repair in repairs:
                self.add(f"repair {name}", repair)
        if profile == OURS and self.home == UNKNOWN:
            self.add(f"verdict {HOME}", read_as_json(verdict))

    def turn(self, turn: Turn) -> None:
        """Note who takes part in a turn, whose names are as they are stored."""
        if turn.phase is not None:
            self._note("phase", turn.phase)
        if turn.host is not None:
            self._note("host", turn.host)
        if turn.kind not in ("tool_call", "tool_result") and turn.agent is not None:
            self._note("agent", turn.agent)
        if turn.tool_calls or turn.kind == "tool_call":
            for name in tools_of(turn):
                self._note("tool", short(name, LONGEST))

    def contract(self, stop: str, *states: str) -> None:
        """Count a response under why its model stopped, and the states that it has."""
        self.add("stop", stop)
        for state in states:
            self.add("contract", state)

    def call(self, turn: Turn, state: str) -> None:
        """Count a call by its model, who served that, and its state."""
        value = short("\x1f".join((turn.model or "", turn.host or "", state)), LONGEST)
        if self._has_room("held", value, MOST_NAMES):
            self.add("held", value)

    def text(self, verdict: str) -> None:
        """Count a text whose parser is unknown, where it matters: neither plain JSON nor prose."""
        if verdict not in ALL_THE_SAME:
            self.add("asked", verdict)

    def failure(self, text: str) -> None:
        """Count a failure that the dump records."""
        self._error(kind_of(text))

    def _error(self, kind: str) -> None:
        self.add("error", kind if self._has_room("error", kind, MOST_KINDS) else OTHER)

    def _note(self, name: str, value: str) -> bool:
        """Note that the session has a value; False where it has too many others."""
        if is_there := self._has_room(name, value, MOST_NAMES):
            self.counts.setdefault((name, value), 1)
        return is_there

    def _has_room(self, name: str, value: str, most: int) -> bool:
        """Whether the session has a value, or may have one more of its name."""
        if (name, value) in self.counts:
            return True
        self._values[name] += 1
        return self._values[name] <= most


def tools_of(turn: Turn) -> list[str]:
    """The names of the tools that a turn, or a row of its columns, calls, in whatever shape its format has them."""
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


_VERSIONS = ("service.version", "app_version", "version", "release")
Counts = dict[tuple[str, str], int]
"""by name and value"""


def of_session(home: str, source_format: str, service: str | None, extra: Mapping[str, Any] | None) -> Counts:
    """What a session has before its first turn."""
    values_ = {"home": home, "format": source_format, "service": service, "version": _version(extra or {})}
    return {(name, short(value, LONGEST)): 1 for name, value in values_.items() if value is not None}


def _version(extra: Mapping[str, Any]) -> str | None:
    """The program's version, where its log says one: as OpenTelemetry's attribute, or among the metadata."""
    metadata = extra.get("metadata")
    places = [extra.get("service.version"), *(metadata.get(name) for name in _VERSIONS if isinstance(metadata, dict))]
    return next((place for place in places if isinstance(place, str) and place), None)
