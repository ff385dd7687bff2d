"""Links to sessions and turns: by id where it is plain and names just this revision, else by key."""

from __future__ import annotations

from typing import Any, Protocol

from flask import url_for

from webapp.web.ids import is_plain


class Linked(Protocol):
    """Anything that names a session."""

    @property
    def external_id(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def newest(self) -> bool: ...


def ident(session: Linked) -> str:
    """What stands for the session in a URL. The id means the newest revision, so an older one goes by its key."""
    return session.external_id if session.newest and is_plain(session.external_id) else session.key


def session_url(session: Linked, **query: Any) -> str:
    return url_for("sessions.show", ident=ident(session), **query)


def turn_url(session: Linked, position: int, **query: Any) -> str:
    return url_for("turns.show", ident=ident(session), position=position, **query)


def dump_url(session: Linked) -> str:
    return url_for("sessions.download_dump", ident=ident(session))
