"""Fencepost under a path of a host that another program has too, behind a small reverse proxy, in a browser."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import bring_examples, serve, stop

pytestmark = pytest.mark.browser
PREFIX = "/tools/fencepost"
HOP = {"connection", "keep-alive", "transfer-encoding", "server", "date"}


@dataclass
class Proxy:
    """A host with Fencepost under `PREFIX`, which it takes off, and somebody else's program beside it."""

    backend: str
    asked_elsewhere: list[str] = field(default_factory=list)
    url: str = ""

    def target(self, path: str) -> str | None:
        if not path.startswith(f"{PREFIX}/"):
            self.asked_elsewhere.append(path)
            return None
        return path.removeprefix(PREFIX)


def handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            target = proxy.target(self.path)
            if target is None:
                self.send_error(404, "somebody else's program")
                return
            headers = {name: text for name, text in self.headers.items() if name.lower() not in HOP}
            with closing(http.client.HTTPConnection(urlsplit(proxy.backend).netloc, timeout=60)) as backend:
                backend.request(self.command, target, body or None, headers)
                answer = backend.getresponse()
                self.answer(answer.status, answer.getheaders(), answer.read())

        def answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
            self.send_response_only(status)
            for name, text in headers:
                if name.lower() not in HOP | {"content-length"}:
                    self.send_header(name, text)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = forward

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the standard library calls it
            pass

    return Handler


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[str]:
    process, url = serve(tmp_path / "data", "--no-examples", FENCEPOST_PREFIX=PREFIX)
    bring_examples(url.rstrip("/") if PREFIX in url else url.rstrip("/") + PREFIX)
    yield url
    stop(process)


@pytest.fixture
def proxy(backend: str) -> Iterator[Proxy]:
    proxy = Proxy(backend)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(proxy))
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield proxy
    server.shutdown()
    thread.join()
    server.server_close()


def read_on(page: Page) -> None:
    """From the list to a session, to a turn, and on to the next failure by key."""
    page.locator("[data-row]").first.click()
    page.wait_for_url("**/sessions/*")
    page.locator("a[href*='/turns/']:visible").first.click()
    page.wait_for_url("**/turns/*")
    with page.expect_response("**/api/next-failure*"), page.expect_navigation():
        page.keyboard.press("N")


def judge_first(page: Page, url: str) -> None:
    page.goto(f"{url}/labels?queue=failed")
    page.fill("[name=name]", "Ada")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{url}/labels?queue=failed")
    at = page.locator("#debugger").get_attribute("data-at")
    with page.expect_response("**/labels/check"):
        page.fill("#judge [name=expected]", "[1]")
    page.locator("#judge [name=note]").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+Enter")
    page.wait_for_function("at => document.getElementById('debugger').dataset.at !== at", arg=at)


def upload(page: Page, url: str, folder: Path) -> None:
    file = folder / "sent.json"
    file.write_text('{"session_id": "sent", "entries": [{"node_type": "agent", "role": "agent", "content": "{}"}]}')
    page.goto(f"{url}/dumps")
    page.set_input_files("#file", [file])
    expect(page.locator("tr", has_text="sent.json").locator("a[data-row]")).to_be_visible()


def test_all_that_pages_and_scripts_ask_for_is_under_the_prefix(page: Page, proxy: Proxy, tmp_path: Path) -> None:
    url, missing = proxy.url + PREFIX, list[str]()
    page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
    page.goto(f"{url}/sessions?failed=1")
    read_on(page)
    page.goto(f"{url}/sessions?failed=1")
    page.locator("input[name=q]").first.fill("json")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions?*q=json*")
    judge_first(page, url)
    upload(page, url, tmp_path)
    assert (missing, proxy.asked_elsewhere) == ([], [])
    assert {cookie["path"] for cookie in page.context.cookies()} == {PREFIX}
