"""Each format reads what its case file says: sessions, texts and problems in order, recognised by its beginning.

A case is in the form of `tests/cases`: the dump, what is read of it one JSON object a line (`{"session": id}`,
`{kind: text}` for a turn, `{"problem": place}`), and the format's name. Older formats have test files of their names.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parsing import _cases
from webapp.dumps import SessionStart, Turn, known_formats, read, sniff

FOLDER = Path(__file__).parent
CASES = [
    pytest.param(path.stem, case, id=case.name)
    for path in sorted((FOLDER / "cases").glob("*.md"))
    for case in _cases.read(path)
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_case(name: str, case: _cases.Case, tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_text(case.raw)
    assert case.done == [name] == [sniff(path, path.name)]
    records = [
        {"session": record.external_id}
        if isinstance(record, SessionStart)
        else {record.kind: record.raw}
        if isinstance(record, Turn)
        else {"problem": record.at}
        for record in read(path, path.name)
    ]
    assert records == case.values


@pytest.mark.parametrize("name", known_formats())
def test_every_format_has_cases_or_tests_of_its_own(name: str) -> None:
    assert (FOLDER / "cases" / f"{name}.md").exists() or (FOLDER / f"test_{name}.py").exists()


@pytest.mark.parametrize(
    ("name", "case"), [case for case in CASES if case.values[1].raw.lstrip()[:1] not in ("{", "[")]
)
def test_line_ends_of_windows_change_nothing(name: str, case: _cases.Case, tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(case.raw.encode().replace(b"\n", b"\r\n"))
    turns = [record for record in read(path, path.name) if isinstance(record, Turn)]
    said = [{turn.kind: turn.raw and turn.raw.replace("\r\n", "\n")} for turn in turns]
    assert said == [value for value in case.values if not value.keys() & {"session", "problem"}]
