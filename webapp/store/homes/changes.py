"""Changes of the home profile of many sessions: each session in a transaction, resumed where killed, and undone.

The `about` of such a task has `profile` and `source` (what the sessions get; of an undoing what they had got), `scope`,
`author`, `total`, `undoes` (the change that it takes back) and `undone` (whether it was taken back itself); its
`progress` how many are `finished`, and behind which session (`after`) the rest is. A session has the number of the
change that was asked for last, and beside its home another one: what it is to get, and when it has got it, what it had
before that. A change, and its undoing too, changes the two round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.parsing import profile as find_profile
from webapp.refusals import BadInput
from webapp.store import derive, tasks
from webapp.store.db import dialect
from webapp.store.db.database import writing, writing_long
from webapp.store.db.ids import batched
from webapp.store.homes import rules
from webapp.store.models import Session, Task
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions.filters import Filters, of_parameters
from webapp.store.tasks import HOMES
from webapp.store.write import rows
from webapp.store.write.parser import DECLINED, UNKNOWN, Home

MOST_SHOWN = 50

Ends = Callable[[], bool]


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
        number = _insert(connection, home, scope or {}, author, len(ids))
        for batch in batched(ids):
            wanted = {"other_profile": home.profile, "other_source": home.source}
            _claim(connection, number, Session.id.in_(batch), **wanted)
        return number


def begin_undoing(engine: sa.Engine, number: int, author: str = "") -> int:
    """Note that the sessions of a change are to get back what they had; a change that still runs is cancelled.

    Gives the number of the change that does so. Raises `NoSuchTask`.
    """
    with engine.connect() as connection:
        tasks.find(connection, number, HOMES)
    tasks.cancel(engine, number)
    with writing(engine) as connection:
        change = tasks.find(connection, number, HOMES)
        about = change.about
        undone = sa.update(Task).where(Task.id == number).values(about=about | {"undone": True})
        connection.execute(undone)
        home = Home(about["profile"], about["source"])
        differs = sa.or_(Session.other_profile != home.profile, Session.other_source != home.source)
        changed = (Session.home_change == number, Session.home_profile == home.profile, differs)
        total = connection.scalar(sa.select(sa.func.count()).select_from(Session).where(*changed)) or 0
        undoing = _insert(connection, home, about["scope"], author, total, number)
        _claim(connection, undoing, *changed)
        return undoing


def work(
    engine: sa.Engine,
    number: int,
    *,
    ends: Ends = lambda: False,
    between: Callable[[], None] = lambda: None,
    on_progress: Callable[[int, int], None] = lambda _finished, _total: None,
) -> bool:
    """Change the sessions of a change that are left, each in a transaction; whether it came to its end.

    Two may be at the same change: each session is taken by one of them. What another took and has not derived yet,
    or never will because it was killed, is derived before the end. `between` is called between two sessions.
    """
    while not ends():
        with writing_long(engine) as connection:
            task = _locked(connection, number)
            if not task.live:
                return True
            session_id = _step(connection, task)
        if session_id is None:
            with engine.connect() as connection:
                taken = sa.select(Session.id).where(Session.home_change == number, Session.stale)
                underived = connection.scalars(taken).all()
            derive.settle(engine, underived)
            tasks.end(engine, number, "done", None)
            return True
        derive.settle(engine, [session_id])
        on_progress(task.progress.get("finished", 0) + 1, task.about["total"])
        between()
    return False


def tell(engine: sa.Engine, keys: Sequence[str], name: str, scope: dict[str, Any]) -> int:
    """Give those of the sessions that have another home the profile `name`; how many have it only now."""
    ids: list[int] = []
    with engine.connect() as connection:
        for batch in batched(keys):
            is_of_another_home = sa.and_(Session.key.in_(batch), Session.home_profile != name)
            ids += connection.scalars(sa.select(Session.id).where(is_of_another_home))
    if ids:
        work(engine, begin(engine, ids, Home(name, "told"), scope=scope))
    return len(ids)


def as_dict(task: Task) -> dict[str, Any]:
    """A change as commands print it."""
    names = ("profile", "scope", "author", "total", "undoes", "undone")
    about = {"id": task.id, "state": "running" if task.live else task.state}
    about |= {name: task.about[name] for name in names} | {"finished": task.progress.get("finished", 0)}
    return about | {"made_at": task.made_at, "ended_at": task.ended_at}


def _insert(
    connection: sa.Connection, home: Home, scope: dict[str, Any], author: str, total: int, undoes: int | None = None
) -> int:
    about = {"profile": home.profile, "source": home.source, "scope": scope, "author": author, "total": total}
    return tasks.insert(connection, HOMES, about | {"undoes": undoes, "undone": False})


def _claim(connection: sa.Connection, number: int, *where: sa.ColumnElement[bool], **values: Any) -> None:
    """Note of sessions that this change was asked for last, whichever is worked at first."""
    connection.execute(sa.select(Session.id).where(*where).order_by(Session.id).with_for_update(key_share=True)).all()
    connection.execute(sa.update(Session).where(*where).values(home_change=number, **values))


def _locked(connection: sa.Connection, number: int) -> Task:
    """The task, which nobody else notes anything of before the transaction ends."""
    connection.execute(sa.select(Task.id).where(Task.id == number).with_for_update())
    return tasks.find(connection, number, HOMES)


def _step(connection: sa.Connection, task: Task) -> int | None:
    """Give the next session its other home, and its number; None where none is left. Raises `UnknownProfile`.

    What another version of this profile parsed is forgotten, so that it is parsed anew; what others made of the
    responses stays.
    """
    after, finished = task.progress.get("after", 0), task.progress.get("finished", 0)
    homes = (Session.home_profile, Session.home_source, Session.other_profile, Session.other_source)
    query = sa.select(Session.id, *homes).where(Session.home_change == task.id, Session.id > after)
    row = connection.execute(query.order_by(Session.id).limit(1).with_for_update(key_share=True)).first()
    if row is None:
        return None
    number, former = int(row.id), Home(row.home_profile, row.home_source)
    home = Home(row.other_profile or UNKNOWN, row.other_source or UNKNOWN)
    values: dict[str, Any] = {"other_profile": former.profile, "other_source": former.source}
    if home != former:
        values |= {"home_profile": home.profile, "home_source": home.source, "changed": dialect.change()}
        values |= {"tried": None, "tried_key": None}
    connection.execute(sa.update(Session).where(Session.id == number).values(values))
    if home.profile != former.profile:
        if home.known:
            rows.forget_parses(connection, [number], home.profile, find_profile(home.profile).version)
        derive.mark_stale(connection, [number])
    progress = {"finished": finished + 1, "after": number}
    connection.execute(sa.update(Task).where(Task.id == task.id).values(progress=progress))
    return number


class BadScope(BadInput):
    """What was asked for names no sessions; the message says why."""


@dataclass(frozen=True, slots=True)
class HomeScope:
    """Sessions with these `keys`, or without any those under `filters`.

    `unknown_only` leaves sessions alone whose home somebody has named, or has left open when asked.
    """

    keys: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    unknown_only: bool = False

    def as_dict(self) -> dict[str, Any]:
        """As a change keeps it and `sessions.words_of` reads it."""
        parts = {"keys": list(self.keys)} if self.keys else {"filters": self.filters.active()}
        return parts | ({"unknown_only": True} if self.unknown_only else {})


def remember(engine: sa.Engine, scope: HomeScope, profile: str, author: str) -> None:
    """Keep a rule for what comes in later, of the one filter that the scope is. Raises `BadRule`."""
    filters = list(scope.filters.active().items())
    kind, value = filters[0] if len(filters) == 1 else ("", "")
    with writing(engine) as connection:
        rules.remember(connection, kind, str(value), profile, author)


def of_parameters_or_keys(parameters: dict[str, str], keys: Sequence[str]) -> HomeScope:
    """What a form asks for: `scope` is keys, filters, or one filter alone. Raises `BadScope`, `BadFilter`."""
    unknown_only = parameters.get("unknown_only") == "1"
    kind = parameters.get("scope", "keys")
    if kind == "keys":
        if not keys:
            raise BadScope("no session is selected")
        return HomeScope(tuple(keys), unknown_only=unknown_only)
    if kind != "filters":
        value = parameters.get(kind, "").strip()
        if kind not in ("dump", "format", "service") or not value:
            raise BadScope("the scope is keys, dump, format, service or filters, with a value")
        parameters = {kind: value}
    return HomeScope(filters=of_parameters(parameters), unknown_only=unknown_only)


def session_ids(db: orm.Session, scope: HomeScope) -> list[int]:
    """The numbers of the sessions that the scope names. Raises `BadScope` where there is none."""
    of_keys = sa.select(Session.id).where(Session.key.in_(scope.keys), Session.deleted_at.is_(None))
    query = of_keys if scope.keys else session_store.view(db, scope.filters).ids()
    ids = db.scalars(query.where(Session.home_source == UNKNOWN) if scope.unknown_only else query)
    if not (in_order := sorted(ids)):
        raise BadScope("there is no such session")
    return in_order
