"""A database of the first revision with sessions in it is brought to head, and is then as good as a new one.

Its rows are those of the two sessions of `LINES`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from tests.store.db.first_revision import first_revision, upgrade_whole
from tests.store.made import BROKEN, CALL, entry
from webapp.app import create_app
from webapp.cli import main
from webapp.config import Settings
from webapp.extensions import db
from webapp.store.db import database
from webapp.store.models import Session

LINES = [
    entry("Find the needle", "turn_input", session_id="s1", timestamp=1765000000.0),
    entry(
        BROKEN,
        session_id="s1",
        timestamp=1765000001.0,
        model="openai/gpt-4o",
        phase_name="solve",
        cost=0.25,
        tokens_in=10,
        tokens_out=20,
    ),
    entry("Validation failed: the tool call is mangled", "validation_error", session_id="s1", timestamp=1765000002.0),
    entry('Here: {"a": 1,}', session_id="s1", timestamp=1765000003.0, model="openai/gpt-4o"),
    entry("Nothing is wrong – café \0", "turn_input", session_id="s2", timestamp=1765000100.0),
    entry(CALL, session_id="s2", timestamp=1765000101.0, model="mistral/small"),
    entry(CALL, "turn_output", session_id="s2", timestamp=1765000102.0),
]
Run = Callable[..., str]


def body(lines: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@pytest.fixture
def settings(empty: sa.Engine, tmp_path: Path) -> Settings:
    """Of a data folder whose database is of the first revision."""
    first_revision(empty)
    empty.dispose()
    return Settings(data=tmp_path / "data", database=empty.url.render_as_string(hide_password=False))


@pytest.fixture
def fencepost(settings: Settings) -> Run:
    def run(*arguments: str, status: int = 0) -> str:
        told = CliRunner().invoke(main, arguments, env=settings.environment(), catch_exceptions=False)
        assert told.exit_code == status, told.output
        return told.stdout

    return run


@pytest.fixture
def upgraded(settings: Settings, fencepost: Run) -> Iterator[Flask]:
    """The app over it once it has been upgraded as the docs say."""
    assert "revision 0001" in fencepost("db", "status", status=1)
    assert fencepost("db", "migrate") == f"from revision 0001 to {database.HEAD}\n"
    assert fencepost("db", "reindex") == "2 sessions filled in\n"
    app = create_app(settings)
    yield app
    with app.app_context():
        db.engine.dispose()


@pytest.fixture
def client(upgraded: Flask) -> FlaskClient:
    return upgraded.test_client()


def listed(client: FlaskClient, **query: str) -> list[str]:
    answer = client.get("/api/sessions", query_string=query)
    assert answer.status_code == 200
    return [session["id"] for session in answer.json["sessions"]]


def test_nothing_is_left_to_fill_in(upgraded: Flask, fencepost: Run) -> None:
    assert fencepost("db", "reindex") == "nothing is missing\n"
    assert json.loads(fencepost("db", "status", "--json"))["counts"] == {
        "dump": 1,
        "session": 2,
        "turn": 7,
        "parse": 9,
        "label": 2,
    }


def test_the_revisions_alone_derive_what_sessions_lack(settings: Settings) -> None:
    """Whoever runs them: Alembic's own commands do as `db migrate` does."""
    engine = database.connect(settings.database)
    upgrade_whole(engine, "head")
    with engine.connect() as connection:
        facets = connection.scalars(sa.select(Session.facets).order_by(Session.id)).all()
    engine.dispose()
    assert [sorted((counted or {})["profiles"]) for counted in facets] == [
        ["fencepost", "master-before", "windlass-strict"],
        ["fencepost", "master-before", "windlass-strict"],
    ]


def test_a_server_may_start_before_the_index_is_filled_in(settings: Settings) -> None:
    """It brings the tables to head itself; list, filters and pages are there, the search and the findings not yet."""
    app = create_app(settings)
    client = app.test_client()
    assert listed(client) == ["s1", "s2"]
    assert listed(client, verdict="failed") == ["s1"]
    assert client.get("/sessions/s1/turns/1").status_code == 200
    assert client.get("/statistics").status_code == 200
    with app.app_context():
        db.engine.dispose()


