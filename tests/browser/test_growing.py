"""The page of a session that grows while somebody looks at it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.web.test_traces import send_to as send

pytestmark = pytest.mark.browser


def test_new_turns_appear_and_focus_stays(page: Page, server: str) -> None:
    send(server, "talk", 0, 1, 2)
    page.goto("/sessions/talk")
    expect(page.locator(".turn")).to_have_count(3)
    page.keyboard.press("j")
    focused = page.evaluate("document.activeElement.closest('.turn').id")
    send(server, "talk", 3, 4)
    expect(page.locator(".turn")).to_have_count(5)
    expect(page.locator("#session-head")).to_contain_text("5 turns")
    assert page.evaluate("document.activeElement.closest('.turn')?.id") == focused
    assert page.evaluate("scrollY") == 0
    send(server, "talk", 5)
    expect(page.locator(".turn")).to_have_count(6)


def test_a_session_at_rest_is_not_asked_about(page: Page, server: str) -> None:
    send(server, "resting", 0)
    page.goto("/sessions/resting")
    answer = page.request.get(f"{page.locator('#growing').get_attribute('data-url')}?changed=-1")
    assert (answer.headers["fencepost-growing"], answer.headers["fencepost-turns"]) == ("yes", "1")
    changed = answer.headers["fencepost-changed"]
    again = page.request.get(f"{page.locator('#growing').get_attribute('data-url')}?changed={changed}")
    assert again.status == 204
    page.route(re.compile("/growth"), lambda route: route.fulfill(status=204, headers={"Fencepost-Growing": "no"}))
    expect(page.locator("#growing")).to_have_text("No new turns for five minutes. Reload to check again.")
