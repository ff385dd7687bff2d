"""Changes of the home profile of many sessions: each session in a transaction, resumed where killed, and undone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp.parsing import UnknownProfile
from webapp.parsing import profile as find_profile
from webapp.store import derive
from webapp.store.db.database import writing, writing_long
from webapp.store.homes.changing import change_home
from webapp.store.models import HomeChange, HomeChangeSession, Session
from webapp.store.write.home import DECLINED, UNKNOWN, Home

MOST_SHOWN = 50
_AT_ONCE = 500

_log = logging.getLogger(__name__)

Ends = Callable[[], bool]
Homes = list[tuple[Any, ...]]
"""sessions with the profile and the source that they are to get"""


class NoSuchHomeChange(LookupError):
    """No change of home profiles has that number."""


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change: `state` is running, done or cancelled; `finished` of `total` sessions are through.

    `undoes` is the change that this one takes back; `undone` says that this one was taken back itself.
    """

    id: int
    profile: str
    scope: dict[str, Any]
    state: str
    author: str
    total: int
    finished: int
    undoes: int | None
    undone: bool
    made_at: datetime
    ended_at: datetime | None


def home_of_name(name: str | None) -> Home:
    """What somebody says the home is: a profile's name, None or "unknown" to leave it open. Raises `UnknownProfile`."""
    if name is None or name == UNKNOWN:
        return Home(UNKNOWN, DECLINED)
    return Home(find_profile(name).name, "told")


def begin(
    engine: sa.Engine, session_ids: Iterable[int], home: Home, *, scope: dict[str, Any] | None = None, author: str = ""
) -> int:
    """Note that these sessions are to get `home`; gives the change's number. `work` does it."""
    ids = sorted(set(session_ids))
    with writing(engine) as connection:
        return _insert(connection, home.profile, scope or {}, author, [(number, *home) for number in ids])


def begin_undoing(engine: sa.Engine, number: int, author: str = "") -> int:
    """Note that the sessions of a change are to get back what they had; a change that still runs is cancelled.

    Gives the number of the change that does so. Raises `NoSuchHomeChange`.
    """
    with writing(engine) as connection:
        change = find(connection, number)
        _end(connection, number, "cancelled")
        line = HomeChangeSession
        query = sa.select(line.session_id, line.former_profile, line.former_source)
        changed = connection.execute(query.where(line.change_id == number, line.state == "changed")).all()
        connection.execute(sa.update(HomeChange).where(HomeChange.id == number).values(undone=True))
        return _insert(connection, change.profile, change.scope, author, [tuple(row) for row in changed], number)


def work(
    engine: sa.Engine,
    number: int,
    *,
    ends: Ends = lambda: False,
    on_progress: Callable[[int, int], None] = lambda _finished, _total: None,
) -> bool:
    """Change the sessions of a change that are left, each in a transaction; whether it came to its end.

    Two may be at the same change: each session is taken by one of them.
    """
    while not ends():
        with writing_long(engine) as connection:
            change = find(connection, number)
            if change.state != "running":
                return True
            session_id = _step(connection, change)
            if session_id is None:
                return _end(connection, number, "done", ~_is_waiting)
        derive.settle(engine, session_id)
        on_progress(change.finished + 1, change.total)
    return False


def work_all(engine: sa.Engine, ends: Ends = lambda: False) -> None:
    """Do all changes that wait, also those that a killed process left."""
    while not ends():
        with engine.connect() as connection:
            number = connection.scalar(_running.limit(1))
        if number is None:
            return
        try:
            work(engine, number, ends=ends)
        except UnknownProfile as unknown:  # one of somebody's own that is gone since
            _log.warning("change %s of home profiles is cancelled: %s", number, unknown)
            cancel(engine, number)


