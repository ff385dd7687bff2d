"""Measures the fencepost profile: cases solved, growth on hostile text, and time against `json.loads`.

Run from the checkout: `PYTHONPATH=. python benchmarks/parsing.py [cases|growth|speed|size]…`. Times are CPU time of
this process, the best of several runs; ratios are taken within one run. `json_repair`, and where they are installed
`fast_json_repair` and `jsonmend`, run beside it.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from webapp.parsing import parse

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases" / "extraction.jsonl"
OTHERS = {"json_repair": "repair_json", "fast_json_repair": "repair_json", "jsonmend": "repair_json"}

GROWTH: dict[str, Callable[[int], str]] = {
    "{ only": lambda n: "{" * n,
    "[ only": lambda n: "[" * n,
    '{"a": nested': lambda n: '{"a":' * (n // 5),
    "quotes only": lambda n: '"' * n,
    "backslashes only": lambda n: "\\" * n,
    "} only": lambda n: "}" * n,
    "fences unclosed": lambda n: "```json\n" * (n // 8),
    "fence and spaces": lambda n: "```json\n{" + " " * n,
    "unclosed string with , x": lambda n: '{"a": "' + "b, x" * (n // 4),
    "quotes then , x": lambda n: '{"a": "' + 'b", x' * (n // 5),
    "inner quotes": lambda n: '{"a": "' + 'b"c ' * (n // 4),
    "<think>{": lambda n: "<think>{" * (n // 8),
    "prose openers": lambda n: "see {price} and [1] " * (n // 20),
    "alternating openers": lambda n: "[{" * (n // 2),
    "strings never closed": lambda n: '{"a": "b, "c: ' * (n // 14),
    "<tool_call> unclosed": lambda n: '<tool_call>{"a": ' * (n // 17),
    "escaped openers": lambda n: '{\\"a\\": ' * (n // 8),
    "lines in a string": lambda n: '{"a": "x ' + '"\n' * (n // 2),
    "commas only": lambda n: "[" + "," * n,
    "refused again and again": lambda n: '{"a": [1, 2; ' * (n // 12),
}


def document(size: int) -> str:
    """A clean JSON text of about `size` characters: records with strings, numbers, lists and nested objects."""
    row = {"id": 1, "name": "a name of some length", "ok": True, "tags": ["x", "y"], "at": {"x": 1.5, "y": None}}
    rows = [{**row, "id": index} for index in range(max(1, size // 112))]
    return json.dumps(rows)


def lexical(size: int, defects: int) -> str:
    """The same with small defects in even spread: literals, quotes, keys, trailing commas, comments."""
    parts = [
        '"ok": True,',
        "'name': 'a name of some length',",
        "count: 5,",
        '"tags": ["x", "y",],',
        '"at": 1, // here\n',
    ]
    filler = '"plain": "' + "z" * max(1, size // max(defects, 1) - 34) + '", '
    body = "".join(parts[index % len(parts)] + filler for index in range(defects))
    return "{" + body + '"end": 0}'


def structural(size: int, edits: int) -> str:
    """The same size with about so many missing and extra closers, missing commas and inner quotes."""
    row = '{"a": {"b": [1, 2, {"c": "he said "hi" ok"}}, "d": 1 "e": [1, 2}, '
    rows = edits // 5
    filler = '{"plain": "' + "z" * max(1, size // rows - len(row) - 16) + '"}, '
    return "[" + (row + filler) * rows + "1]"


def seconds(run: Callable[[], Any], repeat: int = 5) -> float:
    """The least CPU time that `run` took."""
    best = math.inf
    for _ in range(repeat):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def others() -> dict[str, Callable[[str], Any]]:
    """The other repairers that are installed."""
    found: dict[str, Callable[[str], Any]] = {}
    for module, name in OTHERS.items():
        try:
            found[module] = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    return found


def cases() -> None:
    """How many of the given cases are solved, and by the others; theirs is right where it gives nothing for nothing."""
    given = [json.loads(line) for line in CASES.read_text("utf-8", "surrogatepass").splitlines()]
    print(f"fencepost: {sum(_solved(case, list(parse(case['text']).values)) for case in given)} of {len(given)} cases")
    for name, run in others().items():
        print(f"{name}: {sum(_solved(case, _values(run, case['text'])) for case in given)} of {len(given)} cases")


def _solved(case: dict[str, Any], values: list[Any]) -> bool:
    if case.get("nothing"):
        return not values
    wanted = [case["expected"], *case.get("accept", [])]
    return any(same(values, want) or (len(values) == 1 and same(values[0], want)) for want in wanted)


def _values(run: Callable[[str], Any], text: str) -> list[Any]:
    """What a repairer makes of a text, as a list; its empty string and empty containers count as nothing."""
    try:
        repaired = json.loads(run(text) or "null")
    except (RecursionError, ValueError):
        return []
    return [repaired] if repaired or text.strip() in ("[]", "{}") else []


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: numbers by value, but true is not 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


def _parsing(text: str) -> float:
    return seconds(lambda: parse(text), 3)


def growth() -> None:
    """Seconds at 1e3, 1e4 and 1e5 characters, and the exponent between the first and the last and the last two."""
    print(f"{'pattern':26} {'1e3 ms':>8} {'1e4 ms':>8} {'1e5 ms':>8} {'exponent':>9}")
    for name, make in GROWTH.items():
        times = [_parsing(make(size)) for size in (1_000, 10_000, 100_000)]
        exponent = max(math.log10(times[2] / times[1]), math.log(times[2] / times[0], 100))
        print(f"{name:26} " + " ".join(f"{took * 1000:8.2f}" for took in times) + f" {exponent:9.2f}")


def speed() -> None:
    """Ratios to `json.loads` on the clean document of the same size, trace included."""
    clean = document(100_000)
    texts = {
        "clean": clean,
        "prose round it": "Here is what you asked for:\n\n" + clean + "\n\nHope this helps!",
        "fence": "Here you are:\n```json\n" + clean + "\n```\nDone.",
        "2,000 lexical edits": lexical(100_000, 1_120),
        "2,000 structural edits": structural(100_000, 2_000),
    }
    rivals = others()
    print(f"{'text':24} {'chars':>8} {'fencepost':>10} " + " ".join(f"{name:>17}" for name in rivals))
    for name, text in texts.items():
        base, ours = _side_by_side(SAME[len(text)], text)
        trace = parse(text)
        row = [ours / base]
        row += [rival(run, text) / base for run in rivals.values()]
        edits = sum(len(attempt.edits) for attempt in trace.attempts)
        print(f"{name:24} {len(text):8} {row[0]:9.2f}x " + " ".join(f"{ratio:16.2f}x" for ratio in row[1:]), edits)


def rival(run: Callable[[str], Any], text: str) -> float:
    """As `seconds`, or NaN where the other library gives up."""
    try:
        return seconds(lambda: run(text), 1)
    except (RecursionError, ValueError):
        return math.nan


def _side_by_side(clean: str, text: str) -> tuple[float, float]:
    """The least time of `json.loads` on one text and of `parse` on the other, taken in turns."""
    base = ours = math.inf
    for _ in range(9):
        base = min(base, seconds(lambda: json.loads(clean), 2))
        ours = min(ours, seconds(lambda: parse(text), 2))
    return base, ours


class _Same(dict[int, str]):
    """Clean documents by size, made when first asked for."""

    def __missing__(self, size: int) -> str:
        self[size] = document(size)
        return self[size]


SAME = _Same()


def size() -> None:
    """Ten million characters, clean, in prose, and cut off."""
    clean = document(10_000_000)
    for name, text in {"clean": clean, "in prose": f"Look: {clean} ok", "cut off": clean[:-20]}.items():
        start = time.process_time()
        trace = parse(text)
        took = time.process_time() - start
        print(f"10 MB {name:10} {took:6.2f} s  {trace.verdict}, truncated: {trace.truncated}")


PARTS = {"cases": cases, "growth": growth, "speed": speed, "size": size}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
