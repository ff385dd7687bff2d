"""A stored parse that does not fit its text, as where rows were changed by hand: said everywhere, drawn nowhere."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.commands.stored import runner
from webapp.extensions import db
from webapp.store.models import Turn

PAGE = "/sessions/s1/turns/1"
RAW = "Sure:\n```json\n{'tool': 'run', 'n': 1,}}\n```\nand {x}"
SAID = "has a stored parse that does not fit this text"
REMEDY = "--again"


@pytest.fixture(params=["{}", "x" * 5 + RAW], ids=["shorter", "shifted"])
def changed(request: pytest.FixtureRequest, client: FlaskClient, app: Flask) -> FlaskClient:
    """A session s1 whose response was changed behind Fencepost's back."""
    messages = [{"role": "user", "content": "Call the tool."}, {"role": "assistant", "content": RAW}]
    body = json.dumps({"id": "s1", "messages": messages}).encode()
    assert client.post("/api/dumps?filename=a.json&home=windlass-strict", data=body).status_code == 201
    with app.app_context():
        turn = db.session.scalars(sa.select(Turn).where(Turn.kind == "response")).one()
        turn.raw = request.param
        db.session.commit()
    return client


def test_pages_show_the_text_and_say_so(changed: FlaskClient) -> None:
    for profile in ["fencepost", "windlass-strict"]:
        answer = changed.get(f"{PAGE}?profile={profile}")
        assert answer.status_code == 200 and SAID in answer.text and REMEDY in answer.text
        assert 'class="span' not in answer.text.partition('id="raw"')[2]
        for query in ("attempt=0", "attempt=3&edit=1", "attempt=1&view=text", "r=0-1"):
            assert changed.get(f"{PAGE}?profile={profile}&{query}").status_code == 200, query
    (group,) = changed.get("/api/failures").json["failures"]
    assert "its stored parse does not fit this text" in changed.get(f"/failures/{group['key']}").text
    for path in ("/", "/sessions?q=json", "/sessions/s1", "/compare?a=fencepost&b=direct", "/responses", "/labels"):
        assert changed.get(path, follow_redirects=True).status_code == 200, path


def test_what_is_handed_on_says_so(changed: FlaskClient) -> None:
    answer = changed.get("/api/session/s1/turns/1?profile=fencepost")
    assert answer.status_code == 200 and answer.json["trace"] is None
    assert REMEDY in answer.json["unfit"] and answer.json["unfit"].startswith(f"fencepost {SAID}")
    turn, session = f"{PAGE}/%s?profile=fencepost&attempt=0", "/api/session/s1/export?format=%s"
    texts = [(turn % "decoded", 409), (turn % "case", 409), (turn % "markdown", 200)]
    for path, status in [*texts, (session % "report", 200), (session % "html", 200)]:
        answer = changed.get(path)
        assert answer.status_code == status and SAID in answer.text and 'removes "' not in answer.text, path


def test_what_it_says_mends_it(changed: FlaskClient, app: Flask) -> None:
    run = runner(app.config["SETTINGS"].data)
    for name in ("fencepost", "windlass-strict"):
        assert run("replay", "--profile", name, "--again").exit_code == 0
    page = changed.get(f"{PAGE}?profile=fencepost")
    assert page.status_code == 200 and SAID not in page.text
    assert changed.get("/api/session/s1/turns/1?profile=fencepost").json["trace"]["version"] != "unfit"
