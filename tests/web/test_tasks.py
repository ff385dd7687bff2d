"""The page of tasks: each kind has a row, with how far it is, what came of it, why it failed and what to do next."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.web.pages import entry, windlass
from webapp.extensions import db
from webapp.store import tasks
from webapp.store.jobs import pruning
from webapp.store.models import Session

Work = Callable[[], None]
PARTIAL = {"HX-Request-Type": "partial"}


@pytest.fixture
def asked(app: Flask, client: FlaskClient) -> FlaskClient:
    """One task of each kind, none of which is done."""
    assert client.post("/api/dumps?filename=s.json", data=windlass("s", entry("{}"))).status_code == 201
    client.post("/api/dumps?background=1&filename=<later>.json", data=windlass("t", entry("hi")))
    client.post("/api/exports")
    client.post("/api/profiles/direct/runs?failed=1")
    with app.app_context():
        ids = db.session.scalars(sa.select(Session.id)).all()
        db.session.rollback()
        about: dict[str, Any] = {"profile": "direct", "scope": {}, "author": "", "total": len(ids)}
        tasks.make(db.engine, tasks.HOMES, about | {"undoes": None, "undone": False})
        pruning.prune(db.engine, app.config["SETTINGS"], datetime(2000, 1, 1, tzinfo=UTC))
    return client


def test_every_kind_has_a_row_and_ends(asked: FlaskClient, work: Work) -> None:
    page = asked.get("/tasks").text
    assert page.count('<tr id="task-') == 5 and page.count('hx-trigger="every 1s"') == 4
    for words in (
        "&lt;later&gt;.json",
        "All sessions",
        "json.loads over sessions with failed responses",
        "json.loads for",
        "since 2000-01-01",
    ):
        assert words in page
    assert "<later>" not in page and page.count("data-cancel") >= 4
    work()
    page = asked.get("/tasks").text
    assert "hx-trigger" not in page and page.count(">done</span>") == 5
    assert "1 session, 1 new turn" in page and "Download" in page and "0 sessions removed" in page


def test_each_kind_is_shown_alone(asked: FlaskClient) -> None:
    for kind in tasks.KINDS:
        assert asked.get(f"/tasks?kind={kind}").text.count('<tr id="task-') == 1, kind


def test_an_unknown_kind_is_refused(client: FlaskClient) -> None:
    assert client.get("/tasks?kind=x").status_code == client.get("/tasks?after=x").status_code == 400
    assert client.get("/tasks/9").status_code == client.post("/tasks/9/cancel").status_code == 404


def test_each_is_cancelled_in_its_row_and_a_prune_by_its_command(asked: FlaskClient, work: Work) -> None:
    with asked.application.app_context():
        kinds = {task.id: task.kind for task in tasks.page(db.session.connection())}
    for number, kind in kinds.items():
        answer = asked.post(f"/tasks/{number}/cancel", headers=PARTIAL)
        if kind == tasks.PRUNE:
            assert answer.status_code == 409
        else:
            assert "cancelled" in answer.text and "Cancelled" in answer.text and "hx-trigger" not in answer.text
    work()
    assert asked.get("/tasks").text.count(">cancelled</span>") == 4
    assert asked.get("/api/sessions").json["total"] == 1


def test_why_it_failed_and_what_to_do_are_said(asked: FlaskClient, work: Work) -> None:
    asked.post("/api/dumps?background=1&filename=own.jsonl", data=json.dumps({"a": 1}).encode())
    work()
    page = asked.get("/tasks?kind=import").text
    assert ">failed</span>" in page and "Name its format with fencepost ingest --format" in page


def test_pages_follow_one_another(app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.web.task_pages.ROWS_A_PAGE", 2)
    with app.app_context():
        for _ in range(3):
            tasks.make(db.engine, tasks.EXPORT, {"filters": {}}, state="cancelled")
    assert client.get("/tasks").text.count('<tr id="task-') == 2
    assert client.get("/tasks?after=2").text.count('<tr id="task-') == 1


def test_tasks_and_exports_lead_to_the_page_of_tasks(asked: FlaskClient) -> None:
    answer = asked.get("/tasks/3")
    assert answer.status_code == 303 and answer.headers["Location"] == "/tasks#task-3"
    assert asked.get("/exports").headers["Location"] == "/tasks?kind=export"
