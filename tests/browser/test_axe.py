"""axe-core finds no violation on any page, in light and dark, wide and narrow, over the examples."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from webapp.web.playground import pack

pytestmark = pytest.mark.browser

STORY = "/sessions/ui_run_764686752e2f"
BROKEN = "a set {1, 2}, and {'b': 1}}"
PAGES = (
    "/",
    "/sessions",
    "/sessions?failed=1&model=google%2Fgemini-2.5-flash-lite&more=model",
    "/sessions?q=braces",
    "/sessions?model=nobody",
    "/responses?by=model",
    "/selection/compare",
    "/compare?a=direct&b=fencepost",
    "/responses",
    "/failures/v1%7Cextra%20closer%7Cfenced%7Cafter%20prose",
    "/labels",
    "/labels/list",
    "/labels/causes",
    "/labels/disagreements",
    "/labels/export",
    "/profiles",
    "/profiles/fencepost",
    "/profiles/fencepost/responses",
    "/dumps",
    "/homes",
    "/dumps/1",
    "/tasks",
    "/exports/new?failed=1",
    "/mappings",
    "/mappings/make",
    STORY,
    f"{STORY}?q=braces",
    "/diff?a=ui_run_764686752e2f.12&b=ui_run_764686752e2f.14",
    f"{STORY}/turns/12",
    f"{STORY}/turns/12?profile=fencepost",
    "/sessions/nobody",
    "/playground",
    f"/playground?t={pack(BROKEN)}",
)
TAGS = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],  # of what passes not every element is described
}
# A bracket in the gutter is as narrow as the lanes are; the attempt it opens has a link of full size in the list
# beside it, which is WCAG 2.5.8's exception "Equivalent".
SELECTORS = """axe.configure({ rules: [
  { id: "target-size", selector: "*:not(.raw .b)" }, { id: "color-contrast", selector: "[data-kind]" },
] });"""
NARROWEST = 320
"""pixels: a page of 1280 at 400 % (WCAG 1.4.10)"""
PLACED = ["color-contrast", "target-size", "link-in-text-block", "scrollable-region-focusable"]
KINDS = """() => {
  const grounds = new Map(), seen = {};
  const ground = (element) => {
    if (!element) return "";
    if (!grounds.has(element)) {
      const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(element);
      const own = [backgroundColor, backgroundImage, opacity, position].join();
      const plain = "rgba(0, 0, 0, 0),none,1,static";
      grounds.set(element, ground(element.parentElement) + (own === plain ? "" : own));
    }
    return grounds.get(element);
  };
  for (const element of document.body.querySelectorAll("*")) {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    const kind = [element.tagName, color, fontSize, fontWeight, textShadow, ground(element)].join();
    const holds = [...element.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
    const isSeen = element.checkVisibility() && element.getClientRects().length && (holds || "value" in element);
    if (isSeen) seen[kind] = (seen[kind] || 0) + 1;
    element.toggleAttribute("data-kind", Boolean(isSeen && seen[kind] <= 3));
  }
}"""
"""marks three texts of each colour, size and ground: all others of their kind have the contrast that these have"""
SEEN: tuple[tuple[int, Literal["light", "dark"], dict[str, Any]], ...] = (
    (1440, "light", TAGS),
    (390, "dark", {**TAGS, "runOnly": PLACED}),
)


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core's source, as the package of the test extra brings it."""
    spec = importlib.util.find_spec("axe_playwright_python")
    assert spec and spec.origin
    return Path(spec.origin).with_name("axe.min.js").read_text()


@pytest.fixture(scope="module")
def looked(browser: Browser, server: str, axe: str) -> Iterator[Page]:
    """One page for all, with axe-core in it, for which alone the content policy is set aside."""
    context = browser.new_context(base_url=server, viewport={"width": 1440, "height": 900}, bypass_csp=True)
    context.add_init_script(axe + SELECTORS)
    yield context.new_page()
    context.close()


def violations(page: Page, options: dict[str, Any]) -> list[str]:
    """Each violation with the first elements that it concerns."""
    page.evaluate(KINDS)
    found = page.evaluate("(options) => axe.run(document, options).then((results) => results.violations)", options)
    return [
        f"{broken['id']}: {broken['help']} " + "; ".join(str(node["html"])[:160] for node in broken["nodes"][:3])
        for broken in found
    ]


def everywhere(page: Page) -> list[str]:
    """All rules, wide in light; narrow in dark those that go by colours and places."""
    found = []
    for width, scheme, options in SEEN:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        found += [f"{width} {scheme} {broken}" for broken in violations(page, options)]
        if scrolls_sideways(page):
            found.append(f"{width} scrolls sideways")
    page.set_viewport_size({"width": NARROWEST, "height": 900})
    if scrolls_sideways(page):
        found.append(f"{NARROWEST} scrolls sideways")
    return found


def scrolls_sideways(page: Page) -> bool:
    wide: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return wide


def address(page: Page, path: str) -> str:
    if path == "/dumps":  # a log of which something was not read has a line more
        one = b'{"role": "assistant", "content": "[1]"}\n{"role"\n'
        sent = page.request.post("/api/dumps?filename=with-a-problem.jsonl", data=one)
        assert sent.status in (200, 201), sent.text()
    if path != "/selection/compare":
        return path
    answer = page.request.get("/api/sessions?limit=2").json()
    return "/selection/compare?" + "&".join(f"ids={session['key']}" for session in answer["sessions"])


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_violation(looked: Page, path: str) -> None:
    looked.goto(address(looked, path))
    assert everywhere(looked) == []
    assert looked.locator("h1").count() <= 1


def test_the_marks_of_one_response_beside_a_long_name_are_large_enough(looked: Page) -> None:
    session = {"id": "s" * 90, "messages": [{"role": "assistant", "content": "{}"}]}
    assert looked.request.post("/api/dumps?filename=long.json", data=session).ok
    looked.goto("/sessions")
    assert everywhere(looked) == []


def test_the_dialog_of_keys_the_help_of_search_and_a_rows_menu_have_none(looked: Page) -> None:
    looked.goto("/")
    for pressed, dialog in (("?", "#keys dt[data-of]:visible"), ("Control+k", "#palette li a")):
        looked.keyboard.press(pressed)
        expect(looked.locator(dialog).first).to_be_visible()
        assert violations(looked, TAGS) == []
        looked.keyboard.press("Escape")
    looked.get_by_role("button", name="How to search").click()
    assert violations(looked, TAGS) == []
    looked.keyboard.press("Escape")
    looked.keyboard.press("j")
    looked.keyboard.press(";")
    assert violations(looked, TAGS) == []
