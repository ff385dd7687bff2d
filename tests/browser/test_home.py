"""Somebody's own log, of a parser that nobody named: from the drop to the exact character through the question."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import reload_until, serve, stop

pytestmark = pytest.mark.browser
CLOSED = """[...document.querySelectorAll("select option:not(:checked), .hidden")]
  .filter((it) => it.closest("select")?.checkVisibility() || it.checkVisibility())
  .reduce((sum, it) => sum + it.innerText.split(/\\s+/).filter(Boolean).length, 0)"""
"""words that no eye meets: choices of a list that is closed, and what only a screen reader says"""
WELL, BROKEN = '{"tool": "search", "n": 1}', '{"tool": "buy",\n "n": 2,}'


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[str]:
    """A server over an empty data folder."""
    process, url = serve(tmp_path / "data", "--no-examples")
    yield url
    stop(process)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """An OpenAI-style log of a program's own."""
    path = tmp_path / "agent.jsonl"
    lines: list[dict[str, Any]] = []
    for number in range(6):
        answers = [WELL, BROKEN if number == 3 else WELL]
        messages = [
            message
            for answer in answers
            for message in ({"role": "user", "content": "Go on."}, {"role": "assistant", "content": answer})
        ]
        lines.append({"id": f"run-{number}", "model": "m", "messages": messages})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_from_drop_to_caret_through_the_question(own_server: str, log: Path, page: Page) -> None:
    actions = 0

    def act(locator: Any) -> None:
        nonlocal actions
        actions += 1
        locator.click()

    page.goto(f"{own_server}/dumps")
    page.locator("#file").set_input_files(log)
    actions += 1
    question = page.locator("#question")
    expect(question).to_contain_text("1 of 12 responses is not plain JSON")
    act(question.locator("summary").first)
    direct = question.get_by_role("button", name="json.loads", exact=False).first
    expect(direct).to_contain_text("1 would have failed")
    act(direct)
    expect(page.locator("#messages")).to_contain_text(re.compile("6 sessions (now|are being) read by json.loads"))
    expect(page.locator("#question")).to_have_count(0)
    act(page.get_by_role("navigation", name="Main").get_by_role("link", name="Responses"))
    reload_until(page, "tr.failed")
    act(page.locator("tr.failed a[data-row]"))
    expect(page.locator("details.parser summary")).to_contain_text("json.loads")
    act(page.locator(".turn.failed a[data-row]"))
    expect(page.locator("#debugger")).to_contain_text("line 2")
    assert actions < 20


def test_it_can_be_undone_and_dismissed(own_server: str, log: Path, page: Page) -> None:
    page.request.post(f"{own_server}/api/dumps?filename=agent.jsonl", data=log.read_bytes())
    page.goto(f"{own_server}/sessions")
    expect(page.locator(".outcome-marks.open")).to_have_count(6)
    page.locator("#question").get_by_role("button", name="Yes, json.loads").click()
    expect(page.locator(".outcome-marks.open")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".outcome-marks.open")).to_have_count(6)
    page.get_by_role("button", name="Don't ask about these").click()
    expect(page.locator("#question")).to_have_count(0)
    expect(page.locator(".outcome-marks.open")).to_have_count(6)


def test_the_question_leaves_room_on_a_telephone(own_server: str, log: Path, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{own_server}/dumps")
    page.locator("#file").set_input_files(log)
    question = page.locator("#question")
    expect(question).to_contain_text("1 of 12 responses is not plain JSON")
    page.goto(f"{own_server}/sessions")
    expect(question).not_to_contain_text("counting")
    box = question.bounding_box()
    assert box and box["height"] < 160
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_own_format_takes_six_actions_and_900_words_to_a_copied_link(
    own_server: str, tmp_path: Path, page: Page
) -> None:
    own, words = tmp_path / "own.jsonl", []
    entries = [{"run": f"r{n // 5}", "ask": f"step {n}", "out": BROKEN if n == 7 else WELL} for n in range(30)]
    own.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def read() -> None:
        closed = page.evaluate(CLOSED)
        words.append(len(page.locator("body").inner_text().split()) - closed)

    page.goto(f"{own_server}/")
    expect(page.locator("#machine-logs")).to_be_visible()
    assert page.url == f"{own_server}/", "what is looked for behind the page leaves its address alone"
    read()
    page.locator("#first-file").set_input_files(own)  # 1
    page.get_by_role("button", name="Import").click()  # 2
    expect(page.locator("#preview .session").first).to_contain_text("r0")
    read()
    page.get_by_role("button", name="Save and ingest").click()  # 3
    expect(page.locator("tr[id^=dump-]", has_text="own.jsonl").locator("a[data-row]")).to_be_visible()
    read()
    page.get_by_role("link", name="Incidents", exact=True).click()  # 4
    expect(page.locator(".example a")).to_be_visible()
    read()
    page.locator(".example a").click()  # 5
    expect(page.locator("#raw .notes").first).to_contain_text("Expecting property name")
    expect(page.locator("#raw .notes").first).to_be_in_viewport()
    read()
    page.keyboard.press("y")  # 6
    expect(page.locator(".told")).to_contain_text(re.compile("copied", re.IGNORECASE))
    assert "/turns/" in page.evaluate("navigator.clipboard.readText()")
    assert sum(words) <= 900, words
