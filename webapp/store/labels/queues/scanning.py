"""Scanning: which responses of a stretch of sessions belong in a queue, and where they stand in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.parsing import Trace
from webapp.store.labels.values import same_as
from webapp.store.models import Parse, Session, Turn, is_response
from webapp.store.write.parser import OURS
from webapp.store.write.stored_turns import home_parse, join_parses, our_parse
from webapp.store.write.tally import READABLE

PARSED_HERE = 8_000
"""Code points up to which a response is parsed under every profile to see whether they disagree; beyond, only the
stored parses are compared."""
_MILLISECONDS = 2**42
_COMPARED = 20_000
"""code points from the beginning that are compared; the length of what follows is, too"""
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ID = re.compile(r"\b(?=[0-9a-fA-F-]*\d)[0-9a-fA-F]{6,}(?:-[0-9a-fA-F]{2,})*\b|\b\w*\d\w*\d\w*\d\w*\b")
_NUMBER = re.compile(r"(?<![A-Za-z_])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SPACE = re.compile(r"\s+")
_SHORT = 24
Candidate = sa.Row[*tuple[Any, ...]]
"""a row of `_candidates`"""
Traces = dict[str, Trace]
"""of one response, by profile"""


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A response that belongs in the queue; a lower `rank` comes sooner."""

    turn_id: int
    session_id: int
    rank: int
    likeness: bytes


def scan(
    db: orm.Session, kind: str, session_ids: Sequence[int], after: int, limit: int, *, only_failed: bool = False
) -> tuple[list[QueueEntry], int | None]:
    """The responses of these sessions that `kind` takes, behind turn `after`; and the turn to go on behind, if any."""
    query = _candidates.where(Turn.session_id.in_(session_ids), Turn.id > after).order_by(Turn.id).limit(limit)
    if kind == "failed" or only_failed:
        query = query.where(sa.or_(Turn.recorded_failure.is_not(None), home_parse.verdict == "failed"))
    if kind == "silent":
        doubtful = sa.or_(home_parse.verdict != "clean", our_parse.verdict != "clean", our_parse.ambiguous)
        query = query.where(Turn.recorded_failure.is_(None), home_parse.verdict.in_(READABLE), doubtful)
    rows = db.execute(query).all()
    traces = _traces(db, [row.turn_id for row in rows]) if kind in ("silent", "disagree") else {}
    items = [item for row in rows if (item := _placed(kind, row, traces.get(row.turn_id, {}))) is not None]
    return items, rows[-1].turn_id if len(rows) == limit else None


def of_turns(db: orm.Session, turn_ids: Iterable[int]) -> list[QueueEntry]:
    """Those of these turns that are responses, ranked in the order given."""
    ranks = {turn_id: rank for rank, turn_id in enumerate(turn_ids)}
    rows = db.execute(_candidates.where(Turn.id.in_(list(ranks))))
    return [replace(_entry(row), rank=ranks[row.turn_id]) for row in rows]


_candidates: sa.Select[*tuple[Any, ...]] = join_parses(
    sa.select(
        *(Turn.id.label("turn_id"), Turn.session_id, Turn.raw, Session.home_profile, Session.happened_at),
        *(home_parse.verdict.label("home"), our_parse.verdict.label("ours")),
    )
    .join(Session, Session.id == Turn.session_id)
    .where(is_response, Session.deleted_at.is_(None)),
    Session.home_profile,
)
"""responses with what is stored of them: verdicts under their home and under `fencepost`"""


def _traces(db: orm.Session, turn_ids: list[int]) -> dict[int, Traces]:
    traces: dict[int, Traces] = {}
    for parse in db.execute(sa.select(Parse.turn_id, Parse.trace).where(Parse.turn_id.in_(turn_ids))):
        trace = Trace.from_dict(parse.trace)
        traces.setdefault(parse.turn_id, {})[trace.profile] = trace
    return traces


def _placed(kind: str, candidate: Candidate, traces: Traces) -> QueueEntry | None:
    if kind == "disagree":
        results = disagreement(candidate, traces)
        return _entry(candidate, results) if results > 1 else None
    return None if kind == "silent" and not is_silent(candidate, traces) else _entry(candidate)


def is_silent(candidate: Candidate, traces: Traces) -> bool:
    """Whether production took a value that may not be the one that was meant: `fencepost` reads another or nothing,
    cannot choose between several, or sees that the value was cut off or lies inside a larger one that is broken."""
    home, ours = traces.get(candidate.home_profile), traces.get(OURS)
    if home is None or ours is None or not home.chosen:
        return False
    if same_as(home.values) != same_as(ours.values):
        return True
    return ours.ambiguous or ours.truncated or _is_fragment(home)


def disagreement(candidate: Candidate, traces: Traces) -> int:
    """How many different results the profiles have, no value being one of them."""
    if candidate.home == candidate.ours == "clean" and len(traces) <= 2:
        return 1
    if len(candidate.raw) <= PARSED_HERE:
        absent = {name: profile for name, profile in parsing.profiles().items() if name not in traces}
        traces = traces | {name: parsing.parse(candidate.raw, profile) for name, profile in absent.items()}
    return len({same_as(trace.values) if trace.chosen else "" for trace in traces.values()})


def _is_fragment(trace: Trace) -> bool:
    """Whether a chosen span lies inside a larger candidate that could not be decoded."""
    chosen = [trace.attempts[index].span for index in trace.chosen]
    broken = [attempt.span for attempt in trace.attempts if attempt.outcome == "failed" and attempt.strategy != "whole"]
    return any(outer.start < span.start and span.end < outer.end for span in chosen for outer in broken)


def _entry(candidate: Candidate, score: int = 0) -> QueueEntry:
    newest = int(candidate.happened_at.timestamp() * 1000)
    digest = likeness(candidate.raw, candidate.home_profile, candidate.home, candidate.ours)
    return QueueEntry(candidate.turn_id, candidate.session_id, -(score * _MILLISECONDS) - newest, digest)


def likeness(raw: str, *marks: str | None) -> bytes:
    """16 bytes that near-identical responses share: the same text but for white space, numbers, ids and long strings.

    `marks` must be the same too: how the parsers took it.
    """
    text = "\x00".join([plain(raw), *(mark or "" for mark in marks)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def plain(raw: str) -> str:
    """`raw` with what differs from one response to its like left out."""
    text = _STRING.sub(lambda match: match[0] if len(match[1]) <= _SHORT else '"…"', raw[:_COMPARED])
    text = _NUMBER.sub("0", _ID.sub("0", text))
    rest = "" if len(raw) <= _COMPARED else f"…{(len(raw) - _COMPARED).bit_length()}"
    return _SPACE.sub(" ", text).strip() + rest
