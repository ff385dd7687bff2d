"""Turns of a session: the timeline, one turn with its parses, and where the next failed one is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import BROKEN, MISFITS
from webapp.parsing import Trace
from webapp.parsing.trace import read_stored
from webapp.refusals import NotThere
from webapp.store.db import types
from webapp.store.db.types import PackedJson, PackedText
from webapp.store.models import MODEL_KINDS as MODEL_KINDS
from webapp.store.models import Label, Parse, Session, Turn, TurnContract, contract_state, has_failed
from webapp.store.sessions import sessions
from webapp.store.write.parser import OURS
from webapp.store.write.tally import READABLE

PREVIEW = 200
"""code points"""


class NoSuchTurn(NotThere):
    """The session has no turn at that position."""


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One turn of the timeline, or of the rail beside another turn.

    `home` and `fencepost` are the verdicts, None where no model wrote; `duplicates` counts merged entries. `preview`
    holds the first 200 code points of `raw`, whose bytes `length` counts.
    """

    position: int
    duplicates: int
    kind: str
    role: str | None
    agent: str | None
    phase: str | None
    sounding: int | None
    round: int | None
    home: str | None
    fencepost: str | None
    contract: str | None
    """its state under its contract; None where nothing is declared"""
    failed: bool
    rescued: bool
    sent_at: datetime | None
    preview: str | None
    model: str | None
    attempt: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    recorded_failure: str | None
    length: int
    judgement: str | None


