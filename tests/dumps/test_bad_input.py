"""What people really have, at its worst: through reading, the store and the pages, for every format and door."""

from __future__ import annotations

import json
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient


@pytest.fixture
def made(tmp_path: Any, migrated: Any) -> Any:
    """An app over a data folder of this test's own."""
    from webapp.app import create_app
    from webapp.config import Settings
    from webapp.extensions import db

    app = create_app(Settings(data=tmp_path, database=f"sqlite:///{shutil.copyfile(migrated, tmp_path / 'f.sqlite3')}"))
    yield app
    with app.app_context():
        db.engine.dispose()


@pytest.fixture
def client(made: Flask) -> FlaskClient:
    return made.test_client()


@pytest.fixture
def put(client: FlaskClient) -> Callable[..., Any]:
    def put(body: bytes, filename: str = "dump.json") -> Any:
        return client.post("/api/dumps", query_string={"filename": filename}, data=body)

    return put


def windlass(session: str, *contents: Any, **fields: Any) -> bytes:
    entries = [{"node_type": "agent", "role": "agent", "content": content, **fields} for content in contents]
    return json.dumps({"session_id": session, "entry_count": len(entries), "entries": entries}).encode()


def pages(client: FlaskClient, key: str) -> str:
    """The session's page, its first turn's, the API's and the dump: none may break. Returns the first turn's page."""
    shown = ""
    for path in (
        "/",
        f"/sessions/{key}",
        f"/api/session/{key}",
        f"/api/session/{key}/dump",
        f"/sessions/{key}/turns/0",
    ):
        answer = client.get(path)
        assert answer.status_code in (200, 404), path
        shown = answer.text
    return shown


def test_deep_nesting(put: Any, client: FlaskClient) -> None:
    body = b'{"session_id":"deep","entries":[{"node_type":"agent","role":"agent","content":"x","deep":'
    assert put(body + b"[" * 200 + b"]" * 200 + b"}]}").status_code == 201
    pages(client, client.get("/api/sessions").json["sessions"][0]["key"])


NAMES = [
    "Run",
    "run",
    "RUN",
    unicodedata.normalize("NFC", "é"),
    unicodedata.normalize("NFD", "é"),
    "a/b",
    "a%2Fb",
    "a b",
]


def test_ids_that_differ_by_case_or_form_alone(put: Any, client: FlaskClient, made: Flask, tmp_path: Any) -> None:
    for name in NAMES:
        assert put(windlass(name, name)).status_code == 201
    found = client.get("/api/sessions").json["sessions"]
    assert sorted(one["id"] for one in found) == sorted(NAMES)
    assert len({one["url"] for one in found}) == len({one["key"] for one in found}) == len(NAMES)
    paths = [client.post(f"/api/session/{one['key']}/dump").json["dump_path"] for one in found]
    assert len(set(paths)) == len(NAMES)
    for one, path in zip(found, paths, strict=True):
        assert json.loads(Path(path).read_bytes())["session_id"] == one["id"]


TIMES = [
    0,
    -1,
    1e-9,
    7226582400,
    253402300799,
    253402300800,
    1e300,
    -1e18,
    "1970-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
]
TIMES += ["2199-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "yesterday", "", True]


def test_any_clock(put: Any, client: FlaskClient) -> None:
    """Sessions of all these times in one store: each is listed once, page by page, and every page of it opens."""
    times = [*TIMES, float("nan"), float("inf")]
    for number, time in enumerate(times):
        assert put(windlass(f"s{number}", "one", timestamp=time)).status_code == 201, time
    listed, address = [], "/api/sessions?limit=7"
    while True:
        answer = client.get(address).json
        listed += [session["id"] for session in answer["sessions"]]
        if answer["next"] is None:
            break
        address = f"/api/sessions?limit=7&after={answer['next']}"
    assert sorted(listed) == sorted(f"s{number}" for number in range(len(times)))
    for page in ("/?limit=1", "/sessions", "/dumps"):
        assert client.get(page).status_code == 200, page
    for number, time in enumerate(times):
        for page in (f"/sessions/s{number}", f"/sessions/s{number}/turns/0"):
            assert client.get(page).status_code == 200, time
        assert b'"timestamp"' in client.get(f"/api/session/s{number}/dump").data, time


ODD_STARTS = ["0", "-5", "9999999999999999999", "nan", 7226582400 * 10**9, 253402300800 * 10**9, None]


def test_any_clock_of_a_span(client: FlaskClient) -> None:
    from tests.web.test_traces import numbered, trace

    odd = [{**numbered(number), "startTimeUnixNano": started} for number, started in enumerate(ODD_STARTS)]
    body = trace(*odd, numbered(len(odd)))
    assert client.post("/v1/traces", data=body, content_type="application/json").json == {}
    assert client.get("/api/session/talk").json["session"]["responses"] == len(odd) + 1
    pages(client, "talk")
