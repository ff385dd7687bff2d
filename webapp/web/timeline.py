"""A window of a session's turns as its page draws it: blocks by phase, call paths side by side, the rest folded."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import orm

from webapp.findings import rulebook
from webapp.parsing import words
from webapp.parsing.released import held_releases
from webapp.store import search
from webapp.store.failures import neighbours
from webapp.store.homes import rules
from webapp.store.models import Finding, Session
from webapp.store.sessions import overview
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions import turns as turn_store
from webapp.store.sessions.turns import MODEL_KINDS, TurnLine
from webapp.web.links import number_in

FOLDED = ("prompt", "event")
_WIDEST = 46
"""pixels of the longest bar"""
_MOST_SPEAKERS = 24


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One turn; `waited` are the seconds since the turn before, `bar` their width, `rules` the findings it shows."""

    turn: TurnLine
    waited: float | None
    bar: int
    rules: tuple[str, ...]

    @property
    def foldable(self) -> bool:
        return self.turn.kind in FOLDED and not self.rules and not self.turn.judgement


@dataclass(frozen=True, slots=True)
class Fold:
    """Prompts and events in a row, out of the way until they are opened; `first` names the fold in a URL."""

    rows: tuple[TimelineRow, ...]

    @property
    def first(self) -> int:
        return int(self.rows[0].turn.position)

    @property
    def says(self) -> str:
        counts = {kind: sum(row.turn.kind == kind for row in self.rows) for kind in FOLDED}
        return ", ".join(words.counted(count, kind) for kind, count in counts.items() if count)

    @property
    def preview(self) -> str:
        """What the last prompt says: it is what the response below answers."""
        prompts = [row.turn.preview for row in self.rows if row.turn.kind == "prompt" and row.turn.preview]
        return prompts[-1] if prompts else ""


@dataclass(frozen=True, slots=True)
class Lane:
    """Turns of one call path; `side` says that others of the same phase stand beside it."""

    name: str
    items: tuple[TimelineRow | Fold, ...]
    failed: int
    side: bool = False


def rows(
    lines: Sequence[TurnLine], before: datetime | None, marks: Mapping[int, tuple[str, ...]]
) -> Iterator[TimelineRow]:
    """The turns with the time each waited for; `before` is when the turn before the first was sent."""
    last = before
    for line in lines:
        waited = None
        if line.sent_at is not None:
            waited = max(0.0, (line.sent_at - last).total_seconds()) if last is not None else None
            last = line.sent_at
        yield TimelineRow(line, waited, _bar(waited), marks.get(line.position, ()))


def _bar(waited: float | None) -> int:
    """A bar's width: it grows with the logarithm, from half a second to an hour."""
    if waited is None or waited < 0.5:
        return 0
    return min(_WIDEST, max(2, round(_WIDEST * math.log(waited / 0.5) / math.log(7200))))


def blocks(rows: Iterable[TimelineRow]) -> list[dict[str, Any]]:
    """The rows grouped by phase, in it by call path. An event that names no phase stays where it came.

    Of a phase are lanes one after the other, and rows of lanes that ran side by side.
    """
    result, rows = [], list(rows)
    placed_rows = ((*place, row) for place, row in zip(places(row.turn for row in rows), rows, strict=True))
    for title, group in groupby(placed_rows, key=lambda placed: placed[0]):
        lanes: list[tuple[Lane, ...]] = []
        for parallel, run in groupby(group, key=lambda placed: placed[1] is not None and placed[0] != ""):
            lanes += _side_by_side([(place[1], place[2]) for place in run], parallel)
        result.append({"title": title, "rows_of_lanes": lanes})
    return result


def places(turns: Iterable[TurnLine]) -> Iterator[tuple[str, int | None]]:
    """Each turn's phase, else its round, and its call path; what an event does not say, it has of the turn before."""
    title, sounding = "", None
    for turn in turns:
        if turn.kind != "event" or turn.phase or turn.sounding is not None or turn.round is not None:
            title = turn.phase or (f"round {turn.round}" if turn.round is not None and turn.sounding is None else "")
            sounding = turn.sounding
        yield title, sounding


def _side_by_side(run: list[tuple[int | None, TimelineRow]], parallel: bool) -> Iterator[tuple[Lane, ...]]:
    """Lanes beside one another where a phase ran several call paths; else one after the other, in order."""
    by_sounding: dict[int | None, list[TimelineRow]] = {}
    for sounding, row in run:
        by_sounding.setdefault(sounding, []).append(row)
    if parallel and len(by_sounding) > 1:
        yield tuple(_lane(f"call path {name}", lane, side=True) for name, lane in by_sounding.items())
        return
    for sounding, group in groupby(run, key=lambda pair: pair[0]):
        name = "" if sounding is None else f"call path {sounding}"
        yield (_lane(name, [row for _, row in group]),)


def _lane(name: str, lane: Sequence[TimelineRow], *, side: bool = False) -> Lane:
    items: list[TimelineRow | Fold] = []
    for foldable, group in groupby(lane, key=lambda row: row.foldable):
        run = tuple(group)
        items += [Fold(run)] if foldable else run
    return Lane(name, tuple(items), sum(row.turn.failed for row in lane), side)


