"""Screenshots of every component in every state: written to a folder, and none of them blank."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from webapp.web.patterns import TEXTS

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the pictures go: `FENCEPOST_PICTURES` where it is set, so that one can look at them."""
    path = Path(os.environ.get("FENCEPOST_PICTURES") or tmp_path_factory.mktemp("pictures"))
    path.mkdir(parents=True, exist_ok=True)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_each_pattern_is_drawn(browser: Browser, server: str, folder: Path, scheme: str, width: int) -> None:
    context = browser.new_context(base_url=server, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto("/patterns")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sections = page.locator("[data-pattern]").all()
    assert len(sections) == 9
    for section in sections:
        path = folder / f"{section.get_attribute('data-pattern')}-{width}-{scheme}.png"
        section.screenshot(path=path)
        assert is_drawn(path), path.name
    context.close()


@pytest.mark.parametrize("sample", TEXTS)
def test_each_response_is_drawn_in_the_debugger(browser: Browser, server: str, folder: Path, sample: str) -> None:
    context = browser.new_context(base_url=server, viewport={"width": 1440, "height": 900}, forced_colors="active")
    page = context.new_page()
    page.goto(f"/patterns?sample={sample}")
    path = folder / f"debugger-{sample.replace(' ', '-')}-forced-colours.png"
    page.locator("[data-pattern=debugger]").screenshot(path=path)
    assert is_drawn(path)
    context.close()


def is_drawn(path: Path) -> bool:
    """Whether a picture shows something: the lines of a blank one are all the same behind the first."""
    data = path.read_bytes()
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    packed, at = b"", 8
    while at < len(data):
        length = int.from_bytes(data[at : at + 4])
        packed += data[at + 8 : at + 8 + length] if data[at + 4 : at + 8] == b"IDAT" else b""
        at += 12 + length
    pixels = zlib.decompress(packed)
    stride = len(pixels) // height
    return width > 100 and len({pixels[line : line + stride] for line in range(0, len(pixels), stride)}) > 10
