"""Reads the case files: title, raw text, values and what was done, parted by lines with a single dot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp import jsontext

FOLDER = Path(__file__).resolve().parents[1] / "cases"


@dataclass(frozen=True)
class Case:
    name: str
    raw: str
    values: list[Any]
    done: list[str]


def read(path: Path) -> list[Case]:
    """The cases of one file; a file that is not in the form fails loudly."""
    lines = path.read_text("utf-8").split("\n")
    dots = [index for index, line in enumerate(lines) if line == "."]
    assert dots and len(dots) % 3 == 0, f"{path.name}: {len(dots)} dots"
    cases = []
    for number, (first, second, third) in enumerate(zip(dots[::3], dots[1::3], dots[2::3], strict=True)):
        raw = "\n".join(lines[first + 1 : second])
        if lines[first - 1] == "escaped":
            raw = raw.encode("ascii").decode("unicode_escape")
        values = [jsontext.unmarked(json.loads(line)) for line in lines[second + 1 : third]]
        cases.append(Case(f"{path.stem}-{number + 1}", raw, values, lines[third + 1].split()))
    return cases


def every(pattern: str = "*.md") -> list[Case]:
    return [case for path in sorted(FOLDER.glob(pattern)) if path.stem != "README" for case in read(path)]
