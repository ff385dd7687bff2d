"""Reads the case files: title, raw text, values and what was done, parted by lines with a single dot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp import jsontext
from webapp.parsing import Trace
from webapp.parsing.edit import Edit

FOLDER = Path(__file__).resolve().parents[1] / "cases"
GIVEN = ("extraction.jsonl", "extraction-2.jsonl")


@dataclass(frozen=True)
class Case:
    name: str
    raw: str
    values: list[Any]
    made: list[str]
    told: list[dict[str, Any]]
    """what lines that begin with a dash, behind the values, state of each attempt"""

    @property
    def done(self) -> list[str]:
        """What was made, without what each edit puts in."""
        return [word.partition("=")[0] for word in self.made]


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
        stated = lines[second + 1 : third]
        values = [jsontext.unmarked(json.loads(line)) for line in stated if not line.startswith("- ")]
        told = [json.loads(line[2:]) for line in stated if line.startswith("- ")]
        cases.append(Case(f"{path.stem}-{number + 1}", raw, values, lines[third + 1].split(), told))
    return cases


def given(shared: Path) -> list[str]:
    """The texts of the shared cases."""
    files = [(shared / "cases" / name).read_text("utf-8", "surrogatepass") for name in GIVEN]
    return [json.loads(line)["text"] for file in files for line in file.split("\n") if line]


def edits_of(trace: Trace) -> list[str]:
    """The edits of the chosen attempts as cases state them: `repair@start-end=new`."""
    return [made(edit) for index in trace.chosen for edit in trace.attempts[index].edits]


def made(edit: Edit) -> str:
    place = f"{edit.repair}@{edit.span.start}-{edit.span.end}"
    return f"{place}={_shown(edit.new)}" if edit.new else place


def _shown(new: str) -> str:
    """A text as one word: as JSON escapes it, but for quotes, and with its spaces escaped too."""
    return json.dumps(new, ensure_ascii=False)[1:-1].replace('\\"', '"').replace(" ", "\\u0020")


def every(pattern: str = "*.md") -> list[Case]:
    return [case for path in sorted(FOLDER.glob(pattern)) if path.stem != "README" for case in read(path)]