@dataclass(frozen=True, slots=True)
class TurnDetail:
    """One turn with its session, what was merged into it and its stored parses."""

    session: Session
    turn: Turn
    duplicates: list[Turn]
    home: Parse | None
    fencepost: Parse | None
    failed: bool
    rescued: bool


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Positions beside a turn, None at the ends; the failed ones are the nearest on either side."""

    previous: int | None
    next: int | None
    previous_failed: int | None
    next_failed: int | None


def timeline(
    db: orm.Session, session: Session, *, first: int = 0, count: int | None = None, viewer: str | None = None
) -> list[TurnLine]:
    """The turns in the order of their positions, each once; `count` of them from position `first`, else all.

    `judgement` is the viewer's own; where only others judged it says "labelled", so that nobody is led by them.
    """
    here = _here(session, first, count)
    if first >= here["last"]:
        return []
    copies = _copies(db, here)
    judgements: dict[int, str] = {}
    for row in db.execute(_judgements, here):
        judgement = row.judgement if row.author == viewer else None
        judgements[row.turn_id] = judgement or judgements.get(row.turn_id, "labelled")
    lines = []
    for turn in db.execute(_timeline, here):
        values = _line(turn, copies)
        length = values.pop("length") or 0
        lines.append(TurnLine(**values, length=length, judgement=judgements.get(turn.id)))
    return lines


def _here(session: Session, first: int, count: int | None) -> dict[str, Any]:
    last = session.turn_count if count is None else min(first + count, session.turn_count)
    return {"session": session.id, "first": first, "last": last, "home": session.home_profile}


def find(db: orm.Session, session: Session, position: int) -> TurnDetail:
    """The turn shown at `position`; raises `NoSuchTurn`."""
    here: dict[str, Any] = {"session": session.id, "position": position, "home": session.home_profile}
    turns = sorted(db.scalars(_turns, here), key=lambda turn: turn.ordinal) if 0 <= position < 2**31 else []
    if not turns:
        raise NoSuchTurn(f"session {session.external_id[:200]!r} has no turn {position}")
    parses = {parse.profile: parse for parse in db.scalars(_parses, here | {"turn": turns[0].id})}
    home, ours = parses.get(session.home_profile), parses.get(OURS)
    contract = db.get(TurnContract, turns[0].id)
    state = None if contract is None else contract.state
    recorded = turns[0].recorded_failure is not None or state in BROKEN
    failed = is_failed(turns[0].kind, home.verdict if home else None, recorded)
    rescued = failed and ours is not None and ours.verdict in READABLE and state not in MISFITS
    return TurnDetail(session, turns[0], turns[1:], home, ours, failed, rescued)


def find_by_id(db: orm.Session, ident: str, position: int) -> TurnDetail:
    """The turn at `position` of the session with that id or key; raises `NoSuchSession` and `NoSuchTurn`."""
    return find(db, sessions.find(db, ident), position)


def entry_of(db: orm.Session, turn: Turn) -> Any:
    """The entry that a turn came in, which stands with the first of its turns."""
    if turn.source is not None:
        return turn.source
    before = (Turn.session_id == turn.session_id, Turn.ordinal < turn.ordinal, Turn.entry == turn.entry)
    first = sa.select(Turn.source).where(*before, Turn.source.is_not(None))
    return db.scalar(first.order_by(Turn.ordinal.desc()).limit(1))


def is_failed(kind: str, home: str | None, recorded: bool) -> bool:
    """Whether a response failed in production: under its home profile, or as its dump records or its contract says."""
    return kind in MODEL_KINDS and (home == "failed" or recorded)


def neighbours(db: orm.Session, session: Session, position: int) -> Neighbours:
    """The positions before and after `position`, and the nearest failed ones."""
    previous = position - 1 if 0 < position <= session.turn_count else None
    following = position + 1 if position + 1 < session.turn_count else None
    if not session.failed_count:
        return Neighbours(previous, following, None, None)
    here = {"session": session.id, "home": session.home_profile, "position": position}
    return Neighbours(previous, following, db.scalar(_failed_before, here), db.scalar(_failed_after, here))


def _line(row: sa.Row[*tuple[Any, ...]], copies: dict[int, int]) -> dict[str, Any]:
    """A row of `_timeline` as the fields of a line."""
    values = dict(row._mapping)
    failed = is_failed(row.kind, row.home, row.recorded_failure is not None or row.contract in BROKEN)
    duplicates, head = copies.get(values.pop("id"), 0), values.pop("head")
    values["preview"] = None if head is None else preview(bytes(head))
    rescued = failed and row.fencepost in READABLE and row.contract not in MISFITS
    return values | {"duplicates": duplicates, "failed": failed, "rescued": rescued}


def preview(head: bytes) -> str:
    """The first 200 code points of a text that begins with the bytes `head`, cut anywhere."""
    return types.decoded(head)[:PREVIEW]


def _copies(db: orm.Session, here: dict[str, Any]) -> dict[int, int]:
    return {row.duplicate_of: row.copies for row in db.execute(_counted, here)}


# The statements are made once: to make one anew, and its key in the cache, takes longer than to run it.
_turn = Turn.__table__.c
_home_parse, _our_parse = Parse.__table__.alias(), Parse.__table__.alias()
_home = sa.bindparam("home", type_=sa.String())
_within = (
    _turn.session_id == sa.bindparam("session"),
    _turn.position >= sa.bindparam("first"),
    _turn.position < sa.bindparam("last"),
)


def _failed(where: sa.ColumnElement[bool]) -> sa.Select[int]:
    parse = Parse.__table__.c
    home = sa.select(parse.id).where(parse.turn_id == _turn.id, parse.profile == _home, parse.verdict == "failed")
    return sa.select(_turn.position).where(
        _turn.session_id == sa.bindparam("session"),
        _turn.duplicate_of.is_(None),
        _turn.kind.in_(MODEL_KINDS),
        sa.or_(has_failed(_turn), home.exists()),
        where,
    )


_home_here = sa.and_(_home_parse.c.turn_id == _turn.id, _home_parse.c.profile == _home)
_ours_here = sa.and_(_our_parse.c.turn_id == _turn.id, _our_parse.c.profile == OURS)
_timeline = (
    sa.select(
        *(_turn[name] for name in ("id", "position", "kind", "role", "agent", "phase", "sounding", "round")),
        *(_turn[name] for name in ("model", "attempt", "tokens_in", "tokens_out", "cost", "recorded_failure")),
        _home_parse.c.verdict.label("home"),
        _our_parse.c.verdict.label("fencepost"),
        contract_state(_turn).label("contract"),
        _turn.sent_at,
        types.head(_turn.raw, 4 * PREVIEW).label("head"),
        types.Length(_turn.raw).label("length"),
    )
    .select_from(sa.outerjoin(sa.outerjoin(Turn.__table__, _home_parse, _home_here), _our_parse, _ours_here))
    .where(*_within, _turn.duplicate_of.is_(None))
    .order_by(_turn.position)
)
_counted = (
    sa.select(_turn.duplicate_of, sa.func.count().label("copies"))
    .where(*_within, _turn.duplicate_of.is_not(None))
    .group_by(_turn.duplicate_of)
)
_judgements = (
    sa.select(Label.turn_id, Label.author, Label.judgement)
    .join(Turn.__table__, _turn.id == Label.turn_id)
    .where(*_within)
)
_failed_before = _failed(_turn.position < sa.bindparam("position")).order_by(_turn.position.desc()).limit(1)
_failed_after = _failed(_turn.position > sa.bindparam("position")).order_by(_turn.position).limit(1)
_turns = sa.select(Turn).where(Turn.session_id == sa.bindparam("session"), Turn.position == sa.bindparam("position"))
"""Not in order: for that SQLite would go through all of the session by its ordinals."""
_parses = (
    sa.select(Parse)
    .options(orm.defer(Parse.trace))
    .where(Parse.turn_id == sa.bindparam("turn"), Parse.profile.in_((_home, OURS)))
)


LONGEST_WHOLE = 100_000
"""bytes of a text that is read whole; of a longer one only its length is told"""


@dataclass(frozen=True, slots=True)
class ExampleText:
    """`raw` and `ours` are None where the text has more than `LONGEST` of its `size` bytes, `ours` where unparsed."""

    raw: str | None
    size: int
    ours: Trace | None


_size = types.Length(Turn.raw)
_texts = (
    sa.select(
        *(Turn.id, _size),
        sa.type_coerce(sa.case((_size <= LONGEST_WHOLE, Turn.raw)), PackedText),
        sa.type_coerce(sa.case((_size <= LONGEST_WHOLE, Parse.trace)), PackedJson),
    )
    .outerjoin(Parse, sa.and_(Parse.turn_id == Turn.id, Parse.profile == OURS))
    .where(Turn.id.in_(sa.bindparam("turns", expanding=True)), Turn.raw.is_not(None))
)


def texts_of(db: orm.Session, turn_ids: Collection[int]) -> dict[int, ExampleText]:
    """The texts by turn; of a turn that has none nothing."""
    rows = db.execute(_texts, {"turns": list(turn_ids)}) if turn_ids else ()
    return {
        turn_id: ExampleText(raw, size or 0, None if trace is None else read_stored(raw or "", trace))
        for turn_id, size, raw, trace in rows
    }
