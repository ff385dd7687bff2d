"""No stored text breaks a page, and every JSON answer is JSON."""

from __future__ import annotations

import errno
import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
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

POISON = "\ud800\u202e\x00</b>\U000e0041![x](http://evil.example)\n"
Post = Callable[..., Any]
LABEL = "/api/session/s/turns/1/label"
COLUMNS = [
    (table.name, column.name)
    for table in Base.metadata.sorted_tables
    for column in table.columns
    if isinstance(column.type, ExactText) and not column.unique and not column.primary_key
]


@dataclass(frozen=True)
class Filled:
    """A data folder with something of everything, its session's key, and the words of each address's SQL."""

    folder: Path
    ident: str
    asked: dict[str, set[str]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Filled:
    folder, asked = tmp_path_factory.mktemp("filled"), dict[str, set[str]]()
    file = shutil.copyfile(migrated, folder / "fencepost.sqlite3")
    app = create_app(Settings(data=folder, database=f"sqlite:///{file}", home="fencepost"))
    client = app.test_client()
    assert client.post("/api/dumps?filename=dump.json", data=pages.SESSION).status_code == 201
    told = {"judgement": "wrong", "cause": "own cause", "note": "n", "author": "Ada", "expects": "one", "expected": [1]}
    assert client.put(LABEL, json=told).status_code == 200
    assert client.put(LABEL, json=told | {"author": "Bo", "judgement": "right"}).status_code == 200
    client.post("/views", data={"name": "mine", "query": "q=a", "here": "/"})
    ident = str(client.get("/api/sessions").json["sessions"][0]["key"])
    with app.app_context():
        for address in pages.addresses(app, **{"session_id:ident": ident}):
            words = asked[address] = set()

            def note(_: Any, __: Any, statement: str, *___: Any, words: set[str] = words) -> None:
                words.update(re.findall(r"\w+", statement))

            sa.event.listen(db.engine, "before_cursor_execute", note)
            client.get(address, buffered=True)
            sa.event.remove(db.engine, "before_cursor_execute", note)
        db.engine.dispose()
    return Filled(folder, ident, asked)


@pytest.mark.parametrize("table", sorted({table for table, _ in COLUMNS}))
def test_no_column_of_text_breaks_a_page(
    make: Callable[..., Flask], filled: Filled, tmp_path: Path, table: str
) -> None:
    """On the pages that ask for it: what a column holds of which an address does not ask cannot reach its page."""
    shutil.copytree(filled.folder, tmp_path, dirs_exist_ok=True)
    app, broken = make(), []
    columns = {column for name, column in COLUMNS if name == table}
    with app.app_context(), db.engine.begin() as connection:
        for column in columns:
            rows = Base.metadata.tables[table]
            connection.execute(sa.update(rows).prefix_with("OR IGNORE").values({column: POISON}))
    client = app.test_client()
    for address in (address for address, words in filled.asked.items() if columns & words):
        answer = client.get(address, buffered=True)
        if answer.status_code >= 500 or (answer.mimetype == "text/html" and b"</b>![x]" in answer.data):
            broken.append((address, answer.status_code))
    assert broken == []


def test_a_name_is_printable(client: FlaskClient, post: Post) -> None:
    post(pages.SESSION)
    for name in ("A\ud800", "A\nB", "A\u202eB", "A\U000e0041", " "):
        answer = client.put(LABEL, data=json.dumps({"judgement": "right", "author": name}))
        assert answer.status_code == 422 and "can be seen" in answer.json["error"]["message"]
        caused = {"judgement": "right", "cause": f"c{name}d"}
        assert client.put(LABEL, data=json.dumps(caused)).status_code in (200, 422)
        assert client.get("/labels/list").status_code == 200


def test_an_expected_value_nested_deeply_is_refused(client: FlaskClient, post: Post) -> None:
    post(pages.SESSION)
    nested = "[" * 201 + "]" * 201
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
        monkeypatch.setattr(db.engine, "connect", breaks)
        raise error

    monkeypatch.setitem(app.view_functions, "profiles.index", breaks)
    answer = client.get("/profiles")
    assert answer.status_code == status and words in answer.text
