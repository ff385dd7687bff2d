"""Measures what a newcomer waits for: the server's start, its memory, the environment's size, a page's first content.

`python benchmarks/serving.py` prints a table. Start times are given beside the start of a bare Flask app in the same
interpreter. It starts its own servers on free ports of 127.0.0.1 and stops them.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
BARE = """
from flask import Flask
from waitress import create_server
app = Flask("bare")
server = create_server(app, host="127.0.0.1", port=0)
print(f"http://127.0.0.1:{server.effective_port}", flush=True)
server.run()
"""
BROKEN = b'Sure!\n```json\n{"tool": "run_code", "arguments": {"code": "x"}}}}\n```\n'
PAINT = """() => new Promise((done) => {
  const told = () => performance.getEntriesByName("first-contentful-paint")[0];
  if (told()) return done(told().startTime);
  new PerformanceObserver(() => told() && done(told().startTime)).observe({ type: "paint", buffered: true });
})"""


def start(command: list[str], data: Path) -> tuple[subprocess.Popen[str], str, float]:
    """A server's process, its URL, and the seconds until its first answer."""
    began = time.perf_counter()
    environ = {**os.environ, "FENCEPOST_DATA": str(data), "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    for line in process.stdout:
        if match := re.search(r"http://\S+?:\d+", line):
            answered = subprocess.run(["curl", "-s", "-o", os.devnull, match.group()], check=True)
            assert answered.returncode == 0
            return process, match.group(), time.perf_counter() - began
    raise SystemExit("the server did not start")


def stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.wait(10)


def resident(pid: int) -> float:
    """Resident memory in megabytes, from /proc."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert found
    return int(found.group(1)) / 1000


def starts(command: list[str], data: Path) -> float:
    took = []
    for _ in range(ROUNDS):
        process, _, seconds = start(command, data)
        took.append(seconds)
        stop(process)
    return statistics.median(took)


def first_paint(url: str) -> tuple[float, float]:
    """Median milliseconds to first content of the list and of the same page without CSS, in new Chromiums in turn."""
    chromium = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    took: dict[bool, list[float]] = {True: [], False: []}
    with sync_playwright() as playwright:
        for turn in range(2 * ROUNDS):
            styled = turn % 2 == 0
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page()
            if not styled:
                page.route("**/*.css*", lambda route: route.fulfill(body="", content_type="text/css"))
            page.goto(url)
            took[styled].append(page.evaluate(PAINT))
            browser.close()
    return statistics.median(took[True]), statistics.median(took[False])


def first_output(command: list[str]) -> float:
    """Median milliseconds from the start of `command` to the first byte that it prints, reading a broken response."""
    took = []
    for _ in range(3 * ROUNDS):
        began = time.perf_counter()
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin and process.stdout
            process.stdin.write(BROKEN)
            process.stdin.close()
            process.stdout.read(1)
            took.append((time.perf_counter() - began) * 1000)
            process.stdout.read()
    return statistics.median(took)


def environment_size() -> float:
    """Megabytes of a new virtual environment with Fencepost and nothing for tests in it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["make", "-s", f"VENV={folder}/venv", f"{folder}/venv/.installed"], cwd=ROOT, check=True)
        files = (path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink())
        return sum(path.stat().st_blocks * 512 for path in files) / 1e6


def main() -> None:
    serve = [sys.executable, "-m", "webapp", "serve", "--port", "0"]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        process, _, first = start(serve, data)
        stop(process)
        again, bare = starts(serve, data), starts([sys.executable, "-c", BARE], data)
        process, url, _ = start(serve, data)
        paint, unstyled = first_paint(url)
        memory = resident(process.pid)
        stop(process)
    print(f"first start, examples read      {first:8.2f} s")
    print(f"start with examples there       {again:8.2f} s   {again / bare:.1f} times a bare Flask app's {bare:.2f} s")
    print(f"resident memory after that      {memory:8.0f} MB")
    print(f"first content, cold Chromium    {paint:8.0f} ms  the same page without CSS {unstyled:.0f} ms")
    parse = first_output([sys.executable, "-m", "webapp", "parse"])
    nothing = first_output([sys.executable, "-c", "print(1)"])
    print(
        f"fencepost parse, first output   {parse:8.0f} ms  {parse / nothing:.1f} times a bare print's {nothing:.0f} ms"
    )
    print(f"virtual environment             {environment_size():8.0f} MB")


if __name__ == "__main__":
    main()
