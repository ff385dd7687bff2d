"""Dumps that came in, as the dumps page and the API list them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.dumps.session_keys import OPTION
from webapp.refusals import NotThere
from webapp.store.db.ids import batched
from webapp.store.models import ANSWERS_MISSING, Dump, DumpSession, Session
from webapp.store.sessions.where import id_of
from webapp.store.write.tally import LETTERS, NOT_RUN

MOST_SESSIONS = 20
_LOOKED_AT = 100
"""sessions of a dump of which is seen what named them"""


class NoSuchDump(NotThere):
    """No dump has that hash or number."""


def page(db: orm.Session, *, limit: int = 100, before: int | None = None, without: Collection[int] = ()) -> list[Dump]:
    """The newest dumps first: those with a lower number than `before`, and not those in `without`."""
    query = sa.select(Dump.__table__).where(Dump.id.not_in(without)).order_by(Dump.id.desc()).limit(limit)
    if before is not None:
        query = query.where(Dump.id < before)
    connection = db.connection()
    return [_line(connection, row) for row in connection.execute(query).all()]


def sessions_of(db: orm.Session, dump_id: int, *, after: int = 0, limit: int = 100) -> Sequence[Any]:
    """The sessions of a dump in order, behind the number `after`; `new_turns` are those that this dump brought."""
    query = (
        sa.select(
            *(Session.id, Session.key, Session.external_id, Session.newest, Session.revision),
            *(Session.turn_count, Session.failed_count, DumpSession.new_turns, Session.home_profile),
            Session.strip.contains(LETTERS[NOT_RUN]).label("not_run_count"),
        )
        .join(DumpSession, DumpSession.session_id == Session.id)
        .where(DumpSession.dump_id == dump_id, Session.deleted_at.is_(None), Session.id > after)
        .order_by(Session.id)
        .limit(limit)
    )
    return db.execute(query).all()


def named_sessions(connection: sa.Connection, dump_id: int) -> tuple[list[str], list[str]]:
    """The ids and the keys of all sessions of a dump, those that are deleted too."""
    rows = connection.execute(_find_names, {"dump": dump_id}).all()
    return [row.external_id for row in rows], [row.key for row in rows]


_find_names = (
    sa.select(Session.external_id, Session.key)
    .join(DumpSession, DumpSession.session_id == Session.id)
    .where(DumpSession.dump_id == sa.bindparam("dump"))
    .order_by(Session.id)
)


def session_key_of(db: orm.Session, dump_id: int) -> str | None:
    """The keys of its entries that named a dump's sessions, as its first sessions have it: an archive's differ."""
    query = sa.select(Session.extra).join(DumpSession, DumpSession.session_id == Session.id)
    extras = db.scalars(query.where(DumpSession.dump_id == dump_id).order_by(Session.id).limit(_LOOKED_AT))
    return ", ".join(dict.fromkeys(extra[OPTION] for extra in extras if extra and OPTION in extra)) or None


def find(db: orm.Session, ident: str | int) -> Dump:
    """The dump with that sha256 or number; raises `NoSuchDump`."""
    return line(db.connection(), find_id(db, ident))


def find_id(db: orm.Session, ident: str | int) -> int:
    """The number of the dump with that sha256 or number; raises `NoSuchDump`."""
    text = str(ident)
    dump_id = db.scalar(id_of(text))
    if dump_id is None:
        raise NoSuchDump(f"no log has the number or hash {text[:200]!r}")
    return dump_id


def line(connection: sa.Connection, dump_id: int) -> Dump:
    """One dump's line, by its number."""
    return _line(connection, connection.execute(sa.select(Dump.__table__).where(Dump.id == dump_id)).one())


_find_links = (  # made once: a page has fifty dumps, and to make it takes longer than to execute it
    sa.select(Session.key, Session.external_id, Session.newest.label("newest"))
    .join(DumpSession, DumpSession.session_id == Session.id)
    .where(DumpSession.dump_id == sa.bindparam("dump"), Session.deleted_at.is_(None))
    .order_by(Session.id)
    .limit(MOST_SESSIONS)
)


def _line(connection: sa.Connection, row: sa.Row[Any]) -> Dump:
    """The dump, of its problems missing answers before others, and of its sessions the first 20."""
    dump = Dump(**row._mapping)
    dump.sessions = connection.execute(_find_links, {"dump": row.id}).all()
    dump.problems = sorted(dump.problems, key=lambda problem: problem.get("code") != ANSWERS_MISSING)
    return dump


def beginning(connection: sa.Connection, prefix: str = "") -> list[int]:
    """The numbers of the dumps whose hash or file name begins with `prefix`, the newest first."""
    query = sa.select(Dump.id, Dump.sha256, Dump.filename).order_by(Dump.id.desc())
    rows = connection.execute(query.execution_options(yield_per=1000))
    return [row.id for row in rows if row.sha256.startswith(prefix.lower()) or row.filename.startswith(prefix)]


def count(db: orm.Session) -> int:
    """How many dumps there are."""
    return db.scalar(sa.select(sa.func.count()).select_from(Dump)) or 0


def brought(connection: sa.Connection, dump_id: int) -> dict[str, int]:
    """What a dump brought, by all who read it: sessions that are `new` and that are `grown`, and their `turns`."""
    is_new = Session.dump_id == DumpSession.dump_id
    is_grown = sa.and_(~is_new, DumpSession.new_turns > 0)
    sums = (sa.case((is_new, 1), else_=0), sa.case((is_grown, 1), else_=0), DumpSession.new_turns)
    query = sa.select(*(sa.func.coalesce(sa.func.sum(one), 0) for one in sums))
    of_dump = query.join(DumpSession, DumpSession.session_id == Session.id).where(DumpSession.dump_id == dump_id)
    return dict(zip(("new", "grown", "turns"), map(int, connection.execute(of_dump).one()), strict=True))


_find_linked = sa.select(DumpSession.session_id).where(
    DumpSession.dump_id == sa.bindparam("dump"), DumpSession.session_id.in_(sa.bindparam("sessions", expanding=True))
)
_insert = sa.insert(DumpSession)
_add_turns = (
    sa.update(DumpSession)
    .where(DumpSession.dump_id == sa.bindparam("dump"), DumpSession.session_id == sa.bindparam("session"))
    .values(new_turns=DumpSession.new_turns + sa.bindparam("turns"))
)


def link(connection: sa.Connection, dump_id: int, new_turns: Mapping[int, int]) -> int:
    """Link sessions to a dump that brought them so many turns more; how many were not linked before."""
    ids, linked = list(new_turns), set[int]()
    for batch in batched(ids):
        linked |= set(connection.scalars(_find_linked, {"dump": dump_id, "sessions": batch}))
    more = [{"dump": dump_id, "session": number, "turns": new_turns[number]} for number in linked if new_turns[number]]
    if more:
        connection.execute(_add_turns, more)
    fresh = [number for number in ids if number not in linked]
    values = [{"dump_id": dump_id, "session_id": number, "new_turns": new_turns[number]} for number in fresh]
    if values:
        connection.execute(_insert, values)
    return len(fresh)
