"""Every address that a browser can open, with what is stored filled in; and all that is stored."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import sqlalchemy as sa
from flask import Flask

from webapp.extensions import db

SESSION = (
    b'{"session_id": "s", "title": "t", "entries": ['
    b'{"node_type": "agent", "role": "user", "content": "Do it."},'
    b'{"node_type": "agent", "role": "assistant", "model": "m", "content": "{\\"a\\": 1,}}"}]}'
)
FILLED = {"session_id:ident": "s", "int:position": "1", "int:number": "1", "int:view_id": "1", "name": "fencepost"}


def entry(content: Any, node_type: str = "agent", role: str = "agent", **more: Any) -> dict[str, Any]:
    """A Windlass entry: a response, if nothing else is said."""
    return {"timestamp": 1764684000.5, "node_type": node_type, "role": role, "content": content, "model": "m-1"} | more


def windlass(session_id: Any, *entries: Any) -> bytes:
    """A Windlass dump of a session with these entries."""
    return json.dumps({"session_id": session_id, "entry_count": len(entries), "entries": list(entries)}).encode()


def session(session_id: Any, *texts: Any, **more: Any) -> bytes:
    """A Windlass dump of a session with these responses, each with these fields."""
    return windlass(session_id, *(entry(text, **more) for text in texts))


class _Attributes(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(name, value or "") for name, value in attrs]


def attributes(page: str) -> list[tuple[str, str]]:
    """The name and value of each attribute of a page."""
    return _Attributes(page).found


def addresses(app: Flask, **filled: str) -> list[str]:
    """The addresses of all GET routes; `filled` says what stands for a converter and name, else `fencepost` does."""
    values = FILLED | filled
    rules = [
        rule for rule in app.url_map.iter_rules() if "GET" in (rule.methods or set()) and rule.endpoint != "static"
    ]
    return sorted(re.sub(r"<([^>]*)>", lambda match: values.get(match[1], "fencepost"), rule.rule) for rule in rules)


def timeless(document: bytes) -> bytes:
    """Without what is another each minute: when a dump was written, and when the last hour began."""
    return re.sub(rb'"dumped_at":"[^"]*"|value="\d{4}-[^"]*"', b"", document)


def every_row(app: Flask, *but: str) -> dict[str, list[Any]]:
    """All rows of all tables but these; those of the search stand in its shadow tables."""
    with app.app_context(), db.engine.connect() as connection:
        tables = set(sa.inspect(connection).get_table_names()) - {"search_raw", *but}
        return {name: sorted(map(repr, connection.execute(sa.text(f'SELECT * FROM "{name}"')))) for name in tables}
