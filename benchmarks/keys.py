"""What a key press takes in Chromium until its effect is painted, and a cold page until its first content.

    python -m benchmarks.keys [--turns 1000000] [--folder DIR] [--rounds 10]

Over a database of `benchmarks.pages`. Times are in milliseconds, median and worst, and begin with the `keydown`; the
effect is a focus that moved or a part that was swapped in, and counts once the next frame was drawn.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.generated import database_of
from benchmarks.pages import _inner, _served
from benchmarks.serving import CHROMIUMS, PAINT

WATCH = """(where) => { window.shown = new Promise((done) => {
  let pressed = null;
  const told = () => done(performance.now() - pressed);
  const drawn = () => pressed !== null && requestAnimationFrame(() => setTimeout(told));
  setTimeout(done, 5000, null);
  addEventListener("keydown", () => { pressed = performance.now(); }, { capture: true, once: true });
  if (where === "focus") addEventListener("focusin", drawn);
  else new MutationObserver(drawn).observe(document.querySelector(where),
    { subtree: true, childList: true, attributeFilter: ["aria-current"] });
}); }"""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where databases are kept for the next time")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fencepost-keys-") as folder:
        settings = database_of(options.folder or Path(folder), options.turns)
        inner = _inner(settings)
        process, url = _served(settings)
        try:
            print(json.dumps(measured(url, inner, options.rounds), indent=2))
        finally:
            process.terminate()
            process.wait(20)


def measured(url: str, inner: dict[str, str], rounds: int) -> dict[str, Any]:
    chromium = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    cold: dict[str, list[float]] = {name: [] for name in ("list", *inner)}
    with sync_playwright() as playwright:
        for _ in range(rounds):
            for name, path in {"list": "/", **inner}.items():
                browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
                page = browser.new_page()
                page.goto(url + path)
                cold[name].append(page.evaluate(PAINT))
                browser.close()
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        keys = pressed(browser, url, inner, rounds)
        browser.close()
    both = {"key": keys, "first content": cold}
    return {what: {name: summary(times) for name, times in found.items()} for what, found in both.items()}


def pressed(browser: Browser, url: str, inner: dict[str, str], rounds: int) -> dict[str, list[float]]:
    page = browser.new_page()
    page.goto(url, wait_until="load")
    found = {"j on the list": [effect(page, "j", "focus") for _ in range(rounds)]}
    found["n on a session"] = []
    for _ in range(rounds):
        page.goto(url + inner["session"], wait_until="load")
        found["n on a session"].append(effect(page, "n", "focus"))
    found["x on a turn"] = []
    for _ in range(rounds):
        page.goto(url + inner["turn"], wait_until="load")
        found["x on a turn"].append(effect(page, "x", ".bench"))
    return found


def effect(page: Page, key: str, where: str) -> float:
    """Milliseconds from the key press until its effect at `where` was painted."""
    page.evaluate(WATCH, where)
    page.keyboard.press(key)
    took = page.evaluate("window.shown")
    if took is None:
        raise SystemExit(f"{key} had no effect on {page.url}")
    return float(took)


def summary(times: list[float]) -> dict[str, float]:
    return {"p50": round(statistics.median(times), 1), "worst": round(max(times), 1)}


if __name__ == "__main__":
    main()
