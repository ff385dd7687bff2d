"""Which sessions a change of the home profile is for: some keys, a dump, a format, a service, or the list's filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.store.homes.trials import of_dump
from webapp.store.models import Session
from webapp.store.sessions import dumps
from webapp.store.sessions import sessions as session_store
from webapp.store.sessions.filters import Filters, of_parameters
from webapp.store.write.parser import UNKNOWN


class BadScope(ValueError):
    """What was asked for names no sessions; the message says why."""


@dataclass(frozen=True, slots=True)
class HomeScope:
    """One of these is set: `keys` of sessions, a `dump` (its number or sha256), a `format`, a `service`, `filters`.

    `unknown_only` leaves sessions alone whose home somebody has named, or has left open when asked.
    """

    keys: tuple[str, ...] = ()
    dump: str | None = None
    format: str | None = None
    service: str | None = None
    filters: Filters | None = None
    unknown_only: bool = False

    def as_dict(self) -> dict[str, Any]:
        """As a change keeps it and `scope_words` reads it."""
        fields = {"keys": list(self.keys), "dump": self.dump, "format": self.format, "service": self.service}
        parts: dict[str, Any] = {name: value for name, value in fields.items() if value}
        if self.filters is not None:
            parts["filters"] = self.filters.active()
        return parts | ({"unknown_only": True} if self.unknown_only else {})


def of_parameters_or_keys(parameters: dict[str, str], keys: Sequence[str]) -> HomeScope:
    """What a form or a command asks for. Raises `BadScope`, `BadFilter`."""
    unknown_only = parameters.get("unknown_only") == "1"
    kind = parameters.get("scope", "keys")
    if kind == "keys":
        if not keys:
            raise BadScope("no session is selected")
        return HomeScope(tuple(keys), unknown_only=unknown_only)
    if kind == "filters":
        return HomeScope(filters=of_parameters(parameters), unknown_only=unknown_only)
    value = parameters.get(kind, "").strip()
    if kind not in ("dump", "format", "service") or not value:
        raise BadScope("the scope is keys, dump, format, service or filters, with a value")
    dump, format_, service = (value if kind == name else None for name in ("dump", "format", "service"))
    return HomeScope(dump=dump, format=format_, service=service, unknown_only=unknown_only)


def session_ids(db: orm.Session, scope: HomeScope) -> list[int]:
    """The numbers of the sessions that the scope names. Raises `NoSuchDump`, `BadScope` where there is none."""
    query = sa.select(Session.id).where(Session.deleted_at.is_(None))
    if scope.unknown_only:
        query = query.where(Session.home_source == UNKNOWN)
    if scope.filters is not None:
        ids = set(db.scalars(session_store.view(db, scope.filters).ids()))
        ids = ids.intersection(db.scalars(query)) if scope.unknown_only else ids
    else:
        ids = set(db.scalars(query.where(_is_named(db, scope))))
    if not ids:
        raise BadScope("there is no such session")
    return sorted(ids)


def _is_named(db: orm.Session, scope: HomeScope) -> sa.ColumnElement[bool]:
    if scope.keys:
        return Session.key.in_(scope.keys)
    if scope.dump is not None:
        return of_dump(dumps.find_id(db, scope.dump))
    return Session.source_format == scope.format if scope.format is not None else Session.service == scope.service


def scope_words(scope: dict[str, Any]) -> str:
    """What a stored scope is for: `sessions of the service checkout-agent`."""
    unknown = " whose parser was unknown" if scope.get("unknown_only") else ""
    for name, words in (("dump", "of dump"), ("format", "of the format"), ("service", "of the service")):
        if name in scope:
            return f"sessions {words} {scope[name]}{unknown}"
    if "filters" in scope:
        filters = ", ".join(f"{name} {value}" for name, value in scope["filters"].items())
        return f"sessions under {filters}{unknown}" if filters else f"all sessions{unknown}"
    keys = scope.get("keys", [])
    return f"session {keys[0]}" if len(keys) == 1 else f"{len(keys):,} selected sessions{unknown}"
