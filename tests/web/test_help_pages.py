"""Help: every document is served without a network, and every link in it leads to a page or a heading that exists."""

from __future__ import annotations

import re
from pathlib import Path

from flask.testing import FlaskClient

from webapp.web import help_pages

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
