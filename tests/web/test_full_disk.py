"""A disk without room, at every write of every route: 507 in words, and what was stored stays."""

from __future__ import annotations

import errno
import io
import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.web import pages
from webapp.extensions import db

SPAN = {"traceId": "5b8aa5a2d2c872e8321cf37308d69df2", "spanId": "051581bf3cb55c13", "name": "chat"}
SPAN |= {"startTimeUnixNano": "1763800000000000000", "endTimeUnixNano": "1763800001000000000"}
ATTRIBUTE = {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}
SPANS = {"resourceSpans": [{"scopeSpans": [{"spans": [SPAN | {"attributes": [ATTRIBUTE]}]}]}]}
FORM = {"profile": "direct", "scope": "keys", "judgement": "right", "queue": "failed", "name": "new", "query": "q=b"}
FORM |= {"here": "/", "kind": "format", "value": "fencepost", "text": '{"a": 1}', "author": "Ada", "raw": "$.a"}
FORM |= {"cause": "new-cause", "action": "add", "size": "1", "seed": "3", "expects": "none"}
JSON = {"home": "direct", "judgement": "wrong", "author": "Ada", "expects": "one", "expected": [1]}
MUST = {
    *("dumps.upload", "dumps.upload_api", "traces.export", "homes.change", "homes.put_api", "labels.draw"),
    *("labels.turn.put_api", "labels.turn.save", "labels.save", "views.save", "playground.save", "mappings.save"),
}
"""endpoints that write to the database with these bodies, so that the test cannot pass by writing nothing"""


@contextmanager
def full(app: Flask) -> Iterator[list[str]]:
    """No statement that writes finds room; gives those that tried."""
    tried: list[str] = []

    def refuse(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if re.match(r"\s*(INSERT|UPDATE|DELETE|CREATE)\b(?! TEMP)", statement):
            tried.append(statement)
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise sa.exc.OperationalError(statement, {}, error)

    with app.app_context():
        engine = db.engine
    sa.event.listen(engine, "before_cursor_execute", refuse)
    try:
        yield tried
    finally:
        sa.event.remove(engine, "before_cursor_execute", refuse)


def body_of(endpoint: str, method: str, key: str) -> dict[str, Any]:
    if endpoint == "dumps.upload_api":
        return {"data": pages.SESSION.replace(b'"s"', b'"other"')}
    if endpoint == "dumps.upload":
        return {"data": {"file": (io.BytesIO(pages.SESSION.replace(b'"s"', b'"third"')), "a.json")}}
    if endpoint.startswith("traces."):
        return {"data": json.dumps(SPANS), "content_type": "application/json"}
    if method == "PUT":
        return {"data": json.dumps(JSON)}
    own = {"labels.draw": {"queue": "sample"}, "labels.save": {"judgement": "spurious"}}.get(endpoint, {})
    return {"data": FORM | {"ids": key, "at": f"{key}.1"} | own}


def test_no_room_in_the_database(app: Flask, client: FlaskClient, post: Callable[..., Any]) -> None:
    assert post(pages.SESSION, home="fencepost").status_code == 201
    key = client.get("/api/sessions").json["sessions"][0]["key"]
    client.post("/labels/name", data={"name": "Ada"})
    filled = pages.FILLED | {"session_id:ident": key, "any(logs, metrics):signal": "logs"}
    wrong, wrote = [], set()
    for rule in app.url_map.iter_rules():
        for method in sorted((rule.methods or set()) & {"POST", "PUT", "PATCH", "DELETE"}):
            path = re.sub(r"<([^>]*)>", lambda match: filled.get(match[1], "fencepost"), rule.rule)
            with full(app) as tried:
                answer = client.open(path, method=method, **body_of(rule.endpoint, method, key))
            if tried:
                wrote.add(rule.endpoint)
            if answer.status_code == 500 or (tried and answer.status_code != 507):
                wrong.append((method, path, answer.status_code, tried[:1], answer.text[:200]))
            elif tried:
                assert "disk is full" in answer.text, path
    assert wrong == []
    assert wrote >= MUST
    assert client.get("/api/sessions").json["total"] == 1
    assert post(pages.SESSION.replace(b'"s"', b'"after"')).status_code == 201


class Full(io.BytesIO):
    """A file on a disk without room."""

    name = "full"

    def write(self, _data: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_no_room_for_files(client: FlaskClient, post: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    post(pages.SESSION)
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", lambda *_, **__: Full())
    upload = {"file": (io.BytesIO(pages.SESSION), "a.json")}
    answer = client.post("/dumps", data=upload)
    assert answer.status_code == 507 and "disk is full" in answer.text
    monkeypatch.undo()
    with monkeypatch.context() as patch:
        patch.setattr("webapp.exports.session.jsontext.portable", lambda _value: Full().write(b""))
        for path in ("/api/session/s/dump", "/sessions/s/dump"):
            answer = client.post(path)
            assert answer.status_code == 507 and "disk is full" in answer.text
    assert client.post("/api/session/s/dump").status_code == 200
    assert client.get("/api/sessions").json["total"] == 1