FOUND = [
    ({}, ["s1", "s2"]),
    ({"verdict": "failed"}, ["s1"]),
    ({"verdict": "extracted"}, ["s2"]),
    ({"model": "mistral/small"}, ["s2"]),
    ({"label": "missed"}, ["s1"]),
    ({"finding": "lost_tool_call"}, ["s1"]),
    ({"q": "needle"}, ["s1"]),
    ({"q": "café"}, ["s2"]),
    ({"q": "mangled"}, ["s1"]),
    ({"q": "zebra"}, ["s1"]),
    ({"q": "JSONDecodeError"}, ["s1"]),
    ({"q": "giraffe"}, []),
]


def test_list_filters_and_search(client: FlaskClient) -> None:
    for query, found in FOUND:
        assert listed(client, **query) == found, query
        page = client.get("/", query_string=query)
        assert page.status_code == 200
        assert [name for name in ("s1", "s2") if f"/sessions/{name}" in page.text] == found


def test_pages_of_a_session_and_its_turns(client: FlaskClient) -> None:
    page = client.get("/sessions/s1")
    assert page.status_code == 200 and "Find the needle" in page.text
    turn = client.get("/sessions/s1/turns/1")
    assert turn.status_code == 200 and "1 edit (extra closer)" in " ".join(turn.text.split())
    trace = client.get("/api/session/s1/turns/1?profile=fencepost").json
    assert "extra_closer" in json.dumps(trace) and "run_code" in json.dumps(trace)
    for position in range(4):
        assert client.get(f"/sessions/s1/turns/{position}?profile=master-before").status_code == 200


def test_statistics_count_every_profile(client: FlaskClient) -> None:
    page = client.get("/statistics")
    assert page.status_code == 200
    assert all(name in page.text for name in ("windlass-strict", "master-before", "openai/gpt-4o", "extra_closer"))


def test_labels_keep_what_they_said(client: FlaskClient) -> None:
    labels = {label["author"]: label for label in client.get("/api/labels").json["labels"]}
    assert labels["ann"]["expected"] == {"tool": "run_code", "arguments": {"code": "1"}}
    assert (labels["ann"]["expects"], labels["bob"]["expects"]) == ("one", None)
    assert labels["ann"]["note"] == "a zebra"
    assert "Here: {" in client.get("/labels/list").text
    assert client.get("/profiles").status_code == 200


def test_entries_come_out_as_they_came_in(client: FlaskClient) -> None:
    for name, entries in (("s1", LINES[:4]), ("s2", LINES[4:])):
        assert client.get(f"/api/session/{name}/dump").json["entries"] == entries


def test_the_same_bytes_are_known_and_a_longer_dump_makes_its_session_grow(client: FlaskClient) -> None:
    again = client.post("/api/dumps?filename=again.jsonl", data=body(LINES))
    assert (again.status_code, again.json["dump"]["id"]) == (200, 1)
    more = entry("One more needle", "turn_input", session_id="s1", timestamp=1765000200.0)
    assert client.post("/api/dumps?filename=more.jsonl", data=body([*LINES[:4], more])).status_code == 201
    assert listed(client) == ["s1", "s2"]
    assert len(client.get("/api/session/s1/dump").json["entries"]) == 5
    assert len(client.get("/api/labels").json["labels"]) == 2
    assert client.get("/sessions/s1/turns/4").status_code == 200


def test_it_is_as_if_it_came_today(client: FlaskClient, tmp_path: Path) -> None:
    """What the list and the session's document say is what they say of the same dump in a new database."""
    new = create_app(Settings(data=tmp_path / "new", database=f"sqlite:///{tmp_path / 'new.sqlite3'}"))
    fresh = new.test_client()
    assert fresh.post("/api/dumps?filename=dump.jsonl", data=body(LINES)).status_code == 201
    for name in ("s1", "s2"):
        told = [ask.get(f"/api/session/{name}").json["session"] for ask in (client, fresh)]
        for said in told:
            for varying in ("labelled", "ingested_at", "grown_at", "dump"):
                said.pop(varying, None)
        assert told[0] == told[1]
    with new.app_context():
        db.engine.dispose()