def matrices(lines: Iterable[TurnLine]) -> list[dict[str, Any]]:
    """For each phase in which several models speak in rounds, who answered when: a turn, or None where nobody spoke, of
    each speaker and round."""
    spoken: dict[str, dict[str, dict[int, TurnLine]]] = {}
    for line in lines:
        name = line.agent or line.model
        if line.kind in MODEL_KINDS and line.round is not None and line.sounding is None and name:
            spoken.setdefault(line.phase or "", {}).setdefault(name, {}).setdefault(line.round, line)
    return [matrix for phase, speakers in spoken.items() if (matrix := _matrix(phase, speakers)) is not None]


def _matrix(phase: str, speakers: Mapping[str, Mapping[int, TurnLine]]) -> dict[str, Any] | None:
    rounds = sorted({number for turns in speakers.values() for number in turns})
    together = any(sum(number in turns for turns in speakers.values()) > 1 for number in rounds)
    if not 1 < len(speakers) <= _MOST_SPEAKERS or len(rounds) < 2 or not together:
        return None
    cells = {name: tuple(turns.get(number) for number in rounds) for name, turns in speakers.items()}
    return {"phase": phase, "rounds": rounds, "cells": cells}


STEP = 100
"""turns a window"""
MOST_HITS = 50
MOST_FAILED = 2000
"""failures that keys go to"""
_MOST_OPEN = 200


@dataclass(frozen=True, slots=True)
class TimelineQuery:
    """What the address asks for: the window's first turn, folds that are open, what to look for, and from where."""

    first: int
    opened: frozenset[int]
    all_open: bool
    q: str
    after: int | None

    def is_open(self, fold: int) -> bool:
        return self.all_open or fold in self.opened


def timeline_query(args: Any, session: Session) -> TimelineQuery:
    """Read the query string; what is no number is as if it were not there."""
    at = args.get("at", type=int)
    first = args.get("from", 0, type=int) if at is None else at
    first = max(0, min(first, session.turn_count - 1))
    words_opened = args.get("open", "").split("-")[:_MOST_OPEN]
    opened = frozenset(number for word in words_opened if (number := number_in(word)) is not None)
    all_open = args.get("show") == "all"
    return TimelineQuery(first - first % STEP, opened, all_open, args.get("q", "").strip(), args.get("after", type=int))


def window(
    db: orm.Session, session: Session, query: TimelineQuery, evidence: Iterable[Finding], viewer: str
) -> dict[str, Any]:
    lines = turn_store.timeline(db, session, first=query.first, count=STEP, viewer=viewer)
    before = overview.time_before(db, session, query.first) if query.first else None
    timeline_rows = rows(lines, before, _marks(evidence))
    return {
        "session": session,
        "first": query.first,
        "last": query.first + len(lines) - 1,
        "step": STEP,
        "asked": query,
        "kept": _kept(query),
        "blocks": blocks(timeline_rows),
        "matrices": matrices(lines),
    }


def head(db: orm.Session, session: Session, evidence: list[Finding]) -> dict[str, Any]:
    """What stands above the timeline."""
    marks = turn_store.marks(db, session)
    cells, bin_size = overview.cells(session, marks)
    failed_at = [position for position, letter in marks if letter in turn_store.FAILED][:MOST_FAILED]
    inferred = rules.evidence(session.home_profile, session.home_source, session.extra)
    in_a_stream = _in_a_stream(session.home_profile)
    return {
        "says": " ".join(filter(None, (session_words(session, evidence), inferred, in_a_stream))),
        "findings": evidence,
        "revisions": session_store.revisions(db, session.external_id),
        "cells": cells,
        "each": bin_size,
        "failed_at": failed_at,
        "first_failed": turn_store.timeline(db, session, first=failed_at[0], count=1) if failed_at else [],
        "spent": overview.spent(db, session),
        "same_failures": neighbours.of_session(db, session.id) if session.failed_count else [],
    }


def _in_a_stream(home: str) -> str:
    """That a server's parser gives other calls in a stream than at once, which is what is shown; empty for others."""
    held = held_releases().get(home)
    most = max((sum(kinds.values()) for kinds in (held.streamed or {}).values()), default=0) if held else 0
    if not held or not most:
        return ""
    texts = f"on up to {most:,} of {held.texts:,} texts made of its words, many of them broken: see its profile"
    return f"Calls are shown as this server's parser gives them at once; in a stream it gives others {texts}."


def session_words(session: Any, evidence: Iterable[Finding] = ()) -> str:
    """What went wrong, in one sentence made of the findings and one that counts."""
    counts = session.response_count, session.failed_count, session.rescued_count, session.not_run_count
    sentence = rulebook.sentence(evidence)
    home = words.called(session.home_profile)
    return words.session_sentence(counts, home, sentence, shape=session.shape)


def hits(db: orm.Session, session: Session, query: TimelineQuery) -> dict[str, Any]:
    """Where in the session `q` stands, at most 50 places."""
    if not query.q:
        return {"hits": [], "more_hits": None}
    result = search.find(db.connection(), query.q, session_id=session.id, after=query.after, limit=MOST_HITS)
    return {"hits": result.matches, "more_hits": result.next}


def _marks(evidence: Iterable[Finding]) -> dict[int, tuple[str, ...]]:
    """Which rules each turn is evidence of."""
    marks: dict[int, tuple[str, ...]] = {}
    for finding in evidence:
        for position in finding.turns:
            marks[position] = (*marks.get(position, ()), finding.rule)
    return marks


def _kept(query: TimelineQuery) -> dict[str, Any]:
    """What links to other windows keep of the address."""
    parameters: dict[str, Any] = {"show": "all"} if query.all_open else {}
    if query.opened:
        parameters["open"] = "-".join(map(str, sorted(query.opened)))
    return parameters
