"""The playground in a real Chromium, typed into from anywhere; keys that are off or changed, and Ctrl-K."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

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


def test_what_is_typed_or_pasted_anywhere_lands_in_the_playground(page: Page) -> None:
    page.goto("/playground")
    expect(page.locator("#text")).to_be_focused()
    page.locator("#text").blur()
    page.keyboard.type("Sure")
    expect(page.locator("#text")).to_have_value("Sure")
    page.locator("#text").fill("")
    page.locator("#text").blur()
    page.evaluate(
        """() => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", '{"a": 1}}');
          document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
        }"""
    )
    expect(page.locator("#text")).to_have_value('{"a": 1}}')
    expect(page.locator("#raw del")).to_contain_text("}")


def test_keys_can_be_changed_and_switched_off(page: Page) -> None:
    page.goto("/sessions")
    page.keyboard.press("i")
    expect(page.locator("#legend")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_role("button", name="change the key for: legend of the marks").click()
    page.keyboard.press("Q")
    expect(page.locator("#keys dl")).to_contain_text("Q")
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    expect(page.locator("#legend")).to_be_hidden()
    page.keyboard.press("Q")
    expect(page.locator("#legend")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.get_by_label("single keys are on").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("Q")
    expect(page.locator("#legend")).to_be_hidden()
    expect(page.locator(".foot kbd").first).to_be_hidden()
    page.reload()
    page.keyboard.press("Q")
    expect(page.locator("#legend")).to_be_hidden()


def test_ctrl_k_goes_to_pages_and_presses_keys_by_their_words(page: Page) -> None:
    page.goto("/sessions")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette input")).to_be_focused()
    page.keyboard.type("legend of")
    expect(page.locator("#palette [role=status]")).to_have_text("2 found")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#legend")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette input")).to_be_focused()
    page.keyboard.type("disagreem")
    page.keyboard.press("Enter")
    page.wait_for_url("**/labels/disagreements")


def test_what_is_typed_while_ctrl_k_loads_is_kept(page: Page) -> None:
    page.route("**/commands.js*", lambda route: (page.wait_for_timeout(300), route.continue_()))
    page.goto("/sessions")
    page.keyboard.press("Control+k")
    page.keyboard.type("disagreem")
    expect(page.locator("#palette li a").first).to_contain_text("disagreements")
    expect(page.locator("#palette input")).to_have_value("disagreem")


def test_without_javascript_no_key_is_named(browser: Browser, server: str) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=server)
    page = context.new_page()
    for path in ("/", "/playground", "/dumps", "/profiles"):
        page.goto(path)
        assert page.locator("kbd:visible").count() == 0, path
    context.close()
