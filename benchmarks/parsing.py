"""Measures the fencepost profile: cases solved, growth on hostile text, and time against `json.loads`.

Run from the checkout: `PYTHONPATH=. python benchmarks/parsing.py [cases|growth|speed|size|fences]…`. Times are CPU
time of this process, the best of several runs; ratios are taken within one run. `json_repair`, and where they are
installed `fast_json_repair` and `jsonmend`, run beside it: by what they offer for objects, in as many rounds. The
cases are those that this profile was developed with; on texts that it has not seen it does less well.
`structure.py` has the weak spots.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from webapp.parsing import parse

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "cases"
OTHERS = ("json_repair", "fast_json_repair", "jsonmend")
ROUNDS = 9

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
    "closers behind a key": lambda n: '```json\n{"a": ' + "]" * n,
    "brackets in single quotes": lambda n: "{'a': '" + "[" * n,
    "refused again and again": lambda n: '{"a": [1, 2; ' * (n // 12),
    "single quotes swallow keys": lambda n: "{\"a\": \"x', 'b': 1} " * (n // 20),
    "full-width, nested": lambda n: "[１，" * (n // 3),
    "items side by side, nested": lambda n: '[1"1"' * (n // 5),
    "openers and single quotes": lambda n: "{'" * (n // 2),
    "quotes and brackets, nested": lambda n: '["' + '"[' * (n // 2),
    "keys without a bracket": lambda n: '\n}`"a": "a": ' * (n // 13),
    "quotes and colons": lambda n: '{"a": "' + '":' * (n // 2),
    "quotes and commas": lambda n: '{"a": "' + '",' * (n // 2),
    "line breaks in a string": lambda n: '{"a": "' + "\n" * n,
    "bare items and quotes": lambda n: "[" + '1"1"' * (n // 4),
    "sections of plain text": lambda n: '<![CDATA[{"a": ' * (n // 15),
    "named calls": lambda n: '[TOOL_CALLS][{"name": ' * (n // 22),
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
    """The other repairers that are installed, each a function from a text to a value."""
    readers: dict[str, Callable[[str], Any]] = {}
    for name in OTHERS:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if reader := getattr(module, "loads", None):
            readers[name] = reader
        else:
            readers[name] = partial(_repaired, module.repair_json)
    return readers


def _repaired(repair: Callable[[str], str], text: str) -> Any:
    return json.loads(repair(text) or "null")


def cases() -> None:
    """How many of the development cases are solved, and by the others; nothing for nothing is right."""
    for file in ("extraction.jsonl", "extraction-2.jsonl"):
        lines = (CASES / file).read_text("utf-8", "surrogatepass").rstrip("\n").split("\n")
        given = [json.loads(line) for line in lines]
        readers = {"fencepost": lambda text: list(parse(text).values)} | {
            name: lambda text, run=run: _values(run, text) for name, run in others().items()
        }
        for name, read in readers.items():
            solved = sum(_solved(case, read(case["text"])) for case in given)
            print(f"{name}: {solved} of {len(given)} development cases ({file})")


def _solved(case: dict[str, Any], values: list[Any]) -> bool:
    if (case.get("nothing") or case.get("or_nothing")) and not values:
        return True
    wanted = [*([] if case.get("nothing") else [case["expected"]]), *(case.get("accept") or [])]
    return any(same(values, want) or (len(values) == 1 and same(values[0], want)) for want in wanted)


def _values(run: Callable[[str], Any], text: str) -> list[Any]:
    """What a repairer makes of a text, as a list; its empty string and empty containers count as nothing."""
    try:
        value = run(text)
    except (RecursionError, ValueError):
        return []
    return [value] if value or text.strip() in ("[]", "{}") else []


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
    """Seconds at 1e3, 1e4 and 1e5 characters, the exponent between the first and the last and the last two; then the
    seconds that a million characters would take as 4e5 did: at most 2 is the aim."""
    print(f"{'pattern':28} {'1e3 ms':>8} {'1e4 ms':>8} {'1e5 ms':>8} {'exponent':>9} {'s/MB':>6}")
    for name, make in GROWTH.items():
        *times, long = [_parsing(make(size)) for size in (1_000, 10_000, 100_000, 400_000)]
        exponent = max(math.log10(times[2] / times[1]), math.log(times[2] / times[0], 100))
        row = " ".join(f"{took * 1000:8.2f}" for took in times)
        print(f"{name:28} {row} {exponent:9.2f} {long / 0.4:6.2f}")


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
        trace = parse(text)
        base, *times = _side_by_side(SAME[len(text)], text, [parse, *rivals.values()])
        row = [took / base for took in times]
        edits = sum(len(attempt.edits) for attempt in trace.attempts)
        print(f"{name:24} {len(text):8} {row[0]:9.2f}x " + " ".join(f"{ratio:16.2f}x" for ratio in row[1:]), edits)


def _side_by_side(clean: str, text: str, readers: list[Callable[[str], Any]]) -> list[float]:
    """The least time of `json.loads` on one text and of each reader on the other, in turns; NaN for who gives up."""
    best = [math.inf] * (len(readers) + 1)
    for _ in range(ROUNDS):
        best[0] = min(best[0], seconds(lambda: json.loads(clean), 2))
        for index, reader in enumerate(readers, 1):
            try:
                best[index] = min(best[index], seconds(partial(reader, text), 2))
            except (RecursionError, ValueError):
                best[index] = math.nan
    return best


def fences() -> None:
    """A megabyte of small fences, which the budget on attempts ends: time, memory and how many were read."""
    text = '```json\n{"a": 1}\n```\nok\n' * 41_666
    parse("[1,]")
    tracemalloc.start()
    trace = parse(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    took = seconds(lambda: parse(text), 3)
    print(f"1 MB of small fences: {took:.3f} s, {peak / 1e6:.1f} MB, {len(trace.values):,} values, {trace.exhausted=}")


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


PARTS = {"cases": cases, "growth": growth, "speed": speed, "size": size, "fences": fences}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
