"""The session list in a real Chromium: filters, marks, selection, menus, views, with and without JavaScript."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.browser.conftest import bring_examples, serve, stop

pytestmark = pytest.mark.browser

STORY = "ui_run_764686752e2f"
ROWS = "table.sessions tbody tr:has([data-row])"


@pytest.fixture(scope="module")
def list_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of this file's own: sessions that other tests bring would push the examples off the first page."""
    process, url = serve(tmp_path_factory.mktemp("list"), "--no-examples")
    bring_examples(url)
    yield url
    stop(process)


@pytest.fixture(scope="module")
def browser_context_args(browser_context_args: dict[str, Any], list_server: str) -> dict[str, Any]:
    return {**browser_context_args, "base_url": list_server}


def is_fault(message: ConsoleMessage) -> bool:
    """Whether a page logged an error, other than that a test cut its line or asked for what is gone."""
    expected = ("net::ERR_FAILED", "404 (NOT FOUND)", "TypeError: Failed to fetch")
    return message.type == "error" and not any(words in message.text for words in expected)


@pytest.fixture(autouse=True)
def quiet(page: Page, list_server: str) -> Iterator[None]:
    """No page logs an error, breaks the content policy, or asks another host for anything."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if is_fault(message) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(list_server) else complaints.append(request.url))
    yield
    assert complaints == []


@pytest.fixture
def plain(browser: Browser, list_server: str) -> Iterator[Page]:
    """A page without JavaScript."""
    context = browser.new_context(java_script_enabled=False, base_url=list_server)
    yield context.new_page()
    context.close()


def query(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def bring(page: Page, prefix: str, count: int) -> None:
    """Ingest `count` sessions called `prefix`-000 and on."""
    lines = [
        json.dumps({"id": f"{prefix}-{i:03}", "messages": [{"role": "assistant", "content": f"{prefix} {i}"}]})
        for i in range(count)
    ]
    assert page.request.post(f"/api/dumps?filename={prefix}.jsonl", data="\n".join(lines)).ok


def test_a_filters_and_keeps_the_focus_and_back_undoes_it(page: Page) -> None:
    page.goto("/sessions")
    page.keyboard.press("a")
    page.wait_for_url(re.compile("failed=1"))
    expect(page.locator(".shown")).to_contain_text("hidden by filters")
    expect(page.locator(f"{ROWS}:not(.failed)")).to_have_count(0)
    page.locator(".facets a", has_text="failed").first.focus()
    page.keyboard.press("a")
    page.wait_for_url(lambda url: "failed" not in url)
    expect(page.locator(f"{ROWS}:not(.failed)").first).to_be_visible()
    page.wait_for_function("document.activeElement.dataset.key === 'a'")
    page.go_back()
    expect(page.locator(f"{ROWS}:not(.failed)")).to_have_count(0)


def test_filters_combine_and_each_is_a_chip_that_takes_it_away(page: Page) -> None:
    page.goto("/sessions?failed=1")
    before = page.locator("#list").evaluate("list => (list.marked = true)")
    page.locator("#facet-finding a", has_text="lost tool call").click()
    page.wait_for_url(re.compile("finding=lost_tool_call"))
    assert query(page) == {"failed": ["1"], "finding": ["lost_tool_call"]}
    expect(page.locator(ROWS)).to_have_count(1)
    assert before and page.locator("#list").evaluate("list => list.marked"), "swapped, not loaded anew"
    chips = page.locator(".shown .chips li")
    expect(chips).to_have_count(2)
    chips.filter(has_text="failed").get_by_role("link").click()
    page.wait_for_url(lambda url: "failed" not in url)
    expect(chips).to_have_count(1)
    page.wait_for_function("document.activeElement !== document.body")  # the focus is not lost with the chip


def test_a_long_facet_opens_in_place_and_is_narrowed_by_typing(page: Page) -> None:
    said = [{"role": "assistant", "content": "manymodels"}]
    lines = [{"id": f"manymodels-{i}", "model": f"facet-{i}", "messages": said} for i in range(14)]
    assert page.request.post("/api/dumps?filename=f.jsonl", data="\n".join(map(json.dumps, lines))).ok
    page.goto("/sessions?q=manymodels")
    facet = page.locator("#facet-model")
    expect(facet.locator("li")).to_have_count(9)
    facet.get_by_role("link", name="6 more").click()
    expect(facet.locator("li")).to_have_count(14)
    expect(facet.locator("[data-narrow]")).to_be_focused()
    page.keyboard.type("facet-13")
    expect(facet.locator("li:visible")).to_have_count(1)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("model=facet-13"))
    expect(page.locator(ROWS)).to_have_count(1)


def test_a_mark_names_each_response_and_leads_to_its_turn(page: Page) -> None:
    page.goto("/sessions")
    marks = page.locator(ROWS).filter(has_text=STORY).locator(".outcome-marks")
    marks.locator(".s").first.hover()
    expect(page.locator("#tip")).to_contain_text(re.compile(r"response \d+ of \d+: failed"))
    expect(marks).to_have_attribute("href", re.compile(r"/responses/\d+$"))
    marks.focus()
    page.keyboard.press("Home")
    expect(page.locator("#tip")).to_contain_text("response 1 of")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tip")).to_contain_text("response 2 of")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/turns/\d+"))


def test_x_selects_rows_which_are_dumped_as_a_zip(page: Page) -> None:
    page.goto("/sessions")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("X")
    expect(page.locator(".picked")).to_have_text("3 selected")
    with page.expect_download() as download:
        page.keyboard.press("D")
    with zipfile.ZipFile(download.value.path()) as archive:
        assert archive.testzip() is None and len(set(archive.namelist())) == 3
        assert all(json.loads(archive.read(name))["entries"] for name in archive.namelist())


def test_keys_delete_the_row_with_the_focus_or_all_that_are_checked_once_asked(page: Page) -> None:
    bring(page, "doomed", 3)
    page.goto("/sessions?q=doomed")
    page.locator("[data-row]").first.focus()
    page.keyboard.press("Delete")
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete 1 session?")
    page.go_back()
    expect(page.locator(ROWS)).to_have_count(3)
    page.locator("thead [type=checkbox]").check()
    page.keyboard.press("Delete")
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete 3 sessions?")
    page.keyboard.press("Delete")
    expect(page.locator("#messages")).to_contain_text("Deleted 3 sessions")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#messages")).to_contain_text("3 restored")


def test_a_rows_menu_copies_the_link_the_id_and_a_command(
    context: BrowserContext, page: Page, list_server: str
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/sessions")
    page.locator(ROWS).filter(has_text=STORY).locator("[data-row]").focus()
    page.keyboard.press(";")
    copied = {}
    for name in ("permalink", "id", "curl"):
        page.locator("#rowmenu").get_by_role("button", name=name).click()
        expect(page.locator("#rowmenu p")).to_have_text("Copied")
        copied[name] = page.evaluate("navigator.clipboard.readText()")
    assert copied["permalink"] == f"{list_server}/sessions/{STORY}" and copied["id"] == STORY
    assert copied["curl"] == f"curl -o session.json '{list_server}/api/session/{STORY}/dump'"
    page.keyboard.press("Escape")
    expect(page.locator("#rowmenu")).to_be_hidden()


def test_a_long_list_goes_on_as_one_scrolls_and_by_a_link_without_javascript(page: Page, plain: Page) -> None:
    bring(page, "longlist", 120)
    page.goto("/sessions?q=longlist")
    rows = page.locator(ROWS)
    expect(rows).to_have_count(30)
    for count in (60, 90, 120):
        page.keyboard.press("End")
        expect(rows).to_have_count(count)
    expect(page.locator("tr.next")).to_have_count(0)
    assert len({row.inner_text() for row in page.locator("a[data-row]").all()}) == 120
    plain.goto("/sessions?q=longlist")
    plain.get_by_role("link", name="More sessions").click()
    expect(plain.locator("a[data-row]")).to_have_count(30)


def test_more_by_key_leaves_the_focus_on_the_first_of_more(page: Page) -> None:
    bring(page, "keyed", 40)
    page.goto("/sessions?q=keyed")
    rows = page.locator("a[data-row]")
    expect(rows).to_have_count(30)
    page.get_by_role("link", name="More sessions").focus()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(40)
    expect(rows.nth(30)).to_be_focused()


def test_more_labels_by_key_leave_the_focus_on_the_first_of_more(page: Page) -> None:
    answers = [{"role": "assistant", "content": '{"a": 1}'}] * 103
    log = json.dumps({"id": "many-labels", "messages": answers})
    assert page.request.post("/api/dumps?filename=many-labels.json", data=log).ok
    for position in range(len(answers)):
        label = {"judgement": "right", "author": "many"}
        assert page.request.put(f"/api/session/many-labels/turns/{position}/label", data=label).ok
    page.goto("/labels/list?by=many")
    rows = page.locator("a[data-row]")
    expect(rows).to_have_count(100)
    page.get_by_role("link", name="More labels").focus()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(103)
    expect(rows.nth(100)).to_be_focused()


def test_a_row_with_the_focus_shows_the_exact_time_without_a_shift(page: Page) -> None:
    page.goto("/sessions")
    expect(page.locator("#question[hx-trigger]")).to_have_count(0)  # it grows while it counts
    row = page.locator(ROWS).filter(has_text=STORY)
    row.scroll_into_view_if_needed()  # else the focus scrolls
    before = row.bounding_box()
    page.keyboard.press("j")
    row.locator("[data-row]").focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    shown = row.locator("time").evaluate("time => getComputedStyle(time, '::after').content")
    assert re.fullmatch(r'"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"', shown)
    assert row.bounding_box() == before


def test_a_server_that_is_gone_is_told_in_words(page: Page) -> None:
    page.route("**/*failed=1*", lambda route: route.abort())  # first: a loaded page's requests may pass by a new route
    page.goto("/sessions")
    expect(page.locator("#question[hx-trigger]")).to_have_count(0)  # it asks on its own while it counts
    page.keyboard.press("a")
    expect(page.locator("#messages")).to_contain_text("did not answer")
    expect(page.locator(ROWS).first).to_be_visible()


@pytest.mark.parametrize("path", ["/sessions", "/sessions?model=lengthy", "/responses"])
def test_a_row_is_44_pixels_high_at_most(page: Page, path: str) -> None:
    lengths = (30, 31, 500)
    turns = [
        {"role": "assistant", "model": "lengthy", "content": "{}" if at % 3 else "{"} for at in range(max(lengths))
    ]
    lines = [json.dumps({"id": f"lengthy-{length}", "messages": turns[:length]}) for length in lengths]
    assert page.request.post("/api/dumps?filename=lengthy.jsonl", data="\n".join(lines)).ok
    for width in (1440, 1024):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(path)
        rows = page.locator("#list tbody tr:not(.next)")
        if "lengthy" in path:
            expect(page.locator(".each")).to_have_text(["17 responses per mark", "2 responses per mark"])
        expect(rows.first).to_be_visible()
        assert max(rows.evaluate_all("rows => rows.map((row) => row.getBoundingClientRect().height)")) <= 44


def test_a_drag_over_the_chart_of_rates_sets_the_time_window(page: Page) -> None:
    page.goto("/?by=service")
    steps = page.locator("#rates a[data-since]")
    since, until = steps.nth(1).get_attribute("data-since"), steps.nth(3).get_attribute("data-until")
    boxes = [steps.nth(at).bounding_box() for at in (1, 3)]
    centres = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in boxes if box]
    page.mouse.move(*centres[1])
    page.mouse.down()
    page.mouse.move(*centres[0], steps=3)
    page.mouse.up()
    page.wait_for_url(lambda url: "since=" in url)
    query = parse_qs(urlsplit(page.url).query)
    assert query == {"by": ["service"], "since": [since], "until": [until]}
