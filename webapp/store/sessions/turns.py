"""Turns of a session: the timeline, one turn with its parses, and where the next failed one is."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.contracts.contract import BROKEN, MISFITS
from webapp.parsing import Trace
from webapp.parsing.trace import read_stored
from webapp.refusals import NotThere
from webapp.store.db import types
from webapp.store.db.types import PackedJson, PackedText
from webapp.store.models import MODEL_KINDS as MODEL_KINDS
from webapp.store.models import Label, Parse, Session, Turn, TurnContract, contract_state, has_mark
from webapp.store.sessions import sessions
from webapp.store.write.parser import OURS
from webapp.store.write.stored_turns import home_parse, join_parses, our_parse
from webapp.store.write.tally import READABLE

PREVIEW = 200
"""code points"""
FAILED = "fs"
"""letters of a strip that stand for a failure in production"""
Mark = tuple[int, str]


class NoSuchTurn(NotThere):
    """The session has no turn at that position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What lines of turns and of responses have of each. `preview` has the first 200 code points of a text of `length`
    bytes; `home` and `fencepost` are verdicts, None where that profile was not run over it, and `contract` its state,
    None where nothing is declared."""

    position: int
    kind: str
    role: str | None
    agent: str | None
    phase: str | None
    model: str | None
    sent_at: datetime | None
    recorded_failure: str | None
    home: str | None
    fencepost: str | None
    contract: str | None
    failed: bool
    rescued: bool
    preview: str | None
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLine(Shown):
    """One turn of the timeline, or of the turn list beside another turn; `duplicates` counts merged entries."""

    sounding: int | None
    round: int | None
    attempt: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    duplicates: int
    judgement: str | None


@dataclass(frozen=True, slots=True)
class TurnDetail:
    """One turn with its session and what was merged into it."""

    session: Session
    turn: Turn
    duplicates: list[Turn]
    failed: bool
    rescued: bool


def timeline(
    db: orm.Session, session: Session, *, first: int = 0, count: int | None = None, viewer: str | None = None
) -> list[TurnLine]:
    """The turns in the order of their positions, each once; `count` of them from position `first`, else all.

    `judgement` is the viewer's own; where only others judged it says "labelled", so that nobody is led by them.
    """
    last = session.turn_count if count is None else min(first + count, session.turn_count)
    if first >= last:
        return []
    here = {"session": session.id, "first": first, "last": last, "home": session.home_profile}
    copies: dict[int, int] = {row.duplicate_of: row.copies for row in db.execute(_counted, here)}
    judgements: dict[int, str] = {}
    for row in db.execute(_judgements, here):
        judgement = row.judgement if row.author == viewer else None
        judgements[row.turn_id] = judgement or judgements.get(row.turn_id, "labelled")
    return [_line(turn, copies, judgements) for turn in db.execute(_timeline, here)]


def find(db: orm.Session, session: Session, position: int) -> TurnDetail:
    """The turn shown at `position`; raises `NoSuchTurn`."""
    here: dict[str, Any] = {"session": session.id, "position": position, "home": session.home_profile}
    turns = sorted(db.scalars(_turns, here), key=lambda turn: turn.ordinal) if 0 <= position < 2**31 else []
    if not turns:
        raise NoSuchTurn(f"session {session.external_id[:200]!r} has no turn {position}")
    verdicts = {row.profile: row.verdict for row in db.execute(_verdicts, here | {"turn": turns[0].id})}
    contract = db.get(TurnContract, turns[0].id)
    own, ours = verdicts.get(session.home_profile), verdicts.get(OURS)
    return TurnDetail(session, turns[0], turns[1:], *outcome(turns[0], own, ours, contract.state if contract else None))


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


def outcome(turn: Any, home: str | None, ours: str | None, contract: str | None) -> tuple[bool, bool]:
    """Whether a turn failed in production, under its home profile or as its dump records or its contract says; and
    whether `fencepost` reads it then. `home` and `ours` are verdicts, `contract` its state."""
    recorded = turn.recorded_failure is not None or contract in BROKEN
    failed = turn.kind in MODEL_KINDS and (home == "failed" or recorded)
    return failed, failed and is_rescued(ours, contract)


def is_rescued(ours: str | None, contract: str | None) -> bool:
    """Whether `fencepost` reads a response that failed, and what it reads is what the contract asks for."""
    return ours in READABLE and contract not in MISFITS


class Neighbours(NamedTuple):
    """The positions before and after one, and the nearest failed ones; None at the ends."""

    previous: int | None
    next: int | None
    previous_failed: int | None = None
    next_failed: int | None = None


def marks(db: orm.Session, session: Session) -> list[Mark]:
    """Where each response stands that has a mark in the session's strip, and its letter, in order."""
    return list(zip(db.scalars(_marked, {"session": session.id}), session.strip, strict=False))


