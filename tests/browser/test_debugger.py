"""The pages in a real Chromium, as a person uses them, with and without JavaScript."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

STORY = "ui_run_764686752e2f"


@pytest.fixture(autouse=True)
def quiet(page: Page, server: str) -> Iterator[None]:
    """No page logs an error, breaks the content policy, or asks another host for anything."""
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(server) else complaints.append(request.url))
    yield
    assert complaints == []


def failing_turn(page: Page) -> None:
    page.goto(f"/sessions/{STORY}")
    page.locator("a[data-failed]").first.click()
    expect(page.locator("html.js .attempts")).to_be_visible()


def test_a_turn_opens_on_its_home_profile_and_one_key_shows_what_fencepost_makes_of_it(page: Page) -> None:
    failing_turn(page)
    expect(page.locator(".profiles [aria-current]")).to_contain_text("windlass-strict")
    expect(page.locator(".raw del.at")).to_contain_text("}")
    expect(page.locator(".raw .caret")).to_contain_text(re.compile(r"Extra data line \d+, column \d+, offset \d+"))
    page.keyboard.press("=")
    expect(page.locator(".profiles [aria-current]")).to_contain_text("fencepost")
    removed = page.locator(".raw del")
    expect(removed).to_contain_text("}}")
    expect(removed.locator(".hidden").first).to_have_text(re.compile("removed, extra closing bracket"))
    expect(page.locator(".tree")).to_contain_text("run_code")
    assert "profile=fencepost" in page.url
    page.keyboard.press("=")
    expect(page.locator(".profiles [aria-current]")).to_contain_text("windlass-strict")


def test_brackets_step_through_the_attempts_and_back_works(page: Page) -> None:
    failing_turn(page)
    page.keyboard.press("=")
    expect(page.locator(".attempt.open.chosen")).to_be_visible()
    page.keyboard.press("[")
    expect(page.locator(".attempt.open")).to_contain_text("whole")
    expect(page.locator(".raw del")).to_have_count(0)
    page.keyboard.press("]")
    expect(page.locator(".attempt.open.chosen")).to_be_visible()
    expect(page.locator(".raw del")).to_be_visible()
    page.go_back()
    expect(page.locator(".attempt.open")).to_contain_text("whole")


def test_n_and_p_go_between_the_turns_that_did_not_parse(page: Page) -> None:
    failing_turn(page)
    first = page.url
    page.keyboard.press("n")
    page.wait_for_url(lambda url: url != first)
    expect(page.locator(".turn-list [aria-current] .o")).to_have_class(re.compile("failed|rescued"))
    page.keyboard.press("p")
    page.wait_for_url(first)


def test_w_lets_long_lines_run_on_with_the_error_still_in_view_and_is_remembered(page: Page) -> None:
    failing_turn(page)
    page.keyboard.press("w")
    expect(page.locator("#raw")).to_have_class(re.compile("nowrap"))
    expect(page.locator(".raw .at")).to_be_in_viewport()
    page.reload()
    expect(page.locator("#raw")).to_have_class(re.compile("nowrap"))
    page.keyboard.press("w")
    expect(page.locator("#raw")).not_to_have_class(re.compile("nowrap"))


def test_typing_in_a_field_presses_no_key(page: Page) -> None:
    failing_turn(page)
    here = page.url
    page.locator("[name=note]").fill("")
    page.locator("[name=note]").press_sequentially("n x ? 5")
    assert page.url == here and page.locator("[name=note]").input_value() == "n x ? 5"


def test_a_dropped_file_is_ingested_and_its_problems_are_listed(page: Page) -> None:
    page.goto("/dumps")
    body = json.dumps(
        {"session_id": "dropped", "entries": [{"node_type": "agent", "role": "agent", "content": "{]"}, 7]}
    )
    page.evaluate(
        """(body) => {
          const data = new DataTransfer();
          data.items.add(new File([body], "dropped.json"));
          document.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        body,
    )
    row = page.locator("table.dumps tbody tr").first
    expect(row).to_contain_text("dropped.json")
    row.locator("summary").click()
    expect(row).to_contain_text("entries[1]")


