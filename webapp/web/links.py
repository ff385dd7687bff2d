"""Links to sessions and turns: by id where it is plain and names just this revision, else by key."""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from flask import request, url_for

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
    """Without a query it is put together here: a list has many, and Flask's builder would take most of its time."""
    if query:
        return url_for("sessions.show", ident=ident(session), **query)
    return f"{request.script_root}/sessions/{quote(ident(session), safe='')}"


def turn_url(session: Linked, position: int, **query: Any) -> str:
    if query:
        return url_for("turns.show", ident=ident(session), position=position, **query)
    return f"{session_url(session)}/turns/{position}"


def dump_url(session: Linked) -> str:
    return url_for("sessions.download_dump", ident=ident(session))


def with_query(url: str) -> str:
    """`url` with the query of this request: for addresses that have moved."""
    query = request.query_string.decode("latin-1")
    return in_header(f"{url}?{query}") if query else url


def own_path(path: str) -> str:
    """`path` where it is a path of this server, else the first page. It can stand in a header."""
    try:
        parts = urlsplit(path)
    except ValueError:  # "//[evil": no address at all
        return url_for("failures.index")
    root = f"{request.script_root}/"
    ours = path.startswith(root) and not path.startswith(("//", "/\\")) and not parts.scheme and not parts.netloc
    return in_header(path) if ours and path.isprintable() else url_for("failures.index")


def in_header(address: str) -> str:
    """`address` with each character quoted that no header holds: line feeds, and what is not ASCII."""
    return quote(address, safe="%/:?#[]@!$&'()*+,;=~", errors="replace")
