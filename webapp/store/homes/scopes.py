"""Which sessions a change of the home profile is for: those with some keys, else those under the list's filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.models import Session
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions.filters import Filters, of_parameters
from webapp.store.write.parser import UNKNOWN


class BadScope(ValueError):
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
        """As a change keeps it and `selection.words_of` reads it."""
        parts = {"keys": list(self.keys)} if self.keys else {"filters": self.filters.active()}
        return parts | ({"unknown_only": True} if self.unknown_only else {})


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
    query = sa.select(Session.id).where(Session.deleted_at.is_(None))
    if scope.unknown_only:
        query = query.where(Session.home_source == UNKNOWN)
    if scope.keys:
        query = query.where(Session.key.in_(scope.keys))
    ids = set(db.scalars(query))
    if not scope.keys:
        ids.intersection_update(db.scalars(session_store.view(db, scope.filters).ids()))
    if not ids:
        raise BadScope("there is no such session")
    return sorted(ids)
