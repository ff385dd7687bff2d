"""Fencepost under a path of a host, in a browser: nothing that pages and scripts ask for is outside of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import bring_examples, serve, stop

pytestmark = pytest.mark.browser
PREFIX = "/tools/fencepost"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of a server under `PREFIX`; what is asked for elsewhere on its host is somebody else's."""
    process, printed = serve(tmp_path / "data", "--no-examples", FENCEPOST_PREFIX=PREFIX)
    url = f"http://{urlsplit(printed).netloc}{PREFIX}"
    bring_examples(url, "agent-never*")
    yield url
    stop(process)


def read_on(page: Page) -> None:
    """From the list to a session, to a turn, and on to the next failure by key."""
    page.locator("[data-row]").first.click()
    page.wait_for_url("**/sessions/*")
    page.locator("a[href*='/turns/']:visible").first.click()
    page.wait_for_url("**/turns/*")
    with page.expect_response("**/api/next-failure*"), page.expect_navigation():
        page.keyboard.press("N")


def judge_first(page: Page, url: str) -> None:
    page.goto(f"{url}/labels?queue=failed")
    page.fill("[name=name]", "Ada")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{url}/labels?queue=failed")
    at = page.locator("#debugger").get_attribute("data-at")
    with page.expect_response("**/labels/check"):
        page.fill("#judge [name=expected]", "[1]")
    page.locator("#judge [name=note]").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    page.wait_for_function("at => document.getElementById('debugger').dataset.at !== at", arg=at)


def upload(page: Page, url: str, folder: Path) -> None:
    file = folder / "sent.json"
    file.write_text('{"session_id": "sent", "entries": [{"node_type": "agent", "role": "agent", "content": "{}"}]}')
    page.goto(f"{url}/dumps")
    page.set_input_files("#file", [file])
    expect(page.locator("tr", has_text="sent.json").locator("a[data-row]")).to_be_visible()


def test_all_that_pages_and_scripts_ask_for_is_under_the_prefix(page: Page, url: str, tmp_path: Path) -> None:
    missing, elsewhere = list[str](), list[str]()
    page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
    page.on("request", lambda asked: None if asked.url.startswith(f"{url}/") else elsewhere.append(asked.url))
    page.goto(f"{url}/sessions?failed=1")
    read_on(page)
    page.goto(f"{url}/sessions?failed=1")
    page.locator("input[name=q]").first.fill("json")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions?*q=json*")
    judge_first(page, url)
    upload(page, url, tmp_path)
    assert (missing, elsewhere) == ([], [])
    assert {cookie["path"] for cookie in page.context.cookies()} == {PREFIX}
