"""The dumps page in a real browser: rows from the start, progress, cancel, a folder, keys, a mapping as one types."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from benchmarks.reliability.processes import children
from tests.browser.conftest import serve, stop
from tests.forking import ForkedProcess
from webapp.store.db import database

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dumps")


@pytest.fixture(scope="module")
def served(data: Path) -> Iterator[tuple[ForkedProcess, str]]:
    """A server of its own, whose dumps no other test counts."""
    process, url = serve(data, "--no-examples")
    yield process, url
    stop(process)


@pytest.fixture
def url(served: tuple[ForkedProcess, str]) -> str:
    return served[1]


@contextmanager
def standing_still(process: ForkedProcess, data: Path) -> Iterator[None]:
    """Whatever the server started, as its worker: what is done behind the page goes on later.

    None of it stands within a transaction that writes, or the page could not write either.
    """
    engine, under = database.connect(f"sqlite:///{data / 'fencepost.sqlite3'}"), children(process.pid)
    with database.writing(engine):
        for pid in under:
            os.kill(pid, signal.SIGSTOP)
    engine.dispose()
    try:
        yield
    finally:
        for pid in under:
            os.kill(pid, signal.SIGCONT)


def log(path: Path, sessions: int, turns: int, name: str, characters: int = 2000) -> Path:
    text = "x" * characters
    entries = (
        {"session_id": f"{name}-{session}", "node_type": "agent", "role": "agent", "content": f"{turn} {text}"}
        for session in range(sessions)
        for turn in range(turns)
    )
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_files_have_rows_and_end_as_dumps(page: Page, url: str, tmp_path: Path) -> None:
    good, bad = log(tmp_path / "good.jsonl", 2, 3, "good"), tmp_path / "bad.bin"
    bad.write_bytes(b"\x89PNG\r\n\x1a\n")
    page.goto(f"{url}/dumps")
    page.set_input_files("#file", [good, bad])
    row = page.locator("tr", has_text="good.jsonl")
    expect(row.locator("a[data-row]")).to_be_visible()
    expect(row).to_contain_text("windlass")
    expect(page.locator("tr", has_text="bad.bin")).to_contain_text("could not be read")
    page.reload()
    expect(page.locator("tbody tr")).to_have_count(2)


def test_a_file_chosen_before_the_script_came_is_sent(page: Page, url: str, tmp_path: Path) -> None:
    held: list[Route] = []
    page.route("**/dumps.js*", lambda route: held.append(route))
    page.goto(f"{url}/dumps", wait_until="commit")
    page.set_input_files("#file", [log(tmp_path / "early.jsonl", 1, 2, "early")])
    while not held:
        page.wait_for_timeout(50)
    held[0].continue_()
    expect(page.locator("tr", has_text="early.jsonl").locator("a[data-row]")).to_be_visible()


def test_a_large_file_is_followed_and_cancelled_by_key(
    page: Page, served: tuple[ForkedProcess, str], data: Path, tmp_path: Path
) -> None:
    process, url = served
    page.goto(f"{url}/dumps")
    page.set_input_files("#file", [log(tmp_path / "large.jsonl", 4000, 20, "large", 300)])
    row = page.locator("tr[id^=job-]", has_text="large.jsonl")
    expect(row.locator("progress[value]")).to_be_visible()
    expect(row).to_contain_text(re.compile(r"(reading|scanning), [\d.]+ .?B of"))
    with standing_still(process, data):  # or it is read before it is cancelled
        row.locator("[data-cancel]").focus()
        row.evaluate("row => row.dataset.before = true")
        expect(page.locator("tr[data-before]")).to_have_count(0)
        expect(row.locator("[data-cancel]")).to_be_focused()
        page.keyboard.press("C")
        expect(page.locator("tr", has_text="large.jsonl")).to_contain_text("cancelled")
    expect(page.locator("tr", has_text="large.jsonl")).to_contain_text("Cancelled")
    assert page.locator("tr[hx-trigger]").count() == 0


def test_a_lost_connection_offers_to_send_again(page: Page, url: str, tmp_path: Path) -> None:
    lost = {"POST"}

    def cut(route: Route) -> None:
        return route.abort("connectionreset") if route.request.method in lost else route.continue_()

    page.route("**/dumps", cut)
    page.goto(f"{url}/dumps")  # after the route: a loaded page's requests may pass by a new one
    page.set_input_files("#file", [log(tmp_path / "lost.jsonl", 1, 2, "lost")])
    row = page.locator("tr", has_text="lost.jsonl")
    expect(row).to_contain_text("connection was lost")
    lost.clear()
    row.get_by_role("button", name="Send again").click()
    expect(page.locator("tr[id^=dump-]", has_text="lost.jsonl")).to_contain_text("lost-0")


def test_a_mapping_is_previewed_as_one_types(page: Page, url: str, tmp_path: Path) -> None:
    own = tmp_path / "own.jsonl"
    own.write_text("".join(json.dumps({"o": {"t": f"text {n}"}, "r": f"run {n}"}) + "\n" for n in range(3)))
    page.goto(f"{url}/dumps")
    page.set_input_files("#file", [own])
    page.locator("tr", has_text="own.jsonl").get_by_role("link", name="Map it").click()
    expect(page.locator("#preview")).to_contain_text("text 0")
    page.fill("#field-session", "$.r")
    expect(page.locator("#preview")).to_contain_text("Session run 2")
    page.fill("[name=name]", "own logs")
    page.get_by_role("button", name="Save and ingest").click()
    expect(page.locator("tr[id^=dump-]", has_text="own.jsonl")).to_contain_text("run 2")
