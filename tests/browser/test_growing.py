"""The page of a session that grows while somebody looks at it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import serve, stop
from tests.web.test_traces import numbered, trace
from webapp.client import Recorder

pytestmark = pytest.mark.browser


def send(url: str, *numbers: int) -> None:
    body = trace(*(numbered(number) for number in numbers)).encode()
    with urlopen(Request(f"{url}/v1/traces", body, {"Content-Type": "application/json"})) as answer:
        assert json.load(answer) == {}


def test_new_turns_appear_and_focus_stays(page: Page, tmp_path: Path) -> None:
    process, url = serve(tmp_path / "data", "--no-examples")
    try:
        send(url, 0, 1, 2)
        page.goto(f"{url}/sessions/talk")
        expect(page.locator(".turn")).to_have_count(3)
        page.keyboard.press("j")
        focused = page.evaluate("document.activeElement.closest('.turn').id")
        send(url, 3, 4)
        expect(page.locator(".turn")).to_have_count(5)
        expect(page.locator("#session-head")).to_contain_text("5 turns")
        assert page.evaluate("document.activeElement.closest('.turn')?.id") == focused
        assert page.evaluate("scrollY") == 0
        send(url, 5)
        expect(page.locator(".turn")).to_have_count(6)
    finally:
        stop(process)


def test_what_a_recorder_sends_appears(page: Page, tmp_path: Path) -> None:
    process, url = serve(tmp_path / "data", "--no-examples")
    try:
        with Recorder(session="rec", url=url, spool=tmp_path / "spool", every=0.1) as recorder:
            recorder.response("one")
            assert recorder.flush(120)
            page.goto(f"{url}/sessions/rec")
            expect(page.locator(".turn")).to_have_count(1)
            recorder.response("two")
            assert recorder.flush(120)
            expect(page.locator(".turn")).to_have_count(2)
    finally:
        stop(process)


def test_a_session_at_rest_is_not_asked_about(page: Page, tmp_path: Path) -> None:
    process, url = serve(tmp_path / "data", "--no-examples")
    try:
        send(url, 0)
        page.goto(f"{url}/sessions/talk")
        answer = page.request.get(f"{url}{page.locator('#growing').get_attribute('data-url')}?changed=-1")
        assert (answer.headers["fencepost-growing"], answer.headers["fencepost-turns"]) == ("yes", "1")
        changed = answer.headers["fencepost-changed"]
        again = page.request.get(f"{url}{page.locator('#growing').get_attribute('data-url')}?changed={changed}")
        assert again.status == 204
        page.route(re.compile("/growth"), lambda route: route.fulfill(status=204, headers={"Fencepost-Growing": "no"}))
        expect(page.locator("#growing")).to_have_text("No new turns for five minutes. Reload to check again.")
    finally:
        stop(process)
