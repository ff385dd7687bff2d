"""No stored text breaks a page, and every JSON answer is JSON."""

from __future__ import annotations

import errno
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.web import pages
from webapp.app import create_app
from webapp.config import Settings
from webapp.dumps.budget import BadDump
from webapp.extensions import db
from webapp.store.db.types import ExactText
from webapp.store.models import Base
from webapp.web.session_cookie import key_in

POISON = "\ud800\u202e\x00</b>\U000e0041![x](http://evil.example)\n"
Post = Callable[..., Any]
LABEL = "/api/session/s/turns/1/label"
COLUMNS = [
    (table.name, column.name)
    for table in Base.metadata.sorted_tables
    for column in table.columns
    if isinstance(column.type, ExactText) and not column.unique and not column.primary_key
]


def fill(client: FlaskClient) -> str:
    """Something of everything; returns the session's key."""
    assert client.post("/api/dumps?filename=dump.json", data=pages.SESSION).status_code == 201
    told = {"judgement": "wrong", "cause": "own cause", "note": "n", "author": "Ada", "expects": "one", "expected": [1]}
    assert client.put(LABEL, json=told).status_code == 200
    assert client.put(LABEL, json=told | {"author": "Bo", "judgement": "right"}).status_code == 200
    client.post("/views", data={"name": "mine", "query": "q=a", "here": "/"})
    return str(client.get("/api/sessions").json["sessions"][0]["key"])


@pytest.fixture(scope="module")
def asks(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> dict[str, set[str]]:
    """The words of the SQL that each address asks: what a column holds that is none of them cannot reach its page."""
    folder = tmp_path_factory.mktemp("asks")
    file = shutil.copyfile(migrated, folder / "asks.sqlite3")
    app, asked = (
        create_app(Settings(data=folder, database=f"sqlite:///{file}", home="fencepost")),
        dict[str, set[str]](),
    )
    client = app.test_client()
    ident = fill(client)
    with app.app_context():
        for address in pages.addresses(app, **{"session_id:ident": ident}):
            words = asked[address.replace(ident, "KEY")] = set()

            def note(_: Any, __: Any, statement: str, *___: Any, words: set[str] = words) -> None:
                words.update(re.findall(r"\w+", statement))

            sa.event.listen(db.engine, "before_cursor_execute", note)
            client.get(address, buffered=True)
            sa.event.remove(db.engine, "before_cursor_execute", note)
        db.engine.dispose()
    return asked


@pytest.mark.parametrize("table", sorted({table for table, _ in COLUMNS}))
def test_no_column_of_text_breaks_a_page(
    app: Flask, client: FlaskClient, asks: dict[str, set[str]], table: str
) -> None:
    ident = fill(client)
    columns = {column for name, column in COLUMNS if name == table}
    with app.app_context(), db.engine.begin() as connection:
        for column in columns:
            rows = Base.metadata.tables[table]
            connection.execute(sa.update(rows).prefix_with("OR IGNORE").values({column: POISON}))
    broken = []
    for address in pages.addresses(app, **{"session_id:ident": ident}):
        if not columns & asks[address.replace(ident, "KEY")]:
            continue
        answer = client.get(address, buffered=True)
        if answer.status_code >= 500 or (answer.mimetype == "text/html" and b"</b>![x]" in answer.data):
            broken.append((address, answer.status_code))
    assert broken == []


@pytest.mark.parametrize("name", ["A\ud800", "A\nB", "A\u202eB", "A\U000e0041", " "])
def test_a_name_is_printable(client: FlaskClient, post: Post, name: str) -> None:
    post(pages.SESSION)
    answer = client.put(LABEL, data=json.dumps({"judgement": "right", "author": name or "x"}))
    assert answer.status_code == 422 and "can be seen" in answer.json["error"]["message"]
    assert client.put(LABEL, data=json.dumps({"judgement": "right", "cause": f"c{name}d"})).status_code in (200, 422)
    assert client.get("/labels/list").status_code == 200


@pytest.mark.parametrize("depth", [201, 2_000, 100_000])
def test_an_expected_value_nested_deeply_is_refused(client: FlaskClient, post: Post, depth: int) -> None:
    post(pages.SESSION)
    nested = "[" * depth + "]" * depth
    answer = client.put(LABEL, data=f'{{"judgement": "wrong", "expects": "one", "expected": {nested}}}')
    assert answer.status_code == 422 and "nested" in answer.json["error"]["message"]


STRICT: dict[str, Any] = {"parse_constant": lambda name: pytest.fail(f"{name} is no JSON")}


@pytest.mark.parametrize("written", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_json_answers_hold_no_number_that_json_has_not(client: FlaskClient, post: Post, written: str) -> None:
    entry = f'{{"node_type": "agent", "role": "assistant", "content": "{{\\"a\\": {written}}}", "odd": {written}}}'
    post(f'{{"session_id": "s", "entries": [{entry}]}}'.encode())
    body = f'{{"judgement": "wrong", "expects": "one", "expected": {{"b": {written}}}}}'
    assert client.put("/api/session/s/turns/0/label", data=body).status_code == 200
    shown = {"$fencepost:float": written.replace("1e999", "Infinity")}
    for path in ("/api/session/s/turns/0", "/api/labels", "/api/labels/export?format=jsonl", "/api/session/s/dump"):
        text = client.get(path).text
        json.loads(text, **STRICT)
        assert json.dumps(shown, separators=(",", ":")) in text.replace(": ", ":").replace("\n", "")
    again = client.get("/api/session/s/dump").data
    answer = client.post("/api/dumps?filename=again.json", data=again)
    assert client.get("/api/sessions").json["total"] == 1 and answer.status_code == 200
    assert client.get("/api/session/s").json["session"]["revision"] == 1


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 507, "disk is full"),
        (OSError(errno.EROFS, "Read-only file system"), 507, "cannot be written"),
        (OSError(errno.EACCES, "Permission denied"), 507, "cannot be written"),
        (OSError(errno.EIO, "Input/output error"), 503, "Input/output error"),
        (sa.exc.OperationalError("SELECT", None, sqlite3.OperationalError("database is locked")), 503, "is busy"),
        (sa.exc.OperationalError("SELECT", None, OSError("connection refused")), 503, "database does not answer"),
        (sa.exc.TimeoutError("QueuePool limit"), 503, "All connections to the database are in use"),
        (OverflowError("Python int too large"), 400, "too large"),
        (BadDump("cut", "byte 3"), 422, "damaged"),
    ],
)
def test_what_a_machine_does_to_us_is_said(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, words: str
) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        monkeypatch.setattr(sa.Engine, "connect", breaks)
        raise error

    monkeypatch.setitem(app.view_functions, "profiles.index", breaks)
    answer = client.get("/profiles")
    assert answer.status_code == status and words in answer.text


@pytest.mark.parametrize(
    "wanted", ["//[evil", "/a\nb", "/\x00", "/a\r\nSet-Cookie: x", "/\\evil", "https://evil.example"]
)
def test_no_redirect_leads_elsewhere_or_breaks(client: FlaskClient, wanted: str) -> None:
    for path, data in (("/labels/name", {"name": "Ada", "next": wanted}), ("/views", {"name": "v", "query": wanted})):
        answer = client.post(path, data=data)
        assert answer.status_code == 303
        assert answer.headers["Location"].startswith("/") and answer.headers["Location"].isprintable()
        assert not answer.headers["Location"].startswith(("//", "/\\"))


def test_an_empty_secret_key_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch()
    assert len(key_in(path)) == 32 and key_in(path) == path.read_bytes()
