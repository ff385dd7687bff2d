"""What the debugger reads: one response's traces under several profiles at once, and the turns around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import jsontext, parsing
from webapp.dumps.records import MODEL_KINDS
from webapp.parsing.trace import read_stored
from webapp.store.db import types
from webapp.store.models import Parse, Session, Turn
from webapp.store.sessions import sessions, turns
from webapp.store.sessions.filters import Filters, place
from webapp.store.sessions.turns import NoSuchTurn, TurnDetail

EXCERPT = 1_200
"""code points"""
MOST_AFTER = 3
LIGHT_BYTES = 256 * 1024
_ASKED_FOR = ("prompt", "tool_result", "error")


_find_parses = sa.select(
    Parse.profile, Parse.version, sa.type_coerce(Parse.trace, sa.LargeBinary()).label("trace")
).where(Parse.turn_id == sa.bindparam("turn"), Parse.profile.in_(sa.bindparam("names", expanding=True)))
_excerpts = sa.select(
    Turn.position,
    Turn.kind,
    Turn.role,
    Turn.agent,
    types.head(Turn.raw, 4 * EXCERPT).label("head"),
    types.Length(Turn.raw).label("length"),
).where(Turn.session_id == sa.bindparam("session"), Turn.duplicate_of.is_(None), Turn.raw.is_not(None))
_before = (
    _excerpts.where(Turn.position < sa.bindparam("position"), Turn.kind.in_(_ASKED_FOR))
    .order_by(Turn.position.desc())
    .limit(1)
)
_after = (
    _excerpts.where(Turn.position > sa.bindparam("position"), Turn.kind != "event")
    .order_by(Turn.position)
    .limit(MOST_AFTER)
)


def reader(
    db: orm.Session, detail: TurnDetail, names: Iterable[str], *, light: bool = False
) -> Callable[[str], parsing.Trace]:
    """Gives the trace under each of `names`: as stored where its version is current, else made when asked for.

    A stored one that does not fit the text comes as one that says so (`read_stored`).

    With `light` a stored trace of more than `LIGHT_BYTES` comes without its values. Raises `UnknownProfile` for a
    name that no profile has and nothing is stored of.
    """
    rows = db.execute(_find_parses, {"turn": detail.turn.id, "names": list(names)})
    traces = {row.profile: (row.version, bytes(row.trace)) for row in rows}
    made = parsing.readings(detail.turn.raw or "")

    def trace(name: str) -> parsing.Trace:
        version, packed = traces.get(name, (None, b""))
        if version != _current_version(name, version):
            return made(name)
        data = types.unpack(packed)
        document = jsontext.loads(without_values(data) if light and len(data) > LIGHT_BYTES else data)
        return read_stored(detail.turn.raw or "", document)

    return trace


def _current_version(name: str, stored_version: str | None) -> str:
    """The profile's version; of one that is configured no longer the stored trace's, which is shown as it is."""
    try:
        return parsing.profile(name).version
    except parsing.UnknownProfile:
        if stored_version is None:
            raise
        return stored_version


def trace(detail: TurnDetail, name: str) -> parsing.Trace:
    """The trace of the turn's text under one profile, as `reader` gives it.

    Raises `UnknownProfile`; `NoSuchTurn` where no model wrote the turn.
    """
    turn = detail.turn
    if turn.raw is None or turn.kind not in MODEL_KINDS:
        raise NoSuchTurn(f"no model wrote turn {turn.position}, so nothing was parsed")
    db = orm.object_session(turn)
    return reader(db, detail, [name])(name) if db is not None else parsing.parse(turn.raw, name)


def without_values(data: bytes) -> bytes:
    """A stored trace with an empty list of values: of a large one they are nearly all, and take long to decode.

    No string of JSON holds `"values":[`, since its quotes would be escaped; none of a trace's members before the
    values has that name, and none behind the last `"attempts":[`.
    """
    start = data.index(b'"values":[')
    return data[:start] + b'"values":[],' + data[data.rindex(b'"attempts":[') :]


class TurnExcerpt(NamedTuple):
    """A turn with its text, at most `EXCERPT` code points; `more` says that there is more of it."""

    position: int
    kind: str
    role: str | None
    agent: str | None
    text: str
    more: bool


def before(db: orm.Session, session: Session, position: int) -> TurnExcerpt | None:
    """The nearest turn before that the response answers: a prompt, a tool result or an error."""
    row = db.execute(_before, {"session": session.id, "position": position}).first()
    return None if row is None else _excerpt(row)


def after(db: orm.Session, session: Session, position: int) -> list[TurnExcerpt]:
    """What came of it: the tool results and errors before the next response or prompt, at most three.

    Where there are none, the prompt that follows: some programs send their validation errors as one.
    """
    excerpts: list[TurnExcerpt] = []
    for row in db.execute(_after, {"session": session.id, "position": position}):
        if row.kind in MODEL_KINDS or (row.kind == "prompt" and excerpts):
            break
        excerpts.append(_excerpt(row))
    return excerpts


def _excerpt(row: Any) -> TurnExcerpt:
    text = types.decoded(bytes(row.head))
    is_more = row.length > len(row.head) or len(text) > EXCERPT
    return TurnExcerpt(row.position, row.kind, row.role, row.agent, text[:EXCERPT], is_more)


def failed_beside(
    db: orm.Session, filters: Filters, session: Session, position: int, forward: bool
) -> tuple[Session, int] | None:
    """Session and position of the failed response next to `position`, there or in those of the list behind (or before).

    Before the first turn the position is -1. After a search the sessions come newest first, as in the list; of a text
    that very many sessions hold, only the newest are gone through. None where the list ends. Raises `BadFilter`.
    """
    near = turns.neighbours(db, session, position)
    if (in_session := near.next_failed if forward else near.previous_failed) is not None:
        return session, in_session
    view = replace(sessions.view(db, filters), filters=replace(filters, failed=True))
    here, has_failed = place(view.order, session), Session.failed_count > 0
    for row in sessions.in_order(db, view, view.order, here, 1, Session, where=[has_failed], forward=forward):
        if failed := turns.failed_positions(db, row.Session):
            return row.Session, failed[0 if forward else -1]
    return None
