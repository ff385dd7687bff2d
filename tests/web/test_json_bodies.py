"""Every route that reads a JSON body reads it in one way, and refuses in words what is none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.web import pages
from webapp.web.api import operation

ROOT = Path(__file__).resolve().parents[2]
ROUTES = ["/api/session/s/home", "/api/session/s/turns/1/label"]
REFUSED = [
    (b'{"home": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", "nested deeper than 400 levels"),
    (b"[" * 100_000 + b"]" * 100_000, "nested deeper than 400 levels"),
    (b'{"home": ' + b"[" * 500 + b"]" * 500 + b"}", "nested deeper than 400 levels"),
    (b"", "not JSON: Expecting value (line 1, column 1)"),
    (b'{"home":\n "a" "b"}', "(line 2, column 6)"),
    (b"\xff\xfe\xff", "not JSON"),
    (b'{"home": "\xff"}', "byte 10"),
    (b'{"home": %s}' % (b"9" * 5_000), "more than 4300 digits"),
    (b"[1]", "not a JSON object like"),
    (b'"home"', "not a JSON object like"),
    (b"null", "not a JSON object like"),
]


@pytest.mark.parametrize("route", ROUTES)
def test_what_is_no_object_is_refused_in_words(client: FlaskClient, post: Callable[..., Any], route: str) -> None:
    post(pages.SESSION)
    for body, words in REFUSED:
        for media_type in ("application/json", "", "text/plain"):
            answer = client.put(route, data=body, content_type=media_type)
            assert answer.status_code == 422 and words in answer.json["error"]["message"], (body[:30], answer.json)
    many = b'{"home": [' + b"{}," * operation.MOST_MARKS + b"{}]}"
    assert client.put(route, data=many).status_code == 413


def test_a_marked_number_is_read_as_it_was_meant(client: FlaskClient, post: Callable[..., Any]) -> None:
    post(pages.SESSION)
    label = {"judgement": "wrong", "expects": "one", "expected": {"$fencepost:float": "NaN"}}
    told = client.put(ROUTES[1], data=json.dumps(label)).json["label"]
    assert told["expected"] == {"$fencepost:float": "NaN"}


def test_no_route_reads_a_body_otherwise() -> None:
    paths = [path for path in (ROOT / "webapp" / "web").rglob("*.py") if path.name != "json_bodies.py"]
    found = [path.name for path in paths if re.search(r"get_json|request\.json|loads\(request", path.read_text())]
    assert found == []
