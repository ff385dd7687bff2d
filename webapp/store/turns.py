"""Turns of a session: the timeline, one turn with its parses, and where the next failed one is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import parsing
from webapp.store import heads
from webapp.store.models import Label, Parse, Session, Turn
from webapp.store.parsed import OURS
from webapp.store.tally import READABLE

PREVIEW = 200
"""code points"""
MODEL_KINDS = ("response", "tool_call")


class NoSuchTurn(LookupError):
    """The session has no turn at that position."""


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One turn of the timeline. `preview` holds the first 200 code points of `raw`, `length` counts its bytes.

    `home` and `fencepost` are the verdicts, None where no model wrote; `duplicates` counts merged entries.
    """

    position: int
    duplicates: int
    kind: str
    role: str | None
    agent: str | None
    model: str | None
    phase: str | None
    sounding: int | None
    round: int | None
    attempt: int | None
    sent_at: datetime | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    home: str | None
    fencepost: str | None
    failed: bool
    rescued: bool
    recorded_failure: str | None
    preview: str | None
    length: int
    judgement: str | None


@dataclass(frozen=True, slots=True)
class TurnDetail:
    """One turn with what was merged into it and its stored parses."""

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


def timeline(db: orm.Session, session: Session, *, first: int = 0, count: int | None = None) -> list[TurnLine]:
    """The turns in the order of their positions, each once; `count` of them from position `first`, else all."""
    last = session.turn_count if count is None else min(first + count, session.turn_count)
    here = sa.and_(Turn.session_id == session.id, Turn.position >= first, Turn.position < last)
    if first >= last:
        return []
    copies = _copies(db, here)
    judgements = _judgements(db, here)
    lines = db.execute(_lines(session).where(here))
    return [_line(row, copies.get(row.id, 0), judgements.get(row.id)) for row in lines]


def find(db: orm.Session, session: Session, position: int) -> TurnDetail:
    """The turn shown at `position`; raises `NoSuchTurn`."""
    turns = _at(db, session, position)
    parses = {
        parse.profile: parse
        for parse in db.scalars(
            sa.select(Parse)
            .options(orm.defer(Parse.trace))
            .where(Parse.turn_id == turns[0].id, Parse.profile.in_((session.home_profile, OURS)))
        )
    }
    home, ours = parses.get(session.home_profile), parses.get(OURS)
    failed = is_failed(turns[0].kind, home.verdict if home else None, turns[0].recorded_failure is not None)
    return TurnDetail(turns[0], turns[1:], home, ours, failed, failed and ours is not None and ours.verdict in READABLE)


def is_failed(kind: str, home: str | None, recorded: bool) -> bool:
    """Whether a response failed in production: under its home profile, or by what its dump records."""
    return kind in MODEL_KINDS and (home == "failed" or recorded)


def neighbours(db: orm.Session, session: Session, position: int) -> Neighbours:
    """The positions before and after `position`, and the nearest failed ones."""
    near = Neighbours(
        position - 1 if 0 < position <= session.turn_count else None,
        position + 1 if position + 1 < session.turn_count else None,
        None,
        None,
    )
    if not session.failed_count:
        return near
    before = _failed(session, Turn.position < position).order_by(Turn.position.desc()).limit(1)
    after = _failed(session, Turn.position > position).order_by(Turn.position).limit(1)
    return replace(near, previous_failed=db.scalar(before), next_failed=db.scalar(after))


def trace(detail: TurnDetail, profile: str) -> parsing.Trace:
    """The trace of the turn's text under `profile`: as stored where its version is current, else made now.

    Raises `UnknownProfile`; `NoSuchTurn` where no model wrote the turn.
    """
    current = parsing.profile(profile)
    turn = detail.turn
    if turn.raw is None or turn.kind not in MODEL_KINDS:
        raise NoSuchTurn(f"no model wrote turn {turn.position}, so nothing was parsed")
    stored = {parse.profile: parse for parse in (detail.home, detail.fencepost) if parse is not None}.get(profile)
    if stored is None and (db := orm.object_session(turn)) is not None:
        stored = db.scalar(sa.select(Parse).where(Parse.turn_id == turn.id, Parse.profile == profile))
    if stored is not None and stored.version == current.version:
        return parsing.Trace.from_dict(stored.trace)
    return parsing.parse(turn.raw, current)


