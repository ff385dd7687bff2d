"""Answers that come packed, answers that the client has already, and what every request costs and gives back."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import orm

from tests.browser.conftest import serve, stop
from tests.web import pages
from webapp.extensions import db
from webapp.web.answers import LEAST


@pytest.fixture
def stored(client: FlaskClient, post: Callable[..., Any]) -> FlaskClient:
    post(pages.SESSION, home="direct")
    return client


def test_text_comes_packed_as_the_client_takes_it(stored: FlaskClient) -> None:
    for path in ["/", "/api/profiles", "/api/session/s/dump", "/failures.atom", "/static/app.css"]:
        plain = stored.get(path, buffered=True)
        packed = stored.get(path, headers={"Accept-Encoding": "br, gzip"}, buffered=True)
        assert "Content-Encoding" not in plain.headers
        if path == "/api/session/s/dump" or len(plain.data) >= LEAST:
            assert packed.headers["Content-Encoding"] == "gzip" and len(packed.data) < len(plain.data)
            assert pages.timeless(gzip.decompress(packed.data)) == pages.timeless(plain.data)
        assert "Accept-Encoding" in packed.headers["Vary"] and "Accept-Encoding" in plain.headers["Vary"]


def test_what_is_short_binary_refused_or_not_asked_for_packed_comes_as_it_is(stored: FlaskClient) -> None:
    for path, accepted in (
        ("/api/sessions/dumps", "gzip"),
        ("/api/jobs/1", "gzip"),
        ("/api/next-failure?session=s", "gzip"),
        ("/", "gzip;q=0"),
        ("/", "br"),
    ):
        answer = stored.get(path, headers={"Accept-Encoding": accepted}, buffered=True)
        assert "Content-Encoding" not in answer.headers, path


def test_what_the_client_has_is_not_sent_again(stored: FlaskClient) -> None:
    for path in ("/api/sessions", "/api/session/s", "/api/session/s/turns/1", "/api/labels", "/api/profiles"):
        first = stored.get(path)
        assert first.headers["ETag"].startswith('W/"') and first.headers["Cache-Control"] == "no-cache"
        again = stored.get(path, headers={"If-None-Match": first.headers["ETag"], "Accept-Encoding": "gzip"})
        assert (again.status_code, again.data) == (304, b""), path
        assert again.headers["ETag"] == first.headers["ETag"]


def test_a_change_has_another_tag(stored: FlaskClient) -> None:
    before = stored.get("/api/session/s").headers["ETag"]
    label = {"judgement": "wrong", "author": "Ada"}
    assert stored.put("/api/session/s/turns/1/label", data=json.dumps(label)).status_code == 200
    assert stored.get("/api/session/s", headers={"If-None-Match": before}).status_code == 200


def test_refusals_and_writes_have_no_tag(stored: FlaskClient) -> None:
    refused, written = stored.get("/api/session/none"), stored.post("/api/session/s/dump")
    assert "ETag" not in refused.headers and "ETag" not in written.headers
    assert refused.headers["Cache-Control"] == written.headers["Cache-Control"] == "no-store"


def test_with_a_token_no_cache_keeps_an_answer(make: Callable[..., Flask]) -> None:
    client = make(token="a-token-of-enough-letters").test_client()
    answer = client.get("/api/sessions", headers={"Authorization": "Bearer a-token-of-enough-letters"})
    assert answer.headers["Cache-Control"] == "no-store" and "ETag" in answer.headers


def test_files_come_packed_from_the_real_server_too(tmp_path: Path) -> None:
    """Its file wrapper has a length, which the test client's has not."""
    process, url = serve(tmp_path, "--no-examples")
    try:
        for path in ("/static/app.css", "/static/app.js", "/"):
            plain = urllib.request.urlopen(url + path).read()
            asked = urllib.request.Request(url + path, headers={"Accept-Encoding": "gzip"})
            with urllib.request.urlopen(asked) as answer:
                assert answer.headers["Content-Encoding"] == "gzip"
                assert gzip.decompress(answer.read()) == plain
    finally:
        stop(process)


def test_a_request_starts_no_thread(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client.get("/profiles")
    started: list[str] = []
    start = threading.Thread.start

    def counted(self: threading.Thread) -> None:
        started.append(self.name)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", counted)
    assert client.get("/profiles").status_code == 200
    assert started == []


@pytest.mark.parametrize(
    "path",
    ["/api/session/s/dump", "/api/session/s/export", "/api/sessions/dumps?ids=s", "/api/labels/export?format=jsonl"],
)
def test_a_download_gives_its_connection_back(
    app: Flask, client: FlaskClient, post: Callable[..., object], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where something still holds the session that it read with, as a cycle does until it is collected."""
    post(pages.SESSION)
    held: list[orm.Session] = []
    begin = orm.Session.__init__

    def remembered(self: orm.Session, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        held.append(self)

    monkeypatch.setattr(orm.Session, "__init__", remembered)
    answers = [client.get(path, buffered=True) for _ in range(2)]
    client.get(path).close()
    assert [answer.status_code for answer in answers] == [200, 200]
    assert held
    with app.app_context():
        assert db.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


UNNEEDED = ("alembic", "markdown_it", "yaml", "jsonschema", "jsonschema_rs", "webapp.client")
START = f"""
import sys
from webapp.app import create_app
from webapp.config import Settings
print([name for name in {UNNEEDED} if name in sys.modules])
create_app(Settings.from_environment())
print("webapp.parsing.profiles.langchain" in sys.modules)
"""


def test_a_start_imports_nothing_that_only_pages_need_and_no_profile_where_every_parser_is_known(
    tmp_path: Path,
) -> None:
    environ = {**os.environ, "FENCEPOST_DATA": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout.splitlines() == ["[]", "False"]
