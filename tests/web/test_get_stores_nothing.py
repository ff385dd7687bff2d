"""No GET of any route changes a row: the whole database is compared before and after.

But one: the scoreboard keeps what it compared, a row for each labelled response, whatever the address says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web import pages
from webapp.extensions import db
from webapp.store.models import Base

QUEUES = ["failed", "disagree", "silent", "sample&size=2&seed=9", "view&view=label%3Dwrong", "chosen&ids=s"]
LABEL = {"judgement": "wrong", "author": "Ada", "expects": "one", "expected": [1]}


@pytest.fixture
def stored(app: Flask, client: FlaskClient, post: Callable[..., Any]) -> FlaskClient:
    assert post(pages.SESSION, home="direct").status_code == 201
    assert client.put("/api/session/s/turns/1/label", json=LABEL).status_code == 200
    client.post("/views", data={"name": "mine", "query": "q=a", "here": "/"})
    client.post("/labels/name", data={"name": "Bo"})
    return client


def test_no_get_changes_a_row(app: Flask, stored: FlaskClient) -> None:
    before = pages.every_row(app)
    assert set(Base.metadata.tables) <= set(before) and before["compared"] == []
    stored.get("/profiles")
    before = pages.every_row(app)
    assert len(before["compared"]) == 1
    plain = pages.addresses(app)
    queues = [f"{path}?queue={queue}" for path in plain for queue in QUEUES if path.startswith(("/labels", "/api/lab"))]
    partial = {"HX-Request-Type": "partial"}
    for address, headers in [*((each, {}) for each in plain), *((each, partial) for each in plain + queues)]:
        assert stored.get(address, headers=headers, buffered=True).status_code < 500, address
    after = pages.every_row(app)
    assert [name for name in after if after[name] != before.get(name)] == []


def test_a_queue_is_shown_while_another_writes(app: Flask, stored: FlaskClient) -> None:
    with app.app_context(), db.engine.connect() as writer:
        if writer.dialect.name == "sqlite":
            writer.exec_driver_sql("BEGIN IMMEDIATE")
        assert 'data-at="' in stored.get("/labels?queue=failed").text
