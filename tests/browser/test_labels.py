"""Labelling and settling in a real Chromium: by keyboard alone, two at once, in small windows, with drafts."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import serve, stop
from tests.ports import free_port

pytestmark = pytest.mark.browser
COUNT = 8


def dump(name: str, count: int) -> str:
    word = [chr(97 + number // 26) + chr(97 + number % 26) for number in range(count)]
    entries = [
        {"node_type": "agent", "role": "agent", "content": f'```json\n{{"tool": "{each}", "arguments": {{}}}}}}}}\n```'}
        for each in word
    ]
    return json.dumps({"session_id": name, "entries": entries})


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of these tests' own; each test labels as people or in sessions of its own."""
    process, url = serve(tmp_path_factory.mktemp("labels"), "--no-examples")
    yield url
    stop(process)


def person(browser: Browser, url: str, name: str) -> BrowserContext:
    context = browser.new_context(base_url=url)
    page = context.new_page()
    page.goto("/labels/name")
    page.keyboard.press("Control+A")
    page.keyboard.type(name)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    return context


def labelled(page: Page, session: str) -> list[dict[str, Any]]:
    return [label for label in page.request.get("/api/labels").json()["labels"] if label["session"] == session]


def at(page: Page) -> str:
    return str(page.locator("#debugger").get_attribute("data-at"))


def judge(page: Page, *keys: str) -> None:
    """Press keys and wait for the next response."""
    before = at(page)
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_function("before => document.getElementById('debugger').dataset.at !== before", arg=before)


def queue_of(page: Page, url: str, name: str) -> str:
    page.request.post(f"{url}/api/dumps?filename={name}.json", data=dump(name, COUNT))
    key = page.request.get(f"{url}/api/session/{name}").json()["session"]["key"]
    return f"/labels?ids={key}"


def test_labels_by_keyboard_alone(browser: Browser, url: str) -> None:
    context = person(browser, url, "ann")
    page = context.pages[0]
    page.goto(queue_of(page, url, "keys"))
    expect(page.locator("#progress")).to_contain_text(f"0 of {COUNT}")
    keys: list[int] = []
    for number in range(6):
        if number == 0:
            page.keyboard.press("c")
            page.keyboard.type("extra-closing 1 s u b")
            for key in ("Escape", "t"):
                page.keyboard.press(key)
            page.keyboard.type("two braces 5 n")
            page.keyboard.press("Escape")
            page.keyboard.press("c")
            judge(page, "Control+Enter")
        elif number == 1:
            judge(page, "8")
        else:
            expect(page.locator("[name=judgement]:checked")).to_have_value("missed")
            judge(page, "1")
            keys.append(1)
    assert len(keys) == 4, "a key a label"
    found = labelled(page, "keys")
    assert len(found) == 6 and len({label["position"] for label in found}) == 6
    assert sum(label["cause"] == "extra-closing 1 s u b" and label["note"] == "two braces 5 n" for label in found) == 1
    assert sum(label["expects"] == "none" for label in found) == 1
    plain = [label for label in found if label["expects"] == "one"]
    assert len(plain) == 4 and {(label["judgement"], label["cause"]) for label in plain} == {
        ("missed", "extra-closing")
    }
    expect(page.locator("#progress")).to_contain_text(f"6 of {COUNT}")
    page.keyboard.press("z")
    expect(page.locator("#said")).to_contain_text("Undone in 1 response")
    expect(page.locator("#progress")).to_contain_text(f"5 of {COUNT}")
    page.keyboard.press("k")
    expect(page.locator("#said")).to_contain_text("Your label, saved")
    judge(page, "9")
    page.keyboard.press("L")
    expect(page.locator("table.labels tbody tr").first).to_contain_text("unsure")
    context.close()


def test_two_browsers_never_overwrite_each_other_and_see_each_other(browser: Browser, url: str) -> None:
    one, other, bob = (person(browser, url, name) for name in ("ann", "ann", "bob"))
    first, second, third = one.pages[0], other.pages[0], bob.pages[0]
    queue = queue_of(first, url, "shared")
    for page in (first, second, third):
        page.goto(queue)
        expect(page.locator("#judge")).to_be_visible()
    judge(first, "Enter")
    second.keyboard.press("8")
    expect(second.locator(".message.bad")).to_contain_text("missed")
    assert [(label["author"], label["judgement"]) for label in labelled(first, "shared")] == [("ann", "missed")]
    judge(second, "Enter")
    assert [label["judgement"] for label in labelled(first, "shared")] == ["right"]
    judge(third, "9")
    expect(first.locator("#progress")).to_contain_text("bob 1")
    assert sorted(label["author"] for label in labelled(first, "shared")) == ["ann", "bob"]
    for context in (one, other, bob):
        context.close()


