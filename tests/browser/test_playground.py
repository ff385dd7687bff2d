"""The playground in a real Chromium: live as one types, linked, dropped on, saved, and without JavaScript."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

BROKEN = '{"tool": "run", "n": 1}}'


def test_a_text_is_read_as_it_is_typed_and_the_address_is_its_link(page: Page) -> None:
    page.goto("/playground")
    page.locator("#text").press_sequentially(BROKEN)
    expect(page.locator("#raw del")).to_contain_text("}")
    expect(page.locator("#text")).to_be_focused()
    page.wait_for_url(re.compile("t="))
    link = page.url
    page.goto("/playground")
    page.goto(link)
    expect(page.locator("#text")).to_have_value(BROKEN)
    expect(page.locator(".says")).to_contain_text("1 edit")


def test_every_profile_stands_beside_it_and_is_kept_while_one_types_on(page: Page) -> None:
    page.goto("/playground")
    page.locator("#text").fill(BROKEN)
    page.locator("#profiles-rest summary").click()
    page.locator(".profiles :is(a, button)", has_text="json.loads").click()
    expect(page.locator(".profiles [aria-current]")).to_contain_text("json.loads")
    page.locator("#text").press("End")
    page.locator("#text").press_sequentially(" and more")
    expect(page.locator("#raw")).to_contain_text("and more")
    expect(page.locator(".profiles [aria-current]")).to_contain_text("json.loads")


def test_a_dropped_file_is_read(page: Page) -> None:
    page.goto("/playground")
    page.evaluate(
        """(body) => {
          const data = new DataTransfer();
          data.items.add(new File([body], "response.txt"));
          document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        BROKEN,
    )
    expect(page.locator("#raw del")).to_contain_text("}")


def test_a_long_text_is_stepped_through_without_a_link(page: Page) -> None:
    page.goto("/playground")
    noise = "".join(f"{i * 7919:x}" for i in range(2_000))
    page.locator("#text").fill(f"{noise} {BROKEN}")
    expect(page.locator("#raw del")).to_contain_text("}")
    assert "t=" not in page.url
    page.keyboard.press("Escape")
    page.locator("#text").blur()
    page.keyboard.press("[")
    expect(page.locator(".attempt.open")).to_contain_text("1 whole")
