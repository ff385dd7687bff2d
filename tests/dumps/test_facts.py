"""The six facts of a response by format: the table of docs/formats.md is what the files of the formats' cases give.

After a change of a reader or a case, `python -m tests.dumps.test_facts` writes the table anew.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.parsing import _cases
from webapp.dumps import Turn, known_formats, read
from webapp.dumps.facts import facts_of

DOCS = Path(__file__).parents[2] / "docs/formats.md"
CASES = Path(__file__).parent / "formats/cases"
HEAD = "| format | text | arguments | declared | cap | stop | host | tokens |\n|---|---|---|---|---|---|---|---|\n"
NO = "–"


def row(name: str, folder: Path) -> str:
    found: dict[str, set[str]] = {}
    for number, case in enumerate(_cases.read(CASES / f"{name}.md")):
        path = folder / f"{name}-{number}"
        path.write_text(case.raw)
        for turn in read(path, "dump"):
            if isinstance(turn, Turn) and turn.written_by_model:
                for column, word in facts_of(turn):
                    found.setdefault(column, set()).add(word)
    columns = [column.strip() for column in HEAD.splitlines()[0].split("|")[2:-1]]
    return f"| `{name}` | {' | '.join(', '.join(sorted(found.get(column, ()))) or NO for column in columns)} |\n"


def table(folder: Path) -> str:
    return HEAD + "".join(row(name, folder) for name in sorted(known_formats()) if (CASES / f"{name}.md").exists())


def test_the_table_is_what_the_files_give(tmp_path: Path) -> None:
    assert table(tmp_path) in DOCS.read_text(), "python -m tests.dumps.test_facts"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        DOCS.write_text(re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: table(Path(made)), DOCS.read_text()))
