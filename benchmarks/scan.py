"""How long `fencepost scan` takes over Claude Code logs, and how much memory, beside reading every line as JSON.

    python -m benchmarks.scan [--megabytes 250 500 1000] [--log FILE]

Writes made logs of a few megabytes each, with turns as long as those of a coding agent; with `--log` copies of that
file instead, each with ids of its own. Prints one JSON document: for each size the wall-clock seconds of the command,
its processor seconds, the peak memory of its largest process in MB, and the wall-clock seconds of `json.loads` over
every line in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.serving import ROOT

_PIECE = 4 << 20
"""bytes of a log"""
_MEASURED = """
import json, resource, subprocess, sys, time
begun = time.monotonic()
subprocess.run([sys.executable, "-m", "webapp", "scan", "--json", *sys.argv[1:]], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
wall = time.monotonic() - begun
print(json.dumps({"wall_s": wall, "processor_s": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss / 1024}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[250, 500, 1000])
    parser.add_argument("--log", type=Path, help="a log of Claude Code to be copied, in place of a made one")
    options = parser.parse_args()
    figures = {}
    for size in options.megabytes:
        with tempfile.TemporaryDirectory(prefix="fencepost-benchmark-") as folder:
            write_logs(Path(folder), size << 20, options.log)
            figures[f"{size} MB"] = {key: round(value, 1) for key, value in measured(Path(folder)).items()}
    print(json.dumps(figures, indent=2))


def measured(folder: Path) -> dict[str, float]:
    run = [sys.executable, "-c", _MEASURED, str(folder)]
    figures: dict[str, float] = json.loads(subprocess.run(run, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout)
    begun = time.monotonic()
    for path in folder.iterdir():
        with path.open("rb") as lines:
            for line in lines:
                json.loads(line)
    return figures | {"json_loads_s": time.monotonic() - begun}


def write_logs(folder: Path, size: int, log: Path | None) -> None:
    """Logs of Claude Code that have about `size` bytes together, each a session of its own."""
    written, number = 0, 0
    while written < size:
        path = folder / f"{number:05}.jsonl"
        if log is None:
            made(path, number)
        else:
            path.write_text(log.read_text("utf-8").replace('"sessionId":"', f'"sessionId":"{number}-'), "utf-8")
        written, number = written + path.stat().st_size, number + 1


def made(path: Path, number: int) -> None:
    """One session: a call, its result of some kilobytes, and a text, again and again."""
    with path.open("w") as file:
        before: str | None = None
        for step in range(_PIECE // 12_000):
            for kind, content, more in _turns(number, step):
                entry = _entry(f"{number}-{step}-{kind}-{len(more)}", before, number, kind, content, more)
                before = entry["uuid"]
                file.write(f"{json.dumps(entry)}\n")


def _turns(number: int, step: int) -> list[tuple[str, Any, dict[str, Any]]]:
    use = {"type": "tool_use", "id": f"toolu_{number}_{step}", "name": "Read", "input": {"file_path": f"src/{step}.py"}}
    result = {
        "type": "tool_result",
        "tool_use_id": use["id"],
        "content": f"def f{step}():\n    return {number}\n" * 250,
    }
    said = f"I looked at src/{step}.py: " + "it returns what its caller asked for, and nothing is left to do. " * 20
    model = {"model": "claude-x", "type": "message", "stop_reason": "tool_use", "usage": {"output_tokens": 40}}
    return [
        ("assistant", [use], model | {"id": f"msg_{number}_{step}_a"}),
        ("user", [result], {}),
        (
            "assistant",
            [{"type": "text", "text": said}],
            model | {"id": f"msg_{number}_{step}_b", "stop_reason": "end_turn"},
        ),
    ]


def _entry(uuid: str, before: str | None, number: int, kind: str, content: Any, more: dict[str, Any]) -> dict[str, Any]:
    about = {"uuid": uuid, "parentUuid": before, "sessionId": f"s-{number}", "timestamp": "2026-11-24T10:00:00.000Z"}
    return {"type": kind, "message": {"role": kind, "content": content, **more}, **about}


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
