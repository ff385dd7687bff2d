"""Disagreements are settled by keys alone in a real Chromium, one after the other, and can be opened again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import serve, stop

pytestmark = pytest.mark.browser
VOTES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Ann", {"judgement": "missed", "cause": "extra-closing", "expected": {"tool": "a", "n": 1}}),
    ("Ben", {"judgement": "missed", "cause": "extra-closing", "expected": {"tool": "a", "n": 2}}),
    ("Cy", {"judgement": "missed", "cause": "extra-closing", "expected": {"tool": "a", "n": 2}}),
)


@pytest.fixture
def adjudicator(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A server of the test's own, where three people labelled three responses, two of them alike; Ann's page."""
    process, url = serve(tmp_path / "data", "--no-examples")
    context = browser.new_context(base_url=url)
    page = context.new_page()
    entries = [
        {"node_type": "agent", "role": "agent", "content": f'{{"tool": "{name}", "n": 1}}}}}}'} for name in "abc"
    ]
    dump = json.dumps({"session_id": "argued", "entries": entries})
    page.request.post("/api/dumps?filename=argued.json", data=dump)
    for author, label in VOTES:
        for position in range(3):
            answer = page.request.put(f"/api/session/argued/turns/{position}/label", data={**label, "author": author})
            assert answer.ok, answer.text()
    page.goto("/labels/name?next=/labels/disagreements")
    page.get_by_role("textbox", name="Your name").fill("Ann")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{url}/labels/disagreements")  # whole: the page of the name has this path in its query
    yield page
    context.close()
    stop(process)


def first(page: Page) -> str:
    return page.locator(".disagreement h2").first.inner_text().split()[-1]


def test_votes_are_settled_one_after_the_other_by_keys_alone(adjudicator: Page) -> None:
    page = adjudicator
    expect(page.locator(".disagreement")).to_have_count(3)
    expect(page.locator(".disagreement").first.locator("li").first).to_contain_text("Ben, Cy")
    before = first(page)
    page.keyboard.press("j")
    page.wait_for_url("**/disagreements?after=*")
    assert first(page) != before
    page.goto("/labels/disagreements")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.locator(".disagreement")).to_have_count(2)
    assert first(page) != before
    label = page.request.get("/api/labels/export?format=jsonl").text()
    settled = [line["settled"] for line in map(json.loads, label.splitlines()) if line["settled"]]
    assert [each["expected"] for each in settled] == [{"tool": "a", "n": 1}] * 3
    page.get_by_role("link", name="settled").click()
    expect(page.locator(".disagreement")).to_contain_text("Settled as missed, extra-closing by Ann")
    page.get_by_role("button", name="Reopen").click()
    page.wait_for_url("**/labels/disagreements")
    expect(page.locator(".disagreement")).to_have_count(3)
