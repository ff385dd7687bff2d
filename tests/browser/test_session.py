"""The session page in a real Chromium: windows come and go, keys reach every failure and finding."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

NEVER = "ui_run_764686752e2f"
CALL = '```json\n{"tool": "run_code", "arguments": {"code": "1"}}\n```'
BROKEN = CALL.replace("}}", "}}}}")
TURNS = 3000
FAILED = (700, 2950)


@pytest.fixture(scope="module")
def long(server: str) -> str:
    """The path of a session of 3,000 turns, two of them failed."""
    entries = [{"node_type": "agent", "role": "agent", "content": f"{CALL} {number}"} for number in range(TURNS)]
    for number in FAILED:
        entries[number]["content"] = f"{BROKEN} {number}"
    body = json.dumps({"session_id": "three-thousand", "entries": entries}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{server}/api/dumps?filename=long.json", body)).close()
    return "/sessions/three-thousand"


@pytest.fixture(autouse=True)
def quiet(page: Page) -> Iterator[None]:
    """No page logs an error."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield
    assert complaints == []


def test_only_what_is_near_is_in_the_page(page: Page, long: str) -> None:
    page.goto(long)
    for _ in range(12):
        above = page.evaluate("scrollY")
        page.mouse.wheel(0, 6000)
        page.wait_for_function("above => scrollY > above", arg=above)
    expect(page.locator(".turn").nth(100)).to_be_attached()
    page.wait_for_function("document.querySelectorAll('.turn').length <= 700")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.locator("#t2999")).to_be_visible()
    expect(page.locator("#t0")).not_to_be_attached()
    page.wait_for_function("document.querySelectorAll('.turn').length <= 700")
    page.wait_for_url("**from=29*")


def test_keys_reach_failures_that_are_not_in_the_page(page: Page, long: str) -> None:
    page.goto(long)
    page.keyboard.press("n")
    expect(page.locator("#t700 [data-row]")).to_be_focused()
    page.keyboard.press("n")
    expect(page.locator("#t2950 [data-row]")).to_be_focused()
    page.keyboard.press("p")
    expect(page.locator("#t700 [data-row]")).to_be_focused()
    page.keyboard.press("f")
    expect(page.locator("#t700 [data-row]")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/turns/700")


def test_an_address_with_a_turn_shows_it(page: Page, long: str) -> None:
    page.goto(f"{long}?at=1234#t1234")
    expect(page.locator("#t1234")).to_be_in_viewport()
    expect(page.locator("#t1233")).to_be_in_viewport()


def test_the_map_shows_shares_and_says_the_number_to_keys_and_pointer(page: Page, long: str) -> None:
    page.goto(long)
    expect(page.locator(".map rect.q2")).to_have_count(2)  # 1 of 25 each
    cells = page.locator(".map svg a")
    expect(page.locator(".map svg a[tabindex='0']")).to_have_count(1)
    cells.first.focus()
    expect(page.locator("#tip")).to_have_text("turns 0–24: 0 of 25 responses failed")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(cells.nth(118)).to_be_focused()
    expect(page.locator("#tip")).to_have_text("turns 2,950–2,974: 1 of 25 responses failed, 4 %")
    page.keyboard.press("Enter")
    expect(page.locator("#t2950")).to_be_in_viewport()
    cells.nth(28).hover(force=True)
    expect(page.locator("#tip")).to_have_text("turns 700–724: 1 of 25 responses failed, 4 %")


def test_findings_come_round(page: Page) -> None:
    page.goto(f"/sessions/{NEVER}")
    for position in (12, 28, 16):
        page.keyboard.press("g")
        expect(page.locator(f"#t{position} [data-row]")).to_be_focused()


def test_open_folds_stay_open_when_the_page_comes_back(page: Page) -> None:
    page.goto(f"/sessions/{NEVER}")
    page.locator("[data-fold='8'] summary").click()
    page.wait_for_url("**open=8*")
    page.reload()
    expect(page.locator("#t9")).to_be_visible()


def test_search_stays_inside(page: Page) -> None:
    page.goto(f"/sessions/{NEVER}")
    page.keyboard.press("/")
    page.keyboard.type("sieve")
    page.keyboard.press("Enter")
    expect(page.locator(".hits mark").first).to_have_text("sieve")
    page.keyboard.press("j")
    expect(page.locator(".hits [data-row]").first).to_be_focused()


def test_j_walks_what_is_open_and_passes_what_is_folded(page: Page) -> None:
    page.goto(f"/sessions/{NEVER}")
    page.keyboard.press("j")
    expect(page.locator("#t5 [data-row]")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("#t12 [data-row]")).to_be_focused()


def test_y_and_m_copy_a_session_as_they_do_a_turn(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/sessions/{NEVER}")
    page.keyboard.press("y")
    expect(page.locator(".told")).to_contain_text("copied")
    assert page.evaluate("navigator.clipboard.readText()").endswith(f"/sessions/{NEVER}")
    page.keyboard.press("m")
    expect(page.locator(".told")).to_contain_text(re.compile(r"copied \d+,\d"))
    report = page.evaluate("navigator.clipboard.readText()")
    assert f"/sessions/{NEVER}\n" in report and "### Causes of" in report


def test_the_first_failed_turn_is_told_above_the_fold_however_late_it_comes(page: Page, long: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(long)
    line = page.locator(".map > p")
    expect(line).to_be_in_viewport()
    expect(line).to_contain_text(re.compile(r"Failed:\s+turn\s+700\s+\S.+"))
    expect(line.locator(".bad")).not_to_be_empty()
