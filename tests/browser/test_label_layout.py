"""The label queue in small windows: the form never covers the response, and every target can be hit."""

from __future__ import annotations

import json
import urllib.request

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

SIZES = ((720, 450), (320, 640), (844, 390), (1280, 500), (1440, 900))
OVERLAP = """() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  const [raw, form] = [box(".queue > .raw"), box("#judge")];
  return raw.height < 60 || (raw.bottom > form.top + 1 && form.bottom > raw.top + 1);
}"""
LONG_FORMAT = (
    "document.querySelectorAll('.dumps td:nth-child(2)').forEach((cell) => (cell.textContent = 'prompt_map_json'))"
)


def test_the_form_never_covers_the_response_and_targets_are_large_enough(page: Page) -> None:
    page.goto("/labels?queue=failed")
    page.fill("[name=name]", "ann")
    page.keyboard.press("Enter")
    page.wait_for_url("**/labels?queue=failed")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for scroll in (0, 200):
            page.evaluate(f"scrollTo(0, {scroll})")
            assert not page.evaluate(OVERLAP), (width, height, scroll)
    for path in ("/labels?queue=failed", "/help"):
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(path)
            found = Axe().run(page, options={"runOnly": {"type": "rule", "values": ["target-size"]}})
            assert found.response["violations"] == [], (path, width)


def test_the_list_of_dumps_fits_320_pixels_whatever_the_files_are_called(page: Page, server: str) -> None:
    body = json.dumps({"messages": [{"role": "assistant", "content": "{}"}], "id": "s" * 90}).encode()
    for name in ("a_name_of_many_words_that_has_no_space_in_it.json", "x" * 80 + ".json"):
        urllib.request.urlopen(urllib.request.Request(f"{server}/api/dumps?filename={name}", body)).close()
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto("/dumps")
    page.evaluate(LONG_FORMAT)
    assert page.evaluate("document.documentElement.scrollWidth") == 320
