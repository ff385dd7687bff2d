"""Takes the README's screenshots (docs/turn.png, docs/contract.png), or with `--all FOLDER` every page, light and dark.

Needs what `make test` sets up. The pictures show the examples, served from a fresh data folder.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]

from conftest import chromium, serve, stop  # noqa: E402

STORY = "ui_run_764686752e2f"
FLIGHTS = "flights-off-their-contract"
PAGES = {
    "list": "/",
    "failed": "/?failed=1",
    "session": f"/sessions/{STORY}",
    "turn": f"/sessions/{STORY}/turns/12",
    "turn-fencepost": f"/sessions/{STORY}/turns/12?profile=fencepost",
    "contract": f"/sessions/{FLIGHTS}/turns/2",
    "dumps": "/dumps",
    "labels": "/labels",
    "profiles": "/profiles",
    "missing": "/sessions/nothing",
}


def shoot(browser: Browser, url: str, target: Path, width: int, height: int, scheme: str, full: bool) -> None:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=target, full_page=full)
    page.close()


def main() -> None:
    folder = Path(sys.argv[2]) if sys.argv[1:2] == ["--all"] else None
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        process, url = serve(Path(data))
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        if folder is None:
            for name, path in (("turn", PAGES["turn-fencepost"]), ("contract", PAGES["contract"])):
                shoot(browser, url + path, ROOT / "docs" / f"{name}.png", 1440, 820, "light", False)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            for name, path in PAGES.items():
                for width, height in ((1440, 900), (1024, 768), (390, 844)):
                    for scheme in ("light", "dark"):
                        target = folder / f"{name}-{width}-{scheme}.png"
                        shoot(browser, url + path, target, width, height, scheme, full=width == 390)
        browser.close()
        stop(process)


if __name__ == "__main__":
    main()
