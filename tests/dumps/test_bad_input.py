"""What people really have, at its worst: through reading, the store and the pages, for every format and door."""

from __future__ import annotations

import io
import json
import shutil
import unicodedata
import zipfile
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


def key_of(client: FlaskClient) -> str:
    return client.get("/api/sessions").json["sessions"][0]["key"]


def archive(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return out.getvalue()


def test_members_that_lead_out_are_only_names(put: Any, client: FlaskClient, tmp_path: Any) -> None:
    body = archive({"../../evil.json": windlass("a", "x"), "/etc/passwd.json": windlass("b", "y")})
    answer = put(body, "x.zip")
    assert answer.status_code in (201, 422)
    assert not (tmp_path.parent / "evil.json").exists()
    assert not (tmp_path.parent.parent / "evil.json").exists()


def test_ten_thousand_members(put: Any, client: FlaskClient) -> None:
    answer = put(
        archive({f"{number}.json": b"{}" for number in range(10_000)} | {"s.json": windlass("s", "x")}), "x.zip"
    )
    assert answer.status_code in (201, 413, 422)
    assert len(answer.json.get("problems", [])) <= 200


@pytest.mark.parametrize("depth", [200, 5000])
def test_deep_nesting(put: Any, client: FlaskClient, depth: int) -> None:
    body = b'{"session_id":"deep","entries":[{"node_type":"agent","role":"agent","content":"x","deep":'
    answer = put(body + b"[" * depth + b"]" * depth + b"}]}")
    assert answer.status_code in (201, 422)
    if depth == 200:
        assert answer.status_code == 201
        pages(client, key_of(client))


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


@pytest.mark.parametrize(
    "started", ["0", "-5", "9999999999999999999", "nan", 7226582400 * 10**9, 253402300800 * 10**9, None]
)
def test_any_clock_of_a_span(client: FlaskClient, started: Any) -> None:
    from tests.web.test_traces import numbered, trace

    body = trace({**numbered(0), "startTimeUnixNano": started}, numbered(1))
    assert client.post("/v1/traces", data=body, content_type="application/json").json == {}
    assert client.get("/api/session/talk").json["session"]["responses"] == 2
    pages(client, "talk")


def test_duplicate_keys_are_said(put: Any, client: FlaskClient) -> None:
    body = b'{"session_id":"s","entries":[{"node_type":"agent","role":"agent","content":"a","content":"b"}]}'
    answer = put(body)
    assert answer.status_code == 201
    assert any("twice" in problem["reason"] or "repeat" in problem["reason"] for problem in answer.json["problems"])


def test_invalid_utf8_is_kept_and_shown(put: Any, client: FlaskClient) -> None:
    body = windlass("s", "before HERE after").replace(b"HERE", b"\xff\xc3\x28")
    answer = put(body)
    assert answer.status_code == 201
    sha = answer.json["dump"]["sha256"]
    assert client.get(f"/dumps/{sha}/file").data == body
    page = pages(client, "s")
    assert "before" in page and "after" in page


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings(put: Any, client: FlaskClient, encoding: str) -> None:
    answer = put(windlass("s", "x é").decode().encode(encoding))
    assert (answer.status_code, answer.json["sessions"]) == (201, ["s"])
    pages(client, "s")


def test_a_turn_of_five_megabytes(put: Any, client: FlaskClient) -> None:
    """Fifty are in benchmarks/bad_input.py."""
    assert put(windlass("s", '{"a": [' + "1, " * 1_600_000 + "]}")).status_code == 201
    pages(client, "s")


def test_the_same_file_from_two_people_at_once(made: Flask) -> None:
    from concurrent.futures import ThreadPoolExecutor

    body = windlass("s", *[f"[{number}]" for number in range(200)])

    def send(name: str) -> int:
        return made.test_client().post(f"/api/dumps?filename={name}.json", data=body).status_code

    with ThreadPoolExecutor(4) as people:
        statuses = sorted(people.map(send, "abcd"))
    assert statuses == [200, 200, 200, 201]
    assert made.test_client().get("/api/session/s").json["session"]["turns"] == 200
