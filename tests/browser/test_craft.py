"""Places and marks in a real Chromium: the first edit, long turn numbers, values from right to left, motion."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

NUMBERS_OVER_MARKS = """() => [...document.querySelectorAll(".turn-list a:not(.more)")].filter((line) => {
  const mark = line.querySelector(".o")?.getBoundingClientRect();
  const range = document.createRange();
  range.selectNodeContents(line.querySelector(".n"));
  return mark && range.getBoundingClientRect().right > mark.left;
}).length"""

CJK = {
    "id": "cjk",
    "model": "\u6a21\u578b",
    "messages": [
        {"role": "user", "content": "\u6784\u5efa\u5931\u8d25" * 40},
        {"role": "assistant", "content": '{"\u5de5\u5177": "' + "\u691c\u7d22\u306e\u5024" * 60 + '",}'},
    ],
}
CARD_INSIDE = """() => {
  const right = (selector) => document.querySelector(selector).getBoundingClientRect().right;
  return right(".raw .card") <= right("#raw") + 1;
}"""


def put_in(server: str, name: str, contents: list[str]) -> str:
    """Ingest a session of responses; returns its path."""
    entries = [{"node_type": "agent", "role": "agent", "content": content} for content in contents]
    body = json.dumps({"session_id": name, "entries": entries}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{server}/api/dumps?filename={name}.json", body)).close()
    return f"/sessions/{name}"


def test_a_thousand_edits_open_at_the_first_and_are_listed_in_windows(page: Page, server: str) -> None:
    many = "[" + ", ".join(f"{{'a': {number},}}" for number in range(400)) + "]"
    path = put_in(server, "thousand-edits", [many]) + "/turns/0?profile=fencepost"
    page.goto(path)
    expect(page.locator("#raw del").first).to_be_in_viewport()
    expect(page.locator("#raw del").first).to_have_attribute("title", "single quotes")
    assert page.locator("#raw > ol").inner_text().lstrip().startswith("[{\nremoved, single quotes")
    expect(page.locator(".edits tr")).to_have_count(40)
    page.get_by_text("later edits").click()
    expect(page.locator(".edit-steps [role=status]")).to_have_text("after edit 60 of 1,200")
    page.goto(f"{path}&edit=1200")
    expect(page.locator(".attempt-left").first).to_contain_text("1,161–1,200 of 1,200")


def test_turn_numbers_of_five_digits_do_not_overlap_marks(page: Page) -> None:
    page.goto("/sessions/ui_run_764686752e2f/turns/12")
    page.locator(".turn-list .n").evaluate_all("(all) => all.forEach((one) => (one.textContent = '10050'))")
    assert page.locator(".turn-list a:not(.more) .o").count() > 3
    for width in (1440, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(NUMBERS_OVER_MARKS) == 0


def test_the_skip_link_passes_the_turn_rail(page: Page) -> None:
    page.goto("/sessions/ui_run_764686752e2f/turns/12")
    page.locator(".frame > .skip").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#debugger') !== null")


def test_values_from_right_to_left_are_isolated_in_the_tree(page: Page, server: str) -> None:
    path = put_in(server, "right-to-left", ['{"name": "\u05e9\u05dc\u05d5\u05dd", "\u05d0": 12}'])
    page.goto(f"{path}/turns/0?profile=fencepost")
    expect(page.locator(".tree .string")).to_be_visible()
    shown = "[...document.querySelectorAll('.tree b, .tree span')].map((part) => getComputedStyle(part).unicodeBidi)"
    assert set(page.evaluate(shown)) == {"isolate"}
    expect(page.locator("#raw bdi")).to_have_text(["\u05e9\u05dc\u05d5\u05dd", "\u05d0"])
    left = "(all) => all.map((one) => one.getBoundingClientRect().left)"
    value, key = page.locator("#raw bdi").evaluate_all(left)
    assert value < key, "in the order of the text, whatever stands between them"
    page.request.post("/api/dumps?filename=cjk.json", data=json.dumps(CJK).encode())
    for wide in (f"{path}/turns/0", "/sessions/cjk", "/sessions/cjk/turns/1", "/?model=\u6a21\u578b"):
        page.goto(wide)
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (wide, width)


def test_the_menu_of_time_and_parser_is_readable_at_every_width(page: Page) -> None:
    page.goto("/sessions")
    cut = "(one) => one.scrollWidth - one.clientWidth"
    for width in (1440, 1024, 920, 919, 721, 720, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.locator(".window summary").evaluate(cut) <= 1, width


def test_the_wait_bar_honours_reduced_motion(page: Page) -> None:
    page.goto("/sessions")
    page.evaluate("document.querySelector('main').classList.add('htmx-request')")
    moves = "getComputedStyle(document.body, '::before').animationName"
    assert page.evaluate(moves) == "wait"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(moves) != "wait"


def test_the_card_of_an_error_stays_inside_the_raw_pane(page: Page) -> None:
    page.goto("/sessions/ui_run_764686752e2f/turns/12")
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator(".raw .card")).to_be_visible()
        assert page.evaluate(CARD_INSIDE), width


def test_what_is_chosen_shows_in_forced_colours(page: Page) -> None:
    page.emulate_media(forced_colors="active")
    page.goto("/sessions/ui_run_764686752e2f/turns/12")
    rows = page.locator(".turn-list a")
    outlines = rows.evaluate_all("(rows) => new Set(rows.map((row) => getComputedStyle(row).outlineStyle)).size")
    assert outlines == 2
    page.keyboard.press("3")
    backs = "(spans) => new Set(spans.map((span) => getComputedStyle(span).backgroundColor)).size"
    assert page.locator("#label .choices label > span").evaluate_all(backs) == 2


def test_the_question_for_your_parser_leaves_room_on_a_telephone_and_is_not_cut_at_320_pixels(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    body = b'{"id": "unasked", "messages": [{"role": "assistant", "content": "{\\"a\\": 1,}"}]}'
    page.request.post("/api/dumps?filename=unasked.json", data=body)
    page.goto("/sessions")
    expect(page.locator("#question")).not_to_contain_text("counting")
    box = page.locator("#question").bounding_box()
    assert box and box["height"] < 160
    page.set_viewport_size({"width": 320, "height": 640})
    page.locator("#question summary").first.click()
    answers = page.locator(".parsers button:visible")
    expect(answers.first).to_be_visible()
    page.locator(".parsers button span").evaluate_all(
        "(said) => said.forEach((each) => (each.textContent = 'none would have failed, no JSON found in 1,064'))"
    )
    assert answers.evaluate_all("(all) => all.filter((each) => each.scrollWidth > each.clientWidth).length") == 0


def test_long_names_and_the_time_window_push_nothing_out_of_the_page(page: Page) -> None:
    models = [f"{number}{'m' * 150}" for number in range(9)]
    begun = {"role": "assistant", "model": models[0], "content": '{"a": [1]]}', "timestamp": time.time() - 30 * 86400}
    turns = [begun] + [begun | {"model": model, "timestamp": time.time() - 3600} for model in models]
    call = {"id": "1", "type": "function", "function": {"name": "book", "arguments": f'{{"{"a" * 90}": [1]]}}'}}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = json.dumps({"id": "i" * 300, "messages": [called, *turns]})
    assert page.request.post(f"/api/dumps?filename={'n' * 180}.json&home=json.loads", data=body).ok
    window = "since=2025-11-20T00:00Z&until=2099-12-20T01:00Z"
    for path in (f"/?{window}", "/dumps", f"/sessions/{'i' * 300}", f"/sessions/{'i' * 300}/turns/1"):
        page.goto(path)
        page.locator(".window summary").click()
        for width in in_widths(page):
            expect(page.locator(".window form")).to_be_in_viewport(ratio=1)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    page.goto("/responses?failed=1")
    assert [width for width in in_widths(page) if page.evaluate("document.documentElement.scrollWidth") > width] == []
    page.goto("/")
    expect(page.get_by_text("and on 5 models more")).to_be_visible()
    for width in in_widths(page):
        assert page.locator(".window summary").evaluate("(one) => one.scrollWidth <= one.clientWidth"), width


def in_widths(page: Page) -> Iterator[int]:
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        yield width


CONTENT_AT = """() => [...document.querySelectorAll("main > *, main .list, main .column")]
  .filter((one) => one.offsetWidth > 99)
  .map((one) => one.getBoundingClientRect().left + parseFloat(getComputedStyle(one).paddingLeft)).pop()"""


HEADING = """() => [...document.querySelectorAll("h1")].map((one) => getComputedStyle(one).fontSize)"""
SIZES = """() => [...document.querySelectorAll("body *")].filter((one) => one.checkVisibility() &&
  [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((one) => getComputedStyle(one).fontSize)"""


def test_content_starts_at_one_place_on_every_page_in_five_sizes(page: Page) -> None:
    page.set_viewport_size({"width": 1600, "height": 900})
    starts, sizes = {}, set[str]()
    for path in (
        "",
        "sessions",
        "responses?by=model",
        "dumps",
        "profiles",
        "labels",
        "tasks",
        "exports/new",
        "compare",
    ):
        page.goto(f"/{path}")
        starts[path] = page.evaluate(CONTENT_AT)
        sizes |= set(page.evaluate(SIZES))
        assert set(page.evaluate(HEADING)) == {"15px"}, path
    page.goto("/sessions/ui_run_764686752e2f/turns/12")
    assert len(sizes | set(page.evaluate(SIZES))) <= 5, sizes
    assert set(starts.values()) == {20}, starts
