"""No character that nobody can see reaches any page: everything stored is poisoned, and all pages are opened."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.web import pages
from tests.web.test_answers import COLUMNS
from webapp.extensions import db
from webapp.store.models import Base
from webapp.visible import SPECIAL

UNSEEN = "\U000e0041\U000e007f\ufe01\U000e0100\u3164\u115f\u202e\u2066\u200b\u200d\u00ad\u061c\u2800\ufeff"
POISON = f"p{UNSEEN}q"
RAW = f'Sure{UNSEEN}: {{"tool": "{POISON}", "{POISON}": ["{POISON}"], "a": {UNSEEN}1,}}'
IN_FIELDS = re.compile(r"\b(?:value|href|action|hx-\w+|data-\w+)=\"[^\"]*\"|(?<=>)[^<]*(?=</textarea>)")
"""what a form sends back, and addresses: exact text that is no text to read"""


def fill(client: FlaskClient, post: Callable[..., Any]) -> str:
    entries = [
        {"node_type": "agent", "role": "user", "content": POISON, "agent": POISON},
        {"node_type": "agent", "role": "assistant", "model": POISON, "content": RAW, "metadata": {POISON: POISON}},
        {"node_type": "error", "content": POISON, "error": POISON},
    ]
    dump = {"session_id": f"s{POISON}", "title": POISON, "source": POISON, "entries": entries}
    assert post(json.dumps(dump).encode(), filename=f"{POISON}.json", home="direct").status_code == 201
    key: str = client.get("/api/sessions").json["sessions"][0]["key"]
    label = {"judgement": "wrong", "author": "Ada", "note": POISON, "expects": "one", "expected": {POISON: POISON}}
    assert client.put(f"/api/session/{key}/turns/1/label", json=label).status_code == 200
    client.post("/views", data={"name": "mine", "query": "q=a", "here": "/"})
    client.post("/labels/name", data={"name": "Bo"})
    return key


def unseen(page: str) -> list[str]:
    text = html.unescape(IN_FIELDS.sub("", page))
    return [ascii(text[max(0, match.start() - 60) : match.end() + 20]) for match in SPECIAL.finditer(text)]


@pytest.fixture(params=["as it came", "every column"])
def poisoned(request: pytest.FixtureRequest, app: Flask, client: FlaskClient, post: Callable[..., Any]) -> str:
    key = fill(client, post)
    if request.param == "every column":
        with app.app_context(), db.engine.begin() as connection:
            for table, column in COLUMNS:
                if (table, column) != ("turn", "raw"):
                    rows = Base.metadata.tables[table]
                    connection.execute(sa.update(rows).prefix_with("OR IGNORE").values({column: POISON}))
    return key


def test_no_page_shows_what_nobody_can_see(app: Flask, client: FlaskClient, poisoned: str) -> None:
    addresses = pages.addresses(app, **{"session_id:ident": poisoned})
    addresses += [
        "/labels?queue=failed",
        f"/labels?queue=chosen&ids={poisoned}",
        "/sessions?q=p",
        "/responses?verdict=failed",
    ]
    seen: dict[str, list[str]] = {}
    opened = 0
    for address in addresses:
        answer = client.get(address, buffered=True)
        if answer.mimetype == "text/html" and answer.status_code == 200:
            opened += 1
            if hidden := unseen(answer.text):
                seen[address] = hidden[:3]
    assert seen == {}
    assert opened > 25
