"""Responses as their list shows them: filtered one by one, in the order of their sessions, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing.trace import Flag
from webapp.store.models import Session, Turn
from webapp.store.sessions import facets, response_query, sessions
from webapp.store.sessions.filters import HOME, KEYS, Filters, cursor, cursor_place, place
from webapp.store.sessions.turns import Shown, is_rescued, preview, shown_columns
from webapp.store.sessions.where import View, listed, rescued_count, stored_name
from webapp.store.write.parser import OURS
from webapp.store.write.tally import VERDICTS

LOOKED_AT = 100_000
"""responses that one request looks at; where it ends before the last of them, the page says so and goes on behind"""
COUNTED = 20_000
"""responses that are looked at to count those that no counter counts"""
_A_BLOCK = 2_000
_SESSIONS = 400
_BEHIND = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseLine(Shown):
    """One response. `under` is the verdict of the profile looked under; `flags` say where the value that it read, or
    else `fencepost`, may be another."""

    key: str
    external_id: str
    revision: int
    newest: bool
    home_profile: str
    under: str | None
    flags: tuple[Flag, ...]


class ResponsePage(NamedTuple):
    """`total` responses match; with `at_least` those that were counted before the budget ended. `of` are in the store.

    `looked_at` of them were gone through for this page, and with `is_cut` the budget ended it, so that `next` may lead
    to more even where `responses` is empty. `coverage` says how far the profile looked under was run over what the
    other filters leave, None where that is each session's own.
    """

    responses: list[ResponseLine]
    next: str | None
    total: int
    at_least: bool
    of: int
    looked_at: int
    is_cut: bool
    coverage: facets.ProfileCoverage | None


@dataclass(frozen=True, slots=True)
class _Block:
    """Matching rows (turn_id, session_id, position), how many responses were looked at for them, and the session and
    position behind which the next block begins."""

    rows: Sequence[Any]
    looked_at: int
    end: tuple[int, int]


def page(db: orm.Session, filters: Filters, *, after: str | None = None, limit: int = 50) -> ResponsePage:
    """The responses behind `after`, those of a session in their order, sessions as the list sorts them.

    Raises `BadFilter` and `BadCursor`.
    """
    view = view_of(db, filters)
    rows: list[Any] = []
    looked_at, last = 0, None
    for block in _blocks(db, view, after):
        rows += block.rows
        looked_at += block.looked_at
        if len(rows) > limit:
            last = rows[limit - 1].session_id, rows[limit - 1].position
            break
        if looked_at >= LOOKED_AT:
            last = block.end
            break
    total, at_least = count(db, view)
    return ResponsePage(
        responses=list(lines(db, filters, [row.turn_id for row in rows[:limit]]).values()),
        next=None if last is None else _cursor(db, filters.sort, *last),
        total=total,
        at_least=at_least,
        of=_sum(db, Session.response_count, listed),
        looked_at=looked_at,
        is_cut=last is not None and len(rows) <= limit,
        coverage=facets.coverage_of(db, view),
    )


def view_of(db: orm.Session, filters: Filters) -> View:
    """The sessions that may hold matching responses: one that is unlabelled may stand in a labelled session."""
    view = sessions.view(db, filters)
    return replace(view, may_hold=frozenset(["label"]) if filters.label == "unlabelled" else frozenset())


def turn_ids(db: orm.Session, view: View, *where: sa.ColumnElement[bool]) -> Iterator[list[int]]:
    """The turns of all matching responses of which `where` holds too, a block at a time."""
    for block in _blocks(db, view, None, *where):
        yield [row.turn_id for row in block.rows]


def count(db: orm.Session, view: View) -> tuple[int, bool]:
    """How many responses match, and whether there may be more than were counted."""
    counted = _from_counters(db, view)
    if counted is not None:
        return counted, False
    total = looked_at = 0
    for block in _blocks(db, view, None):
        total, looked_at = total + len(block.rows), looked_at + block.looked_at
        if looked_at >= COUNTED:
            return total, looked_at < _sum(db, Session.response_count, *view.where())
    return total, False


def _sum(db: orm.Session, column: Any, *where: sa.ColumnElement[bool]) -> int:
    return int(db.scalar(sa.select(sa.func.sum(column)).where(*where)) or 0)


def _from_counters(db: orm.Session, view: View) -> int | None:
    """The number where counters of sessions have it: with no filter of responses, or one alone."""
    filters = view.filters
    chosen = {name for name in response_query.OF_RESPONSE if str(getattr(filters, name) or "").strip()}
    if not chosen:
        return _sum(db, Session.response_count, *view.where())
    if chosen <= {"failed", "rescued"}:
        return _sum(db, rescued_count if filters.rescued else Session.failing_count, *view.where())
    if chosen == {"model", "verdict"} and filters.under in (HOME, OURS):
        return facets.total(db, view.ids(), [f"model {filters.under} {filters.verdict}"], filters.model)
    if len(chosen) > 1 or chosen & {"stop", "host", "agent", "phase", "tool", "finding", "label", "contract", "q"}:
        return None
    (name,) = chosen
    names = [stored_name(name, filters.under)]
    if name == "model":
        names = [f"model {OURS} {verdict}" for verdict in VERDICTS]
    return facets.total(db, view.ids(), names, getattr(filters, name))


def _blocks(db: orm.Session, view: View, after: str | None, *where: sa.ColumnElement[bool]) -> Iterator[_Block]:
    """The matching rows in order, in blocks of a few sessions, or of a part of a long one. Raises `BadCursor`."""
    select, tests = response_query.query(db, view.filters)
    select = select.where(*where)
    sort, last = view.filters.sort, None
    if (behind := cursor_place(view.filters.sort, after, 1)) is not None:
        *last, position = behind
        if db.scalar(view.ids().where(Session.id == last[-1])) is not None:
            yield from _of_one(db, select, tests, last[-1], position)
    while True:
        rows = sessions.in_order(db, view, sort, last, _SESSIONS, Session.response_count)
        yield from _of_sessions(db, select, tests, [(row.id, row.response_count) for row in rows if row.response_count])
        if len(rows) < _SESSIONS:
            return
        last = place(sort, rows[-1])


def _of_sessions(
    db: orm.Session, select: Any, tests: list[response_query.Test], counted: list[tuple[int, int]]
) -> Iterator[_Block]:
    """Sessions (id, how many responses) in order."""
    together: list[int] = []
    looked_at = 0
    for session_id, responses in [*counted, (None, _A_BLOCK)]:
        if together and looked_at + responses > _A_BLOCK:
            place = {turn_id: at for at, turn_id in enumerate(together)}
            rows = db.execute(select.where(Turn.session_id.in_(together))).all()
            rows = sorted(_tested(rows, tests), key=lambda row: (place[row.session_id], row.position))
            yield _Block(rows, looked_at, (together[-1], _BEHIND))
            together, looked_at = [], 0
        if session_id is None:
            return
        if responses > _A_BLOCK:
            yield from _of_one(db, select, tests, session_id, -1)
        else:
            together.append(session_id)
            looked_at += responses


def _of_one(
    db: orm.Session, select: Any, tests: list[response_query.Test], session_id: int, after: int
) -> Iterator[_Block]:
    """One session from behind the position `after` on."""
    here = select.where(Turn.session_id == session_id).order_by(Turn.position).limit(_A_BLOCK)
    while rows := db.execute(here.where(Turn.position > after)).all():
        after = rows[-1].position
        yield _Block(_tested(rows, tests), len(rows), (session_id, after))
        if len(rows) < _A_BLOCK:
            return


def _tested(rows: Sequence[Any], tests: list[response_query.Test]) -> Sequence[Any]:
    for test in tests:
        rows = test(rows) if rows else rows
    return rows


def _cursor(db: orm.Session, sort: str, session_id: int, position: int) -> str | None:
    """The cursor behind a response; None where its session is gone meanwhile."""
    row = db.execute(sa.select(*KEYS[sort]).where(Session.id == session_id)).one_or_none()
    return None if row is None else cursor(sort, place(sort, row), position)


def lines(db: orm.Session, filters: Filters, ids: list[int]) -> dict[int, ResponseLine]:
    """These turns as the list shows them, in their order; one that was deleted a moment ago is left out."""
    if not ids:
        return {}
    select = response_query.joined(_line, filters.under).where(Turn.id.in_(ids))
    rows = {row.turn_id: row for row in db.execute(select)}
    return {turn_id: _response_line(rows[turn_id]) for turn_id in ids if turn_id in rows}


_line = sa.select(
    Turn.id.label("turn_id"),
    *(getattr(Session, name) for name in ("key", "external_id", "revision", "newest", "home_profile")),
    *shown_columns,
    response_query.under.verdict.label("under"),
    response_query.failed().label("failed"),
    sa.case((response_query.under.ambiguous, response_query.under.trace)).label("doubtful"),
    sa.case((response_query.ours.ambiguous, response_query.ours.trace)).label("ours_doubtful"),
)


def _response_line(row: Any) -> ResponseLine:
    columns = dict(row._mapping)
    del columns["turn_id"]
    failed, head, doubtful, ours = (columns.pop(name) for name in ("failed", "head", "doubtful", "ours_doubtful"))
    rescued = bool(failed) and is_rescued(row.fencepost, row.contract)
    flags = (doubtful or (ours if rescued else None) or {}).get("flags", ())
    return ResponseLine(
        **columns,
        failed=bool(failed),
        rescued=rescued,
        preview=preview(bytes(head or b"")),
        flags=tuple(map(Flag.from_dict, flags)),
    )
