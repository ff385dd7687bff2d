"""The first minute: what an empty database offers, and the guided example in five steps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webapp.extensions import db
from webapp.store.ingest.start import ingest_examples
from webapp.web import help_pages


@pytest.fixture
def examples(client: FlaskClient) -> None:
    client.post("/guide/examples")


def test_an_empty_database_says_what_this_is_and_offers_the_examples(client: FlaskClient) -> None:
    page = client.get("/sessions").text
    assert "Fencepost shows why a model" in page and 'type="file"' in page and "Look at the demo" in page
    assert "<del>}}</del>" in page and 'aria-label="Filters"' not in page and "Demo." not in page
    assert "No stored response failed" in client.get("/guide").text
    answer = client.post("/guide/examples", data={"guide": "1"}, follow_redirects=True)
    assert answer.status_code == 200 and "1 of 5: What the agent wrote." in answer.text


@pytest.mark.usefixtures("examples")
def test_five_steps_lead_from_the_mark_to_your_parser_and_never_again(client: FlaskClient) -> None:
    page = client.get("/sessions").text
    assert "See one failed response in five steps" in page
    assert 'popovertarget="legend" data-key="i"' in page
    legend = page.partition('id="legend"')[2].partition("</dl>")[0]
    for words in ("clean", "extracted", "repaired", "failed", "no JSON found", "Fencepost can"):
        assert words in legend
    url = client.get("/guide").location
    told = ("What the agent wrote", "Where your parser stopped", "What would mend it", "What would have been read")
    for number, shows in enumerate((*told, "Who else reads it"), 1):
        page = client.get(url).text
        assert f"{number} of 5: {shows}." in page, url
        following = re.search(r'class="button main" href="([^"]+)">Next<', page)
        assert (following is None) == (number == 5)
        url = following[1].replace("&amp;", "&") if following else url
    assert client.post("/guide/end", data={"back": ""}).status_code == 303
    assert "five steps" not in client.get("/sessions").text


@pytest.mark.usefixtures("examples")
def test_the_demo_says_what_it_is_and_one_step_removes_it(client: FlaskClient) -> None:
    page = client.get("/").text
    assert "Demo." in page and "Remove the examples" in page
    demo = page.partition("Demo.")[2].partition("</form>")[0]
    keys = re.findall(r'name="ids" value="([^"]+)"', demo)
    client.post("/api/dumps?filename=own.json", data=b'{"id": "own", "messages": [{"role": "user", "content": "?"}]}')
    assert "Demo." not in client.get("/").text and f"{len(keys)} examples left the lists" in client.get("/dumps").text
    page = client.post("/selection/deleted", data={"ids": keys}, follow_redirects=True).text
    assert f"Deleted {len(keys)} sessions" in page and "Demo." not in client.get("/dumps").text


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


ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))


def test_every_page_links_to_help_and_help_lists_every_document(client: FlaskClient) -> None:
    assert 'href="/help"' in client.get("/").text
    index = client.get("/help").text
    for name in NAMES:
        assert f'href="/help/{name}"' in index
    assert client.get("/help/nothing").status_code == client.get("/help/..%2fREADME").status_code == 404


def test_every_link_of_a_document_leads_somewhere(client: FlaskClient) -> None:
    for name in NAMES:
        answer = client.get(f"/help/{name}")
        assert answer.status_code == 200
        article = answer.text.partition("<article")[2].partition("</article>")[0]
        assert "<h1" in article and "<script" not in article
        for target in re.findall(r'(?:href|src)="([^"]+)"', article):
            path, _, heading = target.partition("#")
            if target.startswith("/"):
                page = client.get(path)
                assert page.status_code == 200, target
                assert not heading or f'id="{heading}"' in page.text, target
            elif target.startswith("../"):
                assert (ROOT / "docs" / target).exists(), target


def test_headings_have_the_names_that_links_use() -> None:
    assert help_pages.anchor("A `mapping`, by hand") == "a-mapping-by-hand"
