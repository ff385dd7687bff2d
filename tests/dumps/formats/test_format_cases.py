"""Each format reads what its case file says: sessions, texts and problems in order, recognised by its beginning.

A case is in the form of `tests/cases`: the dump, what is read of it one JSON object a line (`{"session": id}`,
`{kind: text}` for a turn, `{"problem": place}`), and the format's name. A line may state other fields of its record
too, and of a session that its `entries` are values of the dump `as they came`. In `databases.md` the text is the SQL
that makes a dump. Other dumps that are no text have test files.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.conftest import Reader, gathered
from tests.parsing import _cases
from webapp.dumps.answer_alarm import MissingAnswers
from webapp.dumps.first_look import look
from webapp.dumps.opening import opened
from webapp.dumps.reading import known_formats, read, sniff
from webapp.dumps.records import SessionStart, Turn

FOLDER = Path(__file__).parent
CASES = [
    pytest.param(path.stem, case, id=case.name)
    for path in sorted((FOLDER / "cases").glob("*.md"))
    for case in _cases.read(path)
]
DATABASES = _cases.read(FOLDER / "databases.md")


@pytest.mark.parametrize(("name", "case"), CASES)
def test_case(name: str, case: _cases.Case, tmp_path: Path, got: Reader) -> None:
    path = tmp_path / "dump"
    path.write_bytes(case.raw.encode("utf-8", "surrogatepass"))
    assert case.done == [name]
    is_read_as_stated(path, case, got)


@pytest.mark.parametrize("case", DATABASES, ids=lambda case: case.name)
def test_database(case: _cases.Case, tmp_path: Path, got: Reader) -> None:
    path = tmp_path / "dump"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(case.raw)
    is_read_as_stated(path, case, got)


def is_read_as_stated(path: Path, case: _cases.Case, got: Reader) -> None:
    records = list(read(path, path.name))
    told = {record.source_format for record in records if isinstance(record, SessionStart)}
    assert told == {*case.done} or case.done == [sniff(path, path.name)]
    assert [said(record, value) for record, value in zip_longest(records, case.values, fillvalue={})] == case.values
    found = gathered(records)
    for number, start in enumerate(value for value in case.values if "session" in value):
        again = got(found.dumped(number))
        assert repr(again.turns) == repr([found.turns[number]]), "our own dump of the session is the session"
        if "entries" in start:
            assert start["entries"] == "as they came"
            assert {written(entry) for entry in found.entries(number)} <= within(documents(case.raw))


def test_no_format_is_surer_than_it_says(tmp_path: Path) -> None:
    """Who could be no surer than another format is leaves a dump unasked: its own, and the first case of each other."""
    path, formats, begun = tmp_path / "dump", known_formats(), set[str]()
    for own, case in (case.values for case in CASES):
        path.write_bytes(case.raw.encode("utf-8", "surrogatepass"))
        with opened(path, path.name) as source:
            head = look(source)
        asked = {own: formats[own]} if own in begun else formats
        begun.add(own)
        assert {name for name, kind in asked.items() if kind.sniff(head) > kind.surest} == set()


def said(record: Any, stated: dict[str, Any]) -> dict[str, Any]:
    """What a case states of a record, as it was read."""
    if isinstance(record, SessionStart):
        base = {"session": record.external_id} | {name: stated[name] for name in ("entries",) if name in stated}
    elif isinstance(record, Turn):
        base = {record.kind: record.raw}
    else:
        base = {"problem": record.at} | ({"alarm": isinstance(record, MissingAnswers)} if "alarm" in stated else {})
    return base | {name: _plain(getattr(record, name, None)) for name in stated.keys() - base.keys()}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value


def documents(raw: str) -> list[Any]:
    """The JSON document that a dump is, or those of its lines."""
    try:
        return [json.loads(raw)]
    except ValueError:
        return [json.loads(line) for line in raw.splitlines() if line[:1] in ("{", "[") and line[-1:] in ("}", "]")]


def within(value: Any) -> set[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {written(value)}.union(*map(within, inner))


def written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("name", known_formats())
def test_every_format_has_cases_or_tests_of_its_own(name: str) -> None:
    is_in_database = any(case.done == [name] for case in DATABASES)
    assert is_in_database or (FOLDER / "cases" / f"{name}.md").exists() or (FOLDER / f"test_{name}.py").exists()


@pytest.mark.parametrize(
    ("name", "case"), [case for case in CASES if case.values[1].raw.lstrip()[:1] not in ("{", "[")]
)
def test_line_ends_of_windows_change_nothing(name: str, case: _cases.Case, tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_bytes(case.raw.encode().replace(b"\n", b"\r\n"))
    turns = [record for record in read(path, path.name) if isinstance(record, Turn)]
    read_so = [(turn.kind, turn.raw and turn.raw.replace("\r\n", "\n")) for turn in turns]
    assert read_so == [next(iter(value.items())) for value in case.values if not value.keys() & {"session", "problem"}]