def failed_positions(db: orm.Session, session: Session) -> list[int]:
    """Where the session failed in production, in order."""
    return [position for position, letter in marks(db, session) if letter in FAILED] if session.failed_count else []


def neighbours(db: orm.Session, session: Session, position: int) -> Neighbours:
    previous = position - 1 if 0 < position <= session.turn_count else None
    following = position + 1 if position + 1 < session.turn_count else None
    failed = failed_positions(db, session)
    before, after = failed[: bisect_left(failed, position)], failed[bisect_right(failed, position) :]
    return Neighbours(previous, following, before[-1] if before else None, after[0] if after else None)


def _line(row: sa.Row[*tuple[Any, ...]], copies: dict[int, int], judgements: dict[int, str]) -> TurnLine:
    columns = dict(row._mapping)
    number, head = columns.pop("id"), columns.pop("head")
    failed, rescued = outcome(row, row.home, row.fencepost, row.contract)
    return TurnLine(
        **columns,
        failed=failed,
        rescued=rescued,
        preview=None if head is None else preview(bytes(head)),
        duplicates=copies.get(number, 0),
        judgement=judgements.get(number),
    )


def preview(head: bytes) -> str:
    """The first 200 code points of a text that begins with the bytes `head`, cut anywhere."""
    return types.decoded(head)[:PREVIEW]


# Statements are made once: to make one anew, and its key in the cache, takes longer than to run it.
_within = (
    Turn.session_id == sa.bindparam("session"),
    Turn.position >= sa.bindparam("first"),
    Turn.position < sa.bindparam("last"),
)
_home = sa.bindparam("home", type_=sa.String())
shown_columns: tuple[Any, ...] = (
    *(getattr(Turn, name) for name in ("position", "kind", "role", "agent", "phase", "model", "sent_at")),
    Turn.recorded_failure,
    home_parse.verdict.label("home"),
    our_parse.verdict.label("fencepost"),
    contract_state(Turn).label("contract"),
    types.head(Turn.raw, 4 * PREVIEW).label("head"),
    sa.func.coalesce(types.Length(Turn.raw), 0).label("length"),
)
"""of turns that are joined with their parses: what `Shown` is made of"""
_timeline = join_parses(
    sa.select(
        *(Turn.id, *shown_columns, Turn.sounding, Turn.round, Turn.attempt),
        *(Turn.tokens_in, Turn.tokens_out, Turn.cost),
    )
    .where(*_within, Turn.duplicate_of.is_(None))
    .order_by(Turn.position),
    _home,
)
_marked = (
    sa.select(Turn.position)
    .where(Turn.session_id == sa.bindparam("session"), Turn.duplicate_of.is_(None))
    .where(Turn.kind.in_(MODEL_KINDS), has_mark(Turn))
    .order_by(Turn.position)
)
_counted = (
    sa.select(Turn.duplicate_of, sa.func.count().label("copies"))
    .where(*_within, Turn.duplicate_of.is_not(None))
    .group_by(Turn.duplicate_of)
)
_judgements = (
    sa.select(Label.turn_id, Label.author, Label.judgement).join(Turn, Turn.id == Label.turn_id).where(*_within)
)
_turns = sa.select(Turn).where(Turn.session_id == sa.bindparam("session"), Turn.position == sa.bindparam("position"))
"""Not in order: for that SQLite would go through all of the session by its ordinals."""
_verdicts = sa.select(Parse.profile, Parse.verdict).where(
    Parse.turn_id == sa.bindparam("turn"), Parse.profile.in_((_home, OURS))
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
