"""From an empty database and logs to what fails since when, and from an own format to a link, each in few actions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import reload_until, serve, stop

pytestmark = pytest.mark.browser

WELL = '{"tool": "search", "n": %d}'
COMMA = 'Sure.\n{"tool": "search", "list": [1, %d,]}'
QUOTES = "{'tool': 'search', 'n': %d}"
BEGAN = datetime(2026, 11, 8, 14, 2, tzinfo=UTC)
CLOSED = """[...document.querySelectorAll("select option:not(:checked), .hidden")]
  .filter((it) => it.closest("select")?.checkVisibility() || it.checkVisibility())
  .reduce((sum, it) => sum + it.innerText.split(/\\s+/).filter(Boolean).length, 0)"""
"""words that no eye meets: choices of a list that is closed, and what only a screen reader says"""


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[str]:
    process, url = serve(tmp_path / "data", "--no-examples", HOME=str(tmp_path))
    yield url
    stop(process)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a file a model: model-a with two failures of another kind, then model-m with 49 of one kind."""
    folder = tmp_path / "logs"
    folder.mkdir()
    older = BEGAN - timedelta(days=2)
    texts = [[WELL] * 5 + [QUOTES] * (at < 2) for at in range(12)]
    before = [run(f"a-{at}", "model-a", older + timedelta(hours=at), texts[at]) for at in range(12)]
    (folder / "before.jsonl").write_text("".join(before))
    lines = [run(f"m-{at}", "model-m", BEGAN + timedelta(hours=at), [COMMA] * 4 + [WELL] * 3) for at in range(12)]
    (folder / "since.jsonl").write_text("".join([*lines, run("m-12", "model-m", BEGAN + timedelta(hours=13), [COMMA])]))
    return folder


def run(name: str, model: str, began: datetime, texts: list[str]) -> str:
    messages: list[dict[str, Any]] = []
    for at, text in enumerate(texts):
        sent = (began + timedelta(minutes=at)).isoformat()
        messages += [
            {"role": "user", "content": "Go on.", "timestamp": sent},
            {"role": "assistant", "content": text % at, "timestamp": sent},
        ]
    return json.dumps({"id": name, "model": model, "created_at": began.isoformat(), "messages": messages}) + "\n"


def test_from_a_folder_of_logs_to_what_fails_since_when_and_how(own_server: str, logs: Path, page: Page) -> None:
    actions = ["open the page"]
    page.goto(f"{own_server}/")
    expect(page.get_by_role("heading", name="No session yet")).to_be_visible()

    def act(what: str, locator: Any) -> None:
        actions.append(what)
        locator.click()

    act("go to the import", page.get_by_role("link", name="Add logs"))
    page.locator("#folder").set_input_files(logs)
    actions.append("choose the folder")
    expect(page.locator("#question")).to_contain_text("are not plain JSON")
    page.goto(f"{own_server}/")
    actions.append("look at failures")
    expect(page.locator("#question")).to_contain_text("Read as json.loads")
    act("say which parser", page.locator("#question").get_by_role("button", name="Yes, json.loads"))
    reload_until(page, ".shown:has-text('2 kinds of failure, 51 responses')")
    first = page.locator(".group").first
    expect(first).to_contain_text("trailing comma — alone")
    expect(first.locator("del")).to_have_text(",")
    page.keyboard.press("a")
    page.wait_for_url("**/?new=1")
    page.keyboard.press("a")
    page.wait_for_url(f"{own_server}/")
    act("open the first group", first.locator("[data-row]"))
    expect(page.locator(".sentence")).to_contain_text("Began 8 Nov 2026 at 14:02 UTC with model-m")
    expect(page.locator(".sentence")).to_contain_text(re.compile(r"49 responses \(.*\)\s+in 13 sessions"))
    expect(page.locator("#reproduction pre")).to_contain_text(",]")
    expect(page.locator("#reproduction")).to_contain_text("no character can be left out")
    reader = page.get_by_role("row").filter(has_text="fencepost").first
    expect(reader).to_contain_text("49 of 49")
    expect(reader).to_contain_text("reads them all")
    expect(page.get_by_role("row").filter(has_text="model-m").first).to_contain_text("49 of 85")
    assert len(actions) < 12, actions
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/turns/*")
    expect(page.locator(".says")).to_contain_text("49 responses in 13 sessions since 8 Nov 2026")
    here = page.url
    page.keyboard.press("N")
    page.wait_for_url(lambda url: "/turns/" in url and url != here)


def test_an_own_format_takes_six_actions_and_900_words_to_a_copied_link(
    own_server: str, tmp_path: Path, page: Page
) -> None:
    own, words = tmp_path / "own.jsonl", []
    texts = [WELL % 1] * 7 + ['{"tool": "buy",\n "n": 2,}'] + [WELL % 1] * 22
    entries = [{"run": f"r{n // 5}", "ask": f"step {n}", "out": text} for n, text in enumerate(texts)]
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
