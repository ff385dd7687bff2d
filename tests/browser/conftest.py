"""A real server, run as a user would run it, and a real Chromium."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests import forking
from tests.forking import ForkedProcess

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30_000.0
"""milliseconds: on a busy machine the usual 5,000 for what is expected were too few"""
RUNNING: list[ForkedProcess] = []
"""servers whose output is shown where a test fails"""
expect.set_options(timeout=PATIENCE)


def _once_loaded(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def once_loaded(it: Any, *arguments: Any, **options: Any) -> Any:
        (it if isinstance(it, Page) else it.page).wait_for_load_state()
        return method(it, *arguments, **options)

    return once_loaded


# What a key or a click does before the page's scripts came, nobody can say: a busy machine shows a page seconds before.
for _name in ("click", "check", "fill", "press", "select_option"):
    setattr(Locator, _name, _once_loaded(getattr(Locator, _name)))
    setattr(Page, _name, _once_loaded(getattr(Page, _name)))
Page.keyboard = property(_once_loaded(Page.keyboard.fget))  # type: ignore[assignment, attr-defined]


def _patient(method: Callable[..., BrowserContext]) -> Callable[..., BrowserContext]:
    @wraps(method)
    def patient(*arguments: Any, **options: Any) -> BrowserContext:
        context = method(*arguments, **options)
        context.set_default_timeout(PATIENCE)
        return context

    return patient


Browser.new_context = _patient(Browser.new_context)  # type: ignore[method-assign]


CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """The Chromium on PATH, or None where Playwright's own download is to be used."""
    return next(filter(None, map(shutil.which, CHROMIUMS)), None)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    arguments += ["--disable-component-update", "--disable-sync"]
    found = chromium()
    return browser_type_launch_args | {"args": arguments} | ({"executable_path": found} if found else {})


def serve(data: Path, *arguments: str, **environ: str) -> tuple[ForkedProcess, str]:
    """Have `fencepost serve` on a free port, forked off; returns the process and the URL that it printed."""
    process = forking.command("serve", "--port", "0", *arguments, environ=environment(data, **environ))
    url = printed_url(process.stdout)
    RUNNING.append(process)
    return process, url


def environment(data: Path, **environ: str) -> dict[str, str]:
    return {**os.environ, "FENCEPOST_DATA": str(data), "PYTHONPATH": str(ROOT), **environ}


def printed_url(lines: Iterable[str]) -> str:
    said = []
    for line in lines:
        said.append(line)
        if match := re.search(r"http://\S+", line):
            return match.group()
    raise AssertionError("the server did not start:\n" + "".join(said))


def stop(process: ForkedProcess) -> None:
    if process in RUNNING:
        RUNNING.remove(process)
    process.terminate()
    process.wait(60)
    process.stdout.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server over a fresh data folder. The examples are in it as somebody's own, a line feed longer: they
    stay in its lists whatever else comes."""
    process, url = serve(tmp_path_factory.mktemp("data"), "--no-examples")
    bring_examples(url)
    yield url
    stop(process)


def bring_examples(url: str, names: str = "*.json*") -> None:
    """The examples as somebody's own, a line feed longer."""
    for path in sorted((ROOT / "examples").glob(names)):
        urlopen(Request(f"{url}/api/dumps?filename={path.name}", path.read_bytes() + b"\n"), timeout=60).close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """What the servers printed meanwhile stands beside a browser test that failed."""
    report: Any = yield
    if report.failed:
        report.sections += [
            (f"output of server {process.pid}", text) for process in RUNNING if (text := printed(process))
        ]
    return report


def printed(process: ForkedProcess) -> str:
    """What has come on a server's standard output and was not read yet."""
    handle = process.stdout.fileno()
    os.set_blocking(handle, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(handle, 1 << 20).decode("utf-8", "replace")
    return ""


@pytest.fixture(scope="session")
def base_url(server: str) -> str:
    return server


def reload_until(page: Page, selector: str) -> None:
    """Load the page again until `selector` is there: what is done in the background takes a while on a busy machine."""
    for _ in range(60):
        page.wait_for_timeout(1000)
        if page.locator(selector).count():
            return
        page.reload()
    expect(page.locator(selector)).to_have_count(1)
