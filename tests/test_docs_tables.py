"""The tables of docs/ that say what plugins say of themselves, or what cases give: `make docs` writes them anew."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.parsing import _cases
from webapp.dumps.answer_alarm import facts_of
from webapp.dumps.reading import known_formats, read
from webapp.dumps.records import Turn
from webapp.exports import base
from webapp.parsing.machine import repair
from webapp.plugins import help_of

DOCS = Path(__file__).parents[1] / "docs"
CASES = Path(__file__).parent / "dumps/formats/cases"
FACTS = ("text", "arguments", "declared", "cap", "stop", "host", "tokens")
NO = "–"


def tables(folder: Path) -> dict[str, dict[str, str]]:
    """Of each page its tables, by their heads."""
    strategies, repairs = help_of("webapp.parsing.strategies"), repair.MADE_BETWEEN_TOKENS | help_of(repair.FOLDER)
    exports = {
        name: help_ for name, help_ in help_of("webapp.exports.formats").items() if name in base.formats("labels")
    }
    return {
        "parsing.md": {"| name | finds |": _rows(strategies), "| name | what it does |": _rows(repairs)},
        "exports.md": {"| format | content |": _rows(exports)},
        "formats.md": {f"| format | {' | '.join(FACTS)} |": "".join(_facts(folder))},
    }


def _rows(helps: dict[str, str]) -> str:
    return "".join(f"| `{name}` | {helps[name]} |\n" for name in sorted(helps))


def _facts(folder: Path) -> Iterator[str]:
    """The facts of a response by format, as the files of the formats' cases give them."""
    for name in sorted(known_formats()):
        if not (CASES / f"{name}.md").exists():
            continue
        found: dict[str, set[str]] = {}
        for number, case in enumerate(_cases.read(CASES / f"{name}.md")):
            path = folder / f"{name}-{number}"
            path.write_text(case.raw)
            for turn in read(path, "dump", format=name):
                if isinstance(turn, Turn) and turn.written_by_model:
                    for column, word in facts_of(turn):
                        found.setdefault(column, set()).add(word)
        yield f"| `{name}` | {' | '.join(', '.join(sorted(found.get(column, ()))) or NO for column in FACTS)} |\n"


def _with(page: str, tables: dict[str, str]) -> str:
    """The page with its tables made anew."""
    for head, rows in tables.items():
        assert head in page, head
        page = re.sub(rf"({re.escape(head)}\n\|[-|]+\|\n)(\|.*\n)*", lambda at, rows=rows: at[1] + rows, page)
    return page


def test_the_tables_are_what_plugins_and_cases_say(tmp_path: Path) -> None:
    for name, made in tables(tmp_path).items():
        page = (DOCS / name).read_text("utf-8")
        assert page == _with(page, made), f"{name}: make docs"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_in:
        for name, made in tables(Path(made_in)).items():
            (DOCS / name).write_text(_with((DOCS / name).read_text("utf-8"), made), "utf-8")