def test_every_page_works_without_javascript(browser: Browser, server: str, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False, base_url=server)
    page = context.new_page()
    page.goto(f"/sessions/{STORY}")
    page.get_by_role("button", name="Dump").click()
    expect(page.locator(".message")).to_contain_text("logs/session_dumps")
    page.locator("a[data-failed]").first.click()
    page.locator(".profiles a", has_text="fencepost").click()
    expect(page.locator(".raw del")).to_contain_text("}}")
    page.locator(".looks summary").click()
    page.locator(".looks a").first.click()
    expect(page.locator(".attempt.open")).to_contain_text("whole")
    page.locator(".choices label", has_text="unsure").click()
    page.locator("[name=author]").fill("no-script")
    page.get_by_role("button", name="Save label").click()
    expect(page.locator("#label legend")).to_contain_text("Labelled unsure")
    page.goto("/labels/list")
    expect(page.locator("table.labels")).to_contain_text("no-script")
    dump = tmp_path / "plain.json"
    dump.write_text(json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": '{"a": 1}'}]))
    page.goto("/dumps")
    page.set_input_files("#file", dump)
    page.get_by_role("button", name="Import").click()
    expect(page.locator("table.dumps")).to_contain_text("plain.json")
    context.close()


ODD = [
    "Sure:\n```json\n{'tool': 'search', 'deep': True,\t}  \n```\nNote {n} and [docs].",
    '{\n\t"a": "x\u202ey\u200b\x00",\n "list": [1,, 2],\t \n "e": "👩\u200d👩\u200d👧"\n}\t',
]
COPY = """(part) => {
  const list = document.querySelector("#raw > ol");
  const range = document.createRange();
  range.selectNodeContents(list);
  if (part) range.setStartBefore(list.children[1]);
  if (part) range.setEnd(list.children[2], 0);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  const data = new DataTransfer();
  const event = new ClipboardEvent("copy", { clipboardData: data, bubbles: true, cancelable: true });
  document.activeElement.dispatchEvent(event);
  return data.getData("text/plain");
}"""
MIDDLE = """(text) => {
  const found = [...document.querySelectorAll("#raw del")].find((each) => each.textContent.includes(text));
  const range = document.createRange();
  range.selectNode([...found.childNodes].find((node) => node.data === text));
  const box = range.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}"""
LIT = "(name) => [...(CSS.highlights.get(name) ?? [])].map((range) => range.toString()).join('|')"


@pytest.fixture
def odd(page: Page) -> str:
    """The URL of a session whose responses are odd in every way; the first is turn 0."""
    body = json.dumps({"id": "odd", "messages": [{"role": "assistant", "content": text} for text in ODD]})
    assert page.request.post("/api/dumps?filename=odd.json", data=body).ok
    return "/sessions/odd/turns"


def tops(page: Page) -> list[float]:
    found: list[float] = page.evaluate(
        "[...document.querySelectorAll('#raw > ol > li')].map((line) => line.getBoundingClientRect().top)"
    )
    return found


@pytest.mark.parametrize(("turn", "profile"), [(0, "direct"), (1, "fencepost")])
def test_what_is_copied_is_exactly_the_raw_text(page: Page, odd: str, turn: int, profile: str) -> None:
    page.goto(f"{odd}/{turn}?profile={profile}")
    assert page.evaluate(COPY, False) == ODD[turn]
    assert page.evaluate(COPY, True) == ODD[turn].split("\n")[1] + "\n"


def test_steps_are_urls_and_move_no_line(page: Page, odd: str) -> None:
    page.goto(f"{odd}/1?profile=fencepost")
    lines = tops(page)
    for key, query in (
        (",", "edit=2"),
        (",", "edit=1"),
        (".", "edit=2"),
        (".", ""),
        ("[", "attempt=0"),
        ("]", "attempt=1"),
    ):
        before = page.url
        page.keyboard.press(key)
        page.wait_for_url(lambda url, before=before: url != before)
        expect(page.locator(".attempt.open")).to_have_count(1)
        assert query in page.url and ("edit=" in query or "edit=" not in page.url)
        assert tops(page) == lines
    page.go_back()
    expect(page.locator(".attempt.open")).to_contain_text("1 whole")


def test_a_key_of_the_tree_marks_its_characters_and_a_character_its_key(page: Page, odd: str) -> None:
    page.goto(f"{odd}/0?profile=fencepost")
    page.locator("[role=treeitem]").first.focus()
    page.keyboard.press("ArrowDown")
    assert "search" in page.evaluate(LIT, "link") and "deep" not in page.evaluate(LIT, "link")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[role=treeitem]:visible")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator("[role=treeitem]:visible")).to_have_count(3)
    page.mouse.move(*page.evaluate(MIDDLE, "True"))
    expect(page.locator("[role=treeitem].lit")).to_contain_text("deep")


def test_a_selection_is_in_the_address_and_an_address_marks_its_range(page: Page, odd: str) -> None:
    page.goto(f"{odd}/0?profile=fencepost")
    page.locator("#raw > ol > li").first.dblclick(position={"x": 95, "y": 10})
    page.wait_for_url(re.compile("#r=0-4$"))
    page.goto(f"{odd}/0?profile=direct#r=6-13")
    page.reload()
    assert page.evaluate(LIT, "range") == ODD[0][6:13]


def test_reports_are_copied_by_one_key(page: Page, odd: str) -> None:
    page.goto(f"{odd}/0?profile=fencepost")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.keyboard.press("m")
    expect(page.locator(".told")).to_contain_text("copied")
    assert "single_quotes at line 3" in page.evaluate("navigator.clipboard.readText()")


def test_a_browser_that_refuses_to_copy_is_said(page: Page, odd: str) -> None:
    page.goto(f"{odd}/0?profile=fencepost")
    page.evaluate("navigator.clipboard.writeText = () => Promise.reject(); document.execCommand = () => false")
    page.keyboard.press("m")
    expect(page.locator(".told")).to_contain_text("refused")


def test_focus_stays_where_it_is_when_a_step_is_taken(page: Page, odd: str) -> None:
    page.goto(f"{odd}/1?profile=fencepost")
    page.locator(".attempt .go").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("attempt=0"))
    expect(page.locator(".attempt.open .go")).to_be_focused()


def test_a_long_response_has_few_elements_and_the_rest_on_demand(page: Page) -> None:
    raw = "[\n" + '  {"id": 12345, "name": "row"},\n' * 6_000 + "]"
    body = json.dumps({"id": "long-one", "messages": [{"role": "assistant", "content": raw}]})
    assert page.request.post("/api/dumps?filename=long-one.json", data=body).ok
    page.goto("/sessions/long-one/turns/0?profile=fencepost")
    assert page.evaluate("document.querySelectorAll('*').length") < 5_000
    page.locator(".gap a").first.click()
    page.wait_for_url(re.compile("lines=51-250"))
    expect(page.locator('#raw li[data-n="250"]')).to_have_count(1)
    page.goto("/sessions/long-one/turns/0#r=100000-100010")
    expect(page.locator("#raw .range").first).to_be_in_viewport()
