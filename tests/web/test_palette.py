"""Ctrl-K finds things by a part of their name, and one letter has one meaning; the diff of two turns' texts."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.web.pages import session

TEXTS = ['{"a": 1}\nsame\nold <b>', '{"a": 1}\nsame\nnew', '{"a": 1}\nsame\n' * 200 + "behind 2,000 characters"]


@pytest.fixture
def stored(post: Callable[..., Any]) -> None:
    assert post(session("run-7", *TEXTS, model="model-<x>")).status_code == 201


def test_what_is_found_is_named_by_its_kind_and_leads_there(client: FlaskClient, stored: None) -> None:
    assert ">Incidents</a>" in client.get("/go").text
    found = client.get("/go?q=disagree").text
    assert 'href="/labels/disagreements"' in found and "Incidents" not in found
    assert 'href="/sessions/run-7"' in client.get("/go?q=un-7").text
    assert 'href="/sessions/run-7/turns/1"' in client.get("/go?q=run-7+1").text
    assert "/turns/" not in client.get("/go?q=run-7+3").text
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
    assert "behind 2,000 characters" in client.get("/diff?a=run-7.1&b=run-7.2").text
    assert "diff with" in client.get("/sessions/run-7/turns/0").text


TEMPLATES = Path(__file__).parents[2] / "templates"
NAMED = re.compile(r'data-key"?[=:] ?"([^"]+)"|"([^"]{1,6})" if loop\.index == 2|step\(around\.\w+, "([^"]+)"')
SHOWN = re.compile(r"<kbd[^>]*>([^<{]+)</kbd>")
OURS = {"Esc": "Escape", "Ctrl+Enter": "Enter", "Ctrl-K": "/"}
LISTED = re.compile(r'<dt data-of="([^"]+)">.*?<dd>([^<]+?)\s*<', re.DOTALL)


def test_every_key_has_the_one_meaning_of_the_list(client: FlaskClient) -> None:
    listed = [tuple(map(html.unescape, pair)) for pair in LISTED.findall(client.get("/keys").text)]
    keys = dict(listed)
    assert len(listed) == len(keys) == len(set(keys.values())) > 50
    named: set[str] = set()
    for template in TEMPLATES.rglob("*.html"):
        text = template.read_text()
        assert "data-help" not in text, f"{template.name}: what a key means stands in _partials/keys.html"
        named |= {
            key for groups in NAMED.findall(text) if "{" not in (key := html.unescape(next(filter(None, groups))))
        }
        for key in SHOWN.findall(text):
            assert OURS.get(html.unescape(key), html.unescape(key)) in keys, f"{template.name}: {key}"
    assert named <= keys.keys()
    assert keys.keys() - named <= {*"123456789"}, "keys that no page has"