def tell(engine: sa.Engine, keys: Sequence[str], name: str, scope: dict[str, Any]) -> int:
    """Give those of the sessions that have another home the profile `name`; how many have it only now."""
    ids: list[int] = []
    with engine.connect() as connection:
        for at in range(0, len(keys), _AT_ONCE):
            is_of_another_home = sa.and_(Session.key.in_(keys[at : at + _AT_ONCE]), Session.home_profile != name)
            ids += connection.scalars(sa.select(Session.id).where(is_of_another_home))
    if ids:
        work(engine, begin(engine, ids, Home(name, "told"), scope=scope))
    return len(ids)


def are_running(connection: sa.Connection) -> bool:
    return connection.scalar(_running.limit(1)) is not None


def cancel(engine: sa.Engine, number: int) -> None:
    """Leave the sessions that are not changed yet as they are. Raises `NoSuchHomeChange`."""
    with writing(engine) as connection:
        find(connection, number)
        _end(connection, number, "cancelled")


def find(connection: sa.Connection, number: int) -> ChangeLine:
    """Raises `NoSuchHomeChange`."""
    row = connection.execute(_lines.where(HomeChange.id == number)).first()
    if row is None:
        raise NoSuchHomeChange(f"no change of parsers has the number {number}")
    return ChangeLine(*row)


def lines(connection: sa.Connection) -> list[ChangeLine]:
    """The last changes, the newest first."""
    return [ChangeLine(*row) for row in connection.execute(_lines.order_by(HomeChange.id.desc()).limit(MOST_SHOWN))]


_running = sa.select(HomeChange.id).where(HomeChange.state == "running").order_by(HomeChange.id)
_lines = sa.select(*(getattr(HomeChange, name) for name in ChangeLine.__dataclass_fields__))


def _insert(
    connection: sa.Connection, profile: str, scope: dict[str, Any], author: str, homes: Homes, undoes: int | None = None
) -> int:
    values: dict[str, Any] = {"profile": profile, "scope": scope, "author": author, "total": len(homes)}
    values |= {"state": "running", "finished": 0, "undoes": undoes, "undone": False, "made_at": datetime.now(UTC)}
    number: int = connection.scalars(sa.insert(HomeChange).values(values).returning(HomeChange.id)).one()
    for at in range(0, len(homes), _AT_ONCE):
        waiting = [
            {"change_id": number, "session_id": session_id, "profile": name, "source": source, "state": "waiting"}
            for session_id, name, source in homes[at : at + _AT_ONCE]
        ]
        connection.execute(sa.insert(HomeChangeSession), waiting)
    return number


def _step(connection: sa.Connection, change: ChangeLine) -> int | None:
    """Change the next session, and give its number; None where none is left that nobody else is at."""
    line = HomeChangeSession
    waiting = sa.select(line.session_id, line.profile, line.source)
    waiting = waiting.where(line.change_id == change.id, line.state == "waiting").order_by(line.session_id).limit(1)
    row = connection.execute(waiting.with_for_update(skip_locked=True)).first()
    if row is None:
        return None
    session_id: int = row.session_id
    values: dict[str, Any] = {"state": "left"}
    current = sa.select(Session.home_profile).where(Session.id == session_id)
    if change.undoes is None or connection.scalar(current) == change.profile:  # nobody gave it another home since
        former = change_home(connection, session_id, Home(row.profile, row.source))
        if former is not None and former != (row.profile, row.source):
            values = {"state": "changed", "former_profile": former.profile, "former_source": former.source}
    here = sa.and_(line.change_id == change.id, line.session_id == session_id)
    connection.execute(sa.update(line).where(here).values(values))
    finished = sa.update(HomeChange).where(HomeChange.id == change.id)
    connection.execute(finished.values(finished=HomeChange.finished + 1))
    return session_id


_is_waiting = sa.exists().where(HomeChangeSession.change_id == HomeChange.id, HomeChangeSession.state == "waiting")
"""whether another process is at the last sessions, for one that finds none that is free"""


def _end(connection: sa.Connection, number: int, state: str, *where: sa.ColumnElement[bool]) -> bool:
    update = sa.update(HomeChange).where(HomeChange.id == number, HomeChange.state == "running", *where)
    return bool(connection.execute(update.values(state=state, ended_at=datetime.now(UTC))).rowcount)
