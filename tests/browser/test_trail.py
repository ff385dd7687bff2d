"""Place is kept: u and Back lead to the list as it was left, N and P through its failures."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

ROWS = "table.sessions tbody tr:has([data-row])"
STATE = """() => [Math.round(document.activeElement.getBoundingClientRect().top),
  document.querySelectorAll("table.sessions tbody [data-row]").length, document.activeElement.closest("tr")?.id,
  location.search, document.querySelectorAll("[name=ids]:checked").length]"""


@pytest.fixture(scope="module")
def trail(server: str) -> str:
    """130 sessions of six turns, of which turns 1 and 4 fail."""
    import urllib.request

    texts = ["{}", '{"a": 1,}', "{}", "{}", '{"b": 2}}', "{}"]
    messages = [{"role": "assistant", "content": text} for text in texts]
    lines = [json.dumps({"id": f"trail-{i:03}", "model": "trail-model", "messages": messages}) for i in range(130)]
    body = "\n".join(lines).encode()
    url = f"{server}/api/dumps?filename=trail.jsonl&home=direct"
    urllib.request.urlopen(urllib.request.Request(url, body)).close()
    return "/sessions?model=trail-model&failed=1"


def test_u_and_back_return_to_row_scroll_loaded_rows_filters_and_focus(page: Page, trail: str) -> None:
    page.goto(trail)
    expect(page.locator("#question[hx-trigger]")).to_have_count(0)  # it grows while it counts
    for count in (60, 90, 120):
        page.locator("tr.next").scroll_into_view_if_needed()
        expect(page.locator(ROWS).nth(count - 1)).to_be_attached()
    row = page.locator(ROWS).nth(100)
    row.locator("[name=ids]").check()
    row.locator("[data-row]").focus()
    row.scroll_into_view_if_needed()
    left = page.evaluate(STATE)
    assert page.evaluate("scrollY") > 1000 and left[1] >= 120 and left[4] == 1
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions/trail-*")
    page.keyboard.press("u")
    page.wait_for_url("**/sessions?model=*")
    page.wait_for_function(f"left => JSON.stringify(({STATE})()) === JSON.stringify(left)", arg=left)
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions/trail-*")
    page.go_back()
    page.wait_for_function(f"left => JSON.stringify(({STATE})()) === JSON.stringify(left)", arg=left)
    page.locator("tr.next").scroll_into_view_if_needed()
    expect(page.locator(ROWS)).to_have_count(130)


def test_capital_n_and_p_go_through_the_failures_of_the_list_across_sessions(page: Page, trail: str) -> None:
    page.goto(trail)
    names = page.locator(f"{ROWS} [data-row]").all_inner_texts()[:2]
    page.locator(f"{ROWS} [data-row]").first.click()
    page.wait_for_url("**/sessions/trail-*")
    places = [(names[0], 1), (names[0], 4), (names[1], 1), (names[1], 4)]
    for name, position in places:
        page.keyboard.press("N")
        page.wait_for_url(f"**/sessions/{name}/turns/{position}*")
    for name, position in places[-2::-1]:
        page.keyboard.press("P")
        page.wait_for_url(f"**/sessions/{name}/turns/{position}*")
    page.keyboard.press("P")
    expect(page.locator("#messages")).to_contain_text("No failure comes before this one in the list")
    page.keyboard.press("u")
    page.wait_for_url(re.compile(rf"/sessions/{names[0]}\?at=1#t1"))
    expect(page.locator("#t1 [data-row]")).to_be_focused()
    page.keyboard.press("u")
    page.wait_for_url(lambda url: url.endswith(trail))
    expect(page.locator(f"{ROWS} [data-row]").first).to_be_focused()
