"""A profile of one's own: run over what is stored, chosen as the program's parser, shown with its call site."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import serve, stop

pytestmark = pytest.mark.browser
NAME = "mine"
SOURCE = """
import json, re

def parse(text):
    match = re.search(r"```json(.*?)```", text, re.S)
    inner = match[1].strip() if match else text
    try:
        return json.loads(inner)
    except ValueError:
        return json.loads(inner.rstrip("}") + "}")
"""
TEXTS = ('```json\n{"a": 1}\n```', '```json\n{"a": 1}}\n```', "```json\n{a: 1}\n```")


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[str]:
    """A server over an empty data folder, with a parser of this test's own."""
    parsers = tmp_path / "parsers.py"
    parsers.write_text(SOURCE)
    process, url = serve(tmp_path / "data", "--no-examples", FENCEPOST_PROFILES=f"{NAME}={parsers}:parse")
    yield url
    stop(process)


def test_home_replay_and_call_site(own_server: str, page: Page) -> None:
    lines = [
        {"id": f"run-{number}", "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]}
        for number, text in enumerate(TEXTS)
    ]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    page.request.post(f"{own_server}/api/dumps?filename=agent.jsonl", data=body.encode())
    page.goto(f"{own_server}/profiles/{NAME}")
    expect(page.locator("main")).to_contain_text("parsers.py:parse")
    expect(page.locator("main")).to_contain_text("What cannot be seen")
    page.goto(f"{own_server}/")
    actions = [
        page.get_by_role("link", name="Parsers", exact=True),
        page.get_by_role("link", name="Compare two"),
        page.get_by_role("button", name="Run it over these"),
    ]
    for action in actions:
        action.click()
    assert len(actions) <= 4, "A against B, the first of them one's own"
    expect(page.locator(".matrix")).to_contain_text(f"A {NAME}")
    expect(page.locator(".matrix tr").nth(1)).to_contain_text("2 the same, 0 different")
    page.goto(f"{own_server}/profiles/{NAME}")
    expect(page.locator("main")).to_contain_text("1 extracted, 1 repaired, 1 failed")
    page.goto(f"{own_server}/sessions")
    page.locator("#question summary").first.click()
    page.locator("#question").get_by_role("button", name=NAME).first.click()
    expect(page.locator("#messages")).to_contain_text(f"3 sessions now read by {NAME}")
    expect(page.locator("tr.failed")).to_have_count(1)
    page.goto(f"{own_server}/sessions/run-1/turns/1")
    site = page.locator(".attempt .site").last
    expect(site).to_contain_text("parsers.py:10")
    expect(site).to_contain_text('return json.loads(inner.rstrip("}") + "}")')
    expect(page.locator(".attempt.chosen")).to_contain_text("removed")