def _at(db: orm.Session, session: Session, position: int) -> list[Turn]:
    query = sa.select(Turn).where(Turn.session_id == session.id, Turn.position == position).order_by(Turn.ordinal)
    turns = list(db.scalars(query)) if 0 <= position < 2**31 else []
    if not turns:
        raise NoSuchTurn(f"session {session.external_id[:200]!r} has no turn {position}")
    return turns


def _failed(session: Session, where: sa.ColumnElement[bool]) -> sa.Select[int]:
    home = sa.select(Parse.id).where(
        Parse.turn_id == Turn.id, Parse.profile == session.home_profile, Parse.verdict == "failed"
    )
    return sa.select(Turn.position).where(
        Turn.session_id == session.id,
        Turn.duplicate_of.is_(None),
        Turn.kind.in_(MODEL_KINDS),
        sa.or_(Turn.recorded_failure.is_not(None), home.exists()),
        where,
    )


def _lines(session: Session) -> sa.Select[*tuple[Any, ...]]:
    home, ours = orm.aliased(Parse), orm.aliased(Parse)
    plain = ("position", "kind", "role", "agent", "model", "phase", "sounding", "round", "attempt")
    more = ("sent_at", "tokens_in", "tokens_out", "cost", "recorded_failure", "id")
    query: sa.Select[*tuple[Any, ...]] = sa.select(
        *(getattr(Turn, name) for name in (*plain, *more)),
        home.verdict.label("home"),
        ours.verdict.label("ours"),
        heads.head(Turn.raw, 4 * PREVIEW).label("head"),
        heads.Length(Turn.raw).label("length"),
    )
    query = query.outerjoin(home, sa.and_(home.turn_id == Turn.id, home.profile == session.home_profile))
    query = query.outerjoin(ours, sa.and_(ours.turn_id == Turn.id, ours.profile == OURS))
    return query.where(Turn.duplicate_of.is_(None)).order_by(Turn.position)


def _line(row: sa.Row[*tuple[Any, ...]], duplicates: int, judgement: str | None) -> TurnLine:
    values = dict(row._mapping)
    head, ours = values.pop("head"), values.pop("ours")
    failed = is_failed(values["kind"], values["home"], values["recorded_failure"] is not None)
    del values["id"]
    return TurnLine(
        **{**values, "length": values["length"] or 0},
        duplicates=duplicates,
        fencepost=ours,
        failed=failed,
        rescued=failed and ours in READABLE,
        preview=None if head is None else preview(bytes(head)),
        judgement=judgement,
    )


def preview(head: bytes) -> str:
    """The first 200 code points of a text that begins with the bytes `head`, cut anywhere."""
    whole = len(head)
    while whole and whole > len(head) - 4 and head[whole - 1] & 0xC0 == 0x80:
        whole -= 1
    try:
        return head.decode("utf-8", "surrogatepass")[:PREVIEW]
    except UnicodeDecodeError:
        return head[: max(0, whole - 1)].decode("utf-8", "surrogatepass")[:PREVIEW]


def _copies(db: orm.Session, here: sa.ColumnElement[bool]) -> dict[int, int]:
    query = (
        sa.select(Turn.duplicate_of, sa.func.count())
        .where(here, Turn.duplicate_of.is_not(None))
        .group_by(Turn.duplicate_of)
    )
    return {original: count for original, count in db.execute(query) if original is not None}


def _judgements(db: orm.Session, here: sa.ColumnElement[bool]) -> dict[int, str]:
    query = (
        sa.select(Label.turn_id, Label.judgement)
        .join(Turn, Turn.id == Label.turn_id)
        .where(here)
        .order_by(Label.made_at)
    )
    return {row.turn_id: row.judgement for row in db.execute(query)}
