"""A parser of somebody's own stands wherever a profile does: home, runs, filters, statistics, its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from tests.web.pages import session
from webapp.parsing import parse

Work = Callable[[], None]
NAME = "acme.parsers:fenced"
SOURCE = """
import json, os, re

def fenced(text):
    if text == "die":
        os._exit(7)
    return json.loads(re.search(r"```json(.*?)```", text, re.S)[1])
"""
WELL, BROKEN = '```json\n{"a": 1}\n```', '```json\n{"a": 1}}\n```'


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A parser in a package of this test's folder, configured by the variable."""
    package = tmp_path / "acme"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "parsers.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FENCEPOST_PROFILES", NAME)
    return NAME


@pytest.fixture
def stored(own: str, client: FlaskClient) -> FlaskClient:
    """A session of three responses whose parser is `fencepost`."""
    assert client.post("/api/dumps?filename=s.json", data=session("s", WELL, BROKEN, "die")).status_code == 201
    return client


def test_home_runs_filters_and_pages(stored: FlaskClient, own: str, work: Work) -> None:
    page = stored.get("/profiles").text
    assert "Your own" in page and own in page
    assert stored.post(f"/profiles/{own}/runs").status_code == 303
    work()
    page = stored.get(f"/profiles/{own}").text
    assert "Run on all 3 responses" in page and "What cannot be seen" in page
    assert 'href="/sessions/s' in stored.get(f"/sessions?verdict=failed&under={own}").text
    assert stored.put("/api/session/s/home", json={"home": own}).status_code < 300
    work()
    assert stored.get("/api/session/s/home").json["failed"] == 2
    turn = stored.get("/sessions/s/turns/1").text
    assert "parsers.py:7" in turn and "Extra data" in turn and "return json.loads(re.search(" in turn
    assert own in stored.get("/api/profiles").text


def test_no_form_makes_one(stored: FlaskClient) -> None:
    assert stored.put("/api/session/s/home", json={"home": "os:system"}).status_code in (404, 422)
    assert stored.post("/profiles/os:system/runs").status_code == 404
    assert stored.get("/sessions/s/turns/1?profile=os:system").status_code == 404


def test_a_home_that_is_configured_no_longer_is_said_to_be_gone(
    stored: FlaskClient, own: str, monkeypatch: pytest.MonkeyPatch, work: Work
) -> None:
    stored.put("/api/session/s/home", json={"home": own})
    work()
    monkeypatch.setenv("FENCEPOST_PROFILES", "")
    for address in ("/", "/sessions/s", "/sessions/s/turns/1", "/responses", "/profiles"):
        answer = stored.get(address)
        assert answer.status_code == 200, address
    assert "no profile is called" in stored.get("/sessions/s/turns/1").text


def test_one_that_cannot_be_imported_is_not_run(stored: FlaskClient, own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_PROFILES", "acme.gone:parse")
    page = stored.get("/profiles/acme.gone:parse").text
    assert "not run" in page and "No module named" in page
    assert parse("[1]", "acme.gone:parse").verdict == "none"


def test_it_is_compared_without_being_chosen(stored: FlaskClient, work: Work) -> None:
    """From the first page: Parsers, Compare two, Run it over these."""
    assert 'href="/compare"' in stored.get("/profiles").text
    page = stored.get("/compare").text
    assert f"<option selected>{NAME}</option>" in page
    assert "Run it over these" in page
    stored.post(f"/profiles/{NAME}/runs")
    work()
    counts = stored.get("/api/compare").get_json()
    assert (counts["a"], counts["b"], counts["both_same"], counts["only_b"]) == (NAME, "fencepost", 1, 1)
