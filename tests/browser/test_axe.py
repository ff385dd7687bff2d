"""axe-core finds no violation on any page, in light and dark, wide and narrow, on the examples."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

STORY = "/sessions/ui_run_764686752e2f"
PAGES = (
    "/",
    "/?failed=1&model=google%2Fgemini-2.5-flash-lite&more=model",
    "/?q=braces",
    "/?model=nobody",
    "/statistics",
    "/patterns",
    "/compare",
    "/labels",
    "/profiles",
    "/profiles/fencepost",
    "/dumps",
    STORY,
    f"{STORY}/turns/0",
    f"{STORY}/turns/12",
    f"{STORY}/turns/12?profile=fencepost",
    "/sessions/nobody",
    "/playground",
)
LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (1440, 390)]
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.fixture(scope="module")
def axe() -> str:
    """axe-core's source, as the package of the test extra brings it."""
    spec = importlib.util.find_spec("axe_playwright_python")
    assert spec and spec.origin
    return Path(spec.origin).with_name("axe.min.js").read_text()


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def looked(request: pytest.FixtureRequest, browser: Browser, server: str, axe: str) -> Iterator[Page]:
    """A page with axe-core in it, for which alone the content policy is set aside."""
    scheme, width = request.param
    context = browser.new_context(
        base_url=server, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True
    )
    context.add_init_script(axe)
    page = context.new_page()
    yield page
    context.close()


def violations(page: Page) -> list[str]:
    """Each violation with the first elements that it concerns."""
    found: dict[str, Any] = page.evaluate("(options) => axe.run(document, options)", RULES)
    return [
        f"{broken['id']}: {broken['help']} " + "; ".join(str(node["html"])[:160] for node in broken["nodes"][:3])
        for broken in found["violations"]
    ]


def address(page: Page, path: str) -> str:
    if path != "/compare":
        return path
    answer = page.request.get("/api/sessions?limit=2").json()
    return "/compare?" + "&".join(f"ids={session['key']}" for session in answer["sessions"])


def test_no_page_has_a_violation(looked: Page) -> None:
    broken = {}
    for path in PAGES:
        looked.goto(address(looked, path))
        if found := violations(looked):
            broken[path] = found
    assert not broken, "\n".join(f"{path}\n  " + "\n  ".join(found) for path, found in broken.items())


def test_the_dialog_of_keys_and_the_help_of_search_have_none(looked: Page) -> None:
    looked.goto("/")
    looked.keyboard.press("?")
    assert violations(looked) == []
    looked.keyboard.press("Escape")
    looked.get_by_role("button", name="How to search").click()
    assert violations(looked) == []
