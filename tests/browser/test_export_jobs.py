"""Exports in a real browser: asked for by keys from the list, followed, downloaded."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import serve, stop
from tests.browser.test_dumps import log

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own, with enough sessions that an export of them takes a while."""
    folder = tmp_path_factory.mktemp("exports")
    process, url = serve(folder / "data", "--no-examples")
    try:
        yield url
    finally:
        stop(process)


@pytest.fixture
def stored(page: Page, url: str, tmp_path: Path) -> None:
    page.goto(f"{url}/dumps")
    page.set_input_files("#file", [log(tmp_path / "many.jsonl", 400, 3, "many")])
    expect(page.locator("tr[id^=dump-]", has_text="many.jsonl")).to_contain_text("400")


def test_a_selection_and_all_are_exported_by_keys(page: Page, url: str, stored: None, tmp_path: Path) -> None:
    page.goto(f"{url}/sessions")
    for _ in range(2):
        page.keyboard.press("j")
        page.keyboard.press("x")
    page.keyboard.press("B")
    expect(page.locator("h1")).to_have_text(re.compile(r"sessions-\d+\.zip"))
    download = page.get_by_role("link", name="Download")
    expect(download).to_be_visible()
    with page.expect_download() as downloaded:
        page.keyboard.press("d")
    downloaded.value.save_as(tmp_path / "two.zip")
    with zipfile.ZipFile(tmp_path / "two.zip") as archive:
        assert archive.testzip() is None and len(archive.namelist()) == 2
    page.goto(f"{url}/sessions")
    page.keyboard.press("b")
    expect(page.locator("h1")).to_have_text("Export 400 sessions")
    page.keyboard.press("b")
    expect(page.locator("h1")).to_have_text(re.compile(r"sessions-\d+\.zip"))
    expect(page.locator("#export")).to_contain_text("400")
    expect(page.get_by_role("link", name="Download")).to_be_visible()
    assert page.locator("[hx-trigger]").count() == 0
