"""The on-call path: from an empty database and a folder of logs to what fails since when, in few actions."""

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


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[str]:
    process, url = serve(tmp_path / "data", "--no-examples")
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
