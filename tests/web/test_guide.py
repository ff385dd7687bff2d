"""The first minute: what an empty database offers, and the guided example in five steps."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient


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
