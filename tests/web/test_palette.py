"""Ctrl-K finds pages, sessions, turns and filters by a part of their name; the diff of two turns' texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

TEXTS = ['{"a": 1}\nsame\nold <b>', '{"a": 1}\nsame\nnew']


@pytest.fixture
def stored(post: Callable[..., Any]) -> None:
    entries = [
        {"timestamp": 1764684000.5 + at, "node_type": "agent", "role": "agent", "content": text, "model": "model-<x>"}
        for at, text in enumerate(TEXTS)
    ]
    body = json.dumps({"session_id": "run-7", "entry_count": 2, "entries": entries}).encode()
    assert post(body).status_code == 201


def test_what_is_found_is_named_by_its_kind_and_leads_there(client: FlaskClient, stored: None) -> None:
    assert ">Incidents</a>" in client.get("/go").text
    found = client.get("/go?q=disagree").text
    assert 'href="/labels/disagreements"' in found and "Incidents" not in found
    assert 'href="/sessions/run-7"' in client.get("/go?q=un-7").text
    assert 'href="/sessions/run-7/turns/1"' in client.get("/go?q=run-7+1").text
    assert "/turns/" not in client.get("/go?q=run-7+2").text
    assert 'href="/sessions?model=model-%3Cx%3E"' in (found := client.get("/go?q=model-").text) and "<x>" not in found
    assert 'href="/sessions?failed=1"' in client.get("/go?q=failed").text


def test_two_turns_differ_line_by_line(client: FlaskClient, stored: None) -> None:
    page = client.get("/diff?a=run-7.0&b=http://h/sessions/run-7/turns/1%23t").text
    assert "only in A: </span>\n            \n            old &lt;b&gt;" in page or "old &lt;b&gt;" in page
    assert "only in B: " in page and "new" in page and "character for character" not in page
    assert "the same, character for character" in client.get("/diff?a=run-7.0&b=run-7.0").text
    assert client.get("/diff?a=run-7.0").status_code == 200
    assert client.get("/diff?a=run-7&b=run-7.0").status_code == 400
    assert client.get("/diff?a=run-7.9&b=run-7.0").status_code == 404
    assert "diff with" in client.get("/sessions/run-7/turns/0").text
