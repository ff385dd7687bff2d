"""Examples are listed while there is nothing else, and nowhere once there is."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webapp.extensions import db
from webapp.store.ingest.start import ingest_examples

OWN = b'{"id": "mine", "model": "m", "messages": [{"role": "assistant", "content": "{\\"a\\": 1,}"}]}'
LISTS = ("/api/sessions", "/api/responses", "/api/failures")


@pytest.fixture
def with_examples(app: Flask) -> FlaskClient:
    with app.app_context():
        ingest_examples(db.engine, app.config["SETTINGS"])
    return app.test_client()


def test_examples_leave_lists_charts_queues_and_questions_when_others_come(with_examples: FlaskClient) -> None:
    client = with_examples
    before = {path: client.get(path).json for path in LISTS}
    assert before["/api/sessions"]["total"] > 5 and before["/api/failures"]["failures"]
    example = before["/api/sessions"]["sessions"][0]
    assert client.post("/api/dumps?filename=mine.json&home=direct", data=OWN).status_code == 201
    after = {path: client.get(path).json for path in LISTS}
    assert [line["id"] for line in after["/api/sessions"]["sessions"]] == ["mine"]
    assert after["/api/sessions"]["total"] == 1 and after["/api/sessions"]["hidden"] == 0
    assert [line["session"] for line in after["/api/responses"]["responses"]] == ["mine"]
    assert [line["count"] for line in after["/api/failures"]["failures"]] == [1]
    assert "1 of 1</td>" in client.get("/").text
    assert after["/api/sessions"]["facets"]["verdict"] == {"failed": 1}
    assert "Which parser is yours?" not in client.get("/").text
    assert "search_flights" not in client.get("/go?q=search_flig").text, "nor in Ctrl-K"
    assert client.get(example["url"]).status_code == 200, "its address stays"
    assert client.get("/api/sessions?dump=1").json["total"] >= 1, "and so does its dump"
