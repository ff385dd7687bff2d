"""The narrow rows that failure groups are asked of: one for each failed response under each profile, and under home."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from webapp.contracts.contract import Contract
from webapp.parsing import engine, failure_group
from webapp.parsing.failure_group import VERSION
from webapp.parsing.trace import Trace, read_stored
from webapp.store.db.ids import TURNS_A_SESSION, microseconds, short
from webapp.store.write.facets import kind_of, tools_of
from webapp.store.write.parser import ALL_THE_SAME, OURS, READ_AS, UNKNOWN
from webapp.store.write.tally import MODEL_KINDS, PlacedTurn

HOME = "home"
"""in place of a profile's name: each session's home profile, `json.loads` where that is unknown, or what its dump
records of a response"""
_INDEX = re.compile(r"\[\d+\]")
_LOOKED_BACK = 20
"""turns before a response among which one with a time is looked for"""
_PARSED, _BROKEN, _ASSUMED, _RECORDED = range(4)
"""why a response failed at home; of several reasons the first counts"""
Row = dict[str, Any]


def recorded_key(text: str) -> str:
    """The group of a response that its parser read and its dump says failed: by the kind of that failure."""
    return short(f"{VERSION}|recorded in the dump: {kind_of(text).replace('|', ' ')}", 255)


def contract_key(contract: Mapping[str, Any]) -> str:
    """The group of a response that breaks its contract: by tool, keyword and path of its first mismatch, no value."""
    first = next(iter(contract["mismatches"]), {"keyword": "", "path": "$"})
    tool, path = contract["tool"] or "the answer", _INDEX.sub("[]", first["path"])
    words = {"invalid_json": "arguments are no JSON" if contract["tool"] else "no JSON", "unknown_name": "unknown tool"}
    message = words.get(contract["state"]) or f"{first['keyword']} at {path}"
    return short(f"{VERSION}|broken contract: {tool.replace('|', ' ')}: {message.replace('|', ' ')}", 255)


@dataclass(slots=True)
class FailedResponses:
    """Those of a session with the home profile `home`, as of the turns that were seen."""

    session_id: int
    home: str
    _under: list[Row] = field(default_factory=list)
    _at_home: dict[int, tuple[int, Row]] = field(default_factory=dict)
    """by ordinal the reason that counts"""
    _sent: array[int] = field(default_factory=lambda: array("q"))
    """by position when it was sent, in microseconds; -1 where nothing says it"""

    def see(self, placed: PlacedTurn) -> None:
        """Take the next turn in, with all of its traces."""
        turn, missing = placed.turn, placed.position + 1 - len(self._sent)
        self._sent.extend([-1] * missing)
        if turn.sent_at is not None and self._sent[placed.position] < 0:
            self._sent[placed.position] = microseconds(turn.sent_at)
        if placed.original is None and turn.raw is not None and turn.kind in MODEL_KINDS:
            self._read(placed, turn.raw)
            if turn.failure is not None:
                self._fail(_RECORDED, placed, recorded_key(turn.failure))

    def hold(self, placed: PlacedTurn, contract: Contract) -> None:
        """Note a broken contract."""
        about = contract.as_dict()
        path = next((mismatch["path"] for mismatch in about["mismatches"]), "$")
        self._fail(_BROKEN, placed, contract_key(about), path=short(path, 160))

    def rows(self, happened_at: datetime) -> Iterator[Row]:
        """What `FailedResponse` keeps, once all turns were seen; the session happened then."""
        for row in (*self._under, *(row for _, row in self._at_home.values())):
            yield row | {"at": microseconds(happened_at) if row["at"] is None else row["at"]}

    def _read(self, placed: PlacedTurn, raw: str) -> None:
        traces = (*placed.traces, *placed.other_traces)
        if (ours := next((trace for trace in traces if trace.profile == OURS), None)) is None:
            return
        for trace in traces:
            if (about := _group(raw, trace, ours)) is not None:
                self._under.append(about | self._about(placed) | {"under": trace.profile})
                if trace.profile == self.home != UNKNOWN:
                    self._at_home[placed.ordinal] = (_PARSED, self._under[-1] | {"under": HOME})
        if self.home == UNKNOWN and ours.verdict not in ALL_THE_SAME:
            failed = engine.parse(raw, READ_AS)
            of_none = {"profile": READ_AS, "version": failed.version}
            self._fail(_ASSUMED, placed, f"{VERSION}|json.loads fails", **of_none | (_group(raw, failed, ours) or {}))

    def _fail(self, reason: int, placed: PlacedTurn, key: str, **about: Any) -> None:
        if reason < self._at_home.get(placed.ordinal, (len((_PARSED, _BROKEN, _ASSUMED, _RECORDED)),))[0]:
            row = {"group_key": key, "path": None, "tokens": None, "profile": "", "version": "", **about, "under": HOME}
            self._at_home[placed.ordinal] = (reason, self._about(placed) | row)

    def _about(self, placed: PlacedTurn) -> Row:
        """What a response has under any profile; `at` is when it was sent, None where nothing says it."""
        turn, position = placed.turn, placed.position
        tools = list(dict.fromkeys(tools_of(turn)))
        before = reversed(self._sent[max(0, position - _LOOKED_BACK) : position])
        since = -1 if turn.sent_at is None else next((sent for sent in before if sent >= 0), -1)
        return {
            "turn_id": self.session_id * TURNS_A_SESSION + placed.ordinal,
            "session_id": self.session_id,
            "at": None if turn.sent_at is None else microseconds(turn.sent_at),
            **{name: getattr(turn, name) for name in ("model", "agent", "phase", "tokens_in", "tokens_out", "cost")},
            "tools": tools or None,
            "seconds": None if since < 0 else max(0.0, (self._sent[position] - since) / 1e6),
        }


def _group(raw: str, failed: Trace, ours: Trace) -> Row | None:
    """The group of a trace by what `fencepost` made of the same text; None where it is no failure."""
    if failed.verdict != "failed":
        return None
    group = failure_group.group(raw, *(read_stored(raw, trace.as_dict()) for trace in (failed, ours)))
    if group is None:
        return None
    about = {"group_key": group.key, "path": group.path, "tokens": group.tokens}
    return about | {"profile": failed.profile, "version": failed.version}