def test_a_draft_outlives_a_reload_and_a_stopped_server(browser: Browser, tmp_path: Path) -> None:
    port = str(free_port())
    process, url = serve(tmp_path, "--no-examples", "--port", port)
    context = person(browser, url, "ann")
    page = context.pages[0]
    page.goto(queue_of(page, url, "drafts"))
    page.keyboard.press("t")
    page.keyboard.type("half a thought")
    expect(page.locator("#said")).to_contain_text("Draft")
    page.reload()
    expect(page.locator("[name=note]")).to_have_value("half a thought")
    expect(page.locator("[name=judgement][value=missed]")).to_be_checked()
    expect(page.locator("#said")).to_contain_text("Draft")
    here = at(page)
    stop(process)
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_contain_text("The server does not answer")
    expect(page.locator("[name=note]")).to_have_value("half a thought")
    process, _ = serve(tmp_path, "--no-examples", "--port", port)
    page.wait_for_function("here => document.getElementById('debugger').dataset.at !== here", arg=here)
    (label,) = labelled(page, "drafts")
    assert (label["note"], label["judgement"]) == ("half a thought", "missed")
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('label ')).length") == 0
    context.close()
    stop(process)


def test_expected_values_are_filled_by_keys_and_checked_as_typed(browser: Browser, url: str) -> None:
    context = person(browser, url, "ann")
    page = context.pages[0]
    page.goto(queue_of(page, url, "expected"))
    page.keyboard.press("e")
    page.keyboard.type('{"a": 1,\n}')
    expect(page.locator("#check")).to_contain_text("line 2, column 1")
    page.keyboard.press("Escape")
    page.locator(".group", has_text="fencepost").locator("a.use").click()
    expect(page.locator("#check")).to_contain_text("the same")
    expect(page.locator(".group.same")).to_contain_text("fencepost")
    page.keyboard.press("Escape")
    page.evaluate("history.replaceState(history.state, '', location.href + '#r=8-22')")
    page.keyboard.press("M")
    expect(page.locator("#expected")).to_have_value('{"tool": "aa",')
    expect(page.locator("#check .bad")).to_be_visible()
    page.locator("#expected").fill('{"tool": "aa"} [1]')
    expect(page.locator("#check")).to_contain_text("2 JSON values, in this order")
    page.keyboard.press("Escape")
    judge(page, "Enter")
    assert labelled(page, "expected")[0]["expected_values"] == [{"tool": "aa"}, [1]]
    context.close()


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


VOTES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Ann", {"judgement": "missed", "cause": "extra-closing", "expected": {"tool": "a", "n": 1}}),
    ("Ben", {"judgement": "missed", "cause": "extra-closing", "expected": {"tool": "a", "n": 2}}),
    ("Cy", {"judgement": "missed", "cause": "extra-closing", "expected": {"tool": "a", "n": 2}}),
)


@pytest.fixture
def adjudicator(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A server of the test's own, where three people labelled three responses, two of them alike; Ann's page."""
    process, url = serve(tmp_path / "data", "--no-examples")
    context = browser.new_context(base_url=url)
    page = context.new_page()
    entries = [
        {"node_type": "agent", "role": "agent", "content": f'{{"tool": "{name}", "n": 1}}}}}}'} for name in "abc"
    ]
    dump = json.dumps({"session_id": "argued", "entries": entries})
    page.request.post("/api/dumps?filename=argued.json", data=dump)
    for author, label in VOTES:
        for position in range(3):
            answer = page.request.put(f"/api/session/argued/turns/{position}/label", data={**label, "author": author})
            assert answer.ok, answer.text()
    page.goto("/labels/name?next=/labels/disagreements")
    page.get_by_role("textbox", name="Your name").fill("Ann")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{url}/labels/disagreements")  # whole: the page of the name has this path in its query
    yield page
    context.close()
    stop(process)


def first(page: Page) -> str:
    return page.locator(".disagreement h2").first.inner_text().split()[-1]


def test_votes_are_settled_one_after_the_other_by_keys_alone(adjudicator: Page) -> None:
    page = adjudicator
    expect(page.locator(".disagreement")).to_have_count(3)
    expect(page.locator(".disagreement").first.locator("li").first).to_contain_text("Ben, Cy")
    before = first(page)
    page.keyboard.press("j")
    page.wait_for_url("**/disagreements?after=*")
    assert first(page) != before
    page.goto("/labels/disagreements")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    expect(page.locator(".disagreement")).to_have_count(2)
    assert first(page) != before
    label = page.request.get("/api/labels/export?format=jsonl").text()
    settled = [line["settled"] for line in map(json.loads, label.splitlines()) if line["settled"]]
    assert [each["expected"] for each in settled] == [{"tool": "a", "n": 1}] * 3
    page.get_by_role("link", name="settled").click()
    expect(page.locator(".disagreement")).to_contain_text("Settled as missed, extra-closing by Ann")
    page.get_by_role("button", name="Reopen").click()
    page.wait_for_url("**/labels/disagreements")
    expect(page.locator(".disagreement")).to_have_count(3)
