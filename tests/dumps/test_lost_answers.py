"""A property: rename, drop or empty the field that holds the answers of a real file, and ingest says so."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.conftest import Got, gather
from webapp.dumps.budget import BadDump
from webapp.dumps.records import UnknownFormat
from webapp.scan.files import LogFile
from webapp.scan.scanning import scan_file

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
SHARE = 0.2
"""Of a file's answers; a field that holds fewer is not the one that holds them."""
MAY_BE_EMPTY = {("atif", "emptied")}
"""A step that calls a tool may say nothing."""
FILES = [
    path
    for folder in ("corpus", "samples")
    for path in sorted((SHARED / folder).glob("*/*"))
    if path.suffix in (".json", ".jsonl", ".traj", ".har") and path.stat().st_size < 400_000
]


def documents(text: str) -> tuple[list[Any], bool]:
    """The JSON of a file, and whether it stands one value a line."""
    try:
        return [json.loads(text)], False
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip() and _is_json(line)], True


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def holders(value: Any, answers: Counter[str], key: str = "") -> Iterator[str]:
    """The key of each text that is an answer, word for word."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from holders(inner, answers, name)
    elif isinstance(value, list):
        for inner in value:
            yield from holders(inner, answers, key)
    elif isinstance(value, str) and value in answers:
        yield key


def without(value: Any, key: str, how: str) -> Any:
    if isinstance(value, list):
        return [without(inner, key, how) for inner in value]
    if not isinstance(value, dict):
        return value
    kept = {name: without(inner, key, how) for name, inner in value.items() if name != key}
    if key in value and how == "renamed":
        kept[f"x_{key}"] = value[key]
    if key in value and how == "emptied":
        kept[key] = "" if isinstance(value[key], str) else without(value[key], key, how)
    return kept


def answers(found: Got) -> Counter[str]:
    return Counter(
        turn.raw
        for turns in found.turns
        for turn in turns
        if turn.raw and turn.kind in ("response", "tool_call") and turn.duplicate_of is None
    )


@functools.cache
def as_it_is(path: Path) -> Got:
    """A file that nobody changed, read once for all that is done to it."""
    return gather(path, path.name)


def is_billed_but_empty(path: Path, name: str) -> bool:
    """Whether a finding says that answers were billed and are empty, which is no loss at ingest."""
    scanned = scan_file(LogFile(str(path), name, path.stat().st_size, 0.0), None)
    return any(finding["rule"] == "billed_but_empty" for each in scanned.sessions for finding in each.findings)


@pytest.mark.parametrize("how", ["renamed", "dropped", "emptied"])
@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.name}" for path in FILES])
def test_answers_are_not_lost_in_silence(path, how, tmp_path):
    whole = as_it_is(path)
    told, changed = answers(whole), tmp_path / "changed"
    values, lines = documents(path.read_text("utf-8"))
    keys = Counter(holders(values, told))
    kind = whole.starts[0].source_format
    if not told or (kind, how) in MAY_BE_EMPTY:
        return
    for key in [key for key, count in keys.items() if key and count >= max(2, SHARE * told.total())]:
        damaged = [without(value, key, how) for value in values]
        changed.write_text("\n".join(map(json.dumps, damaged)) if lines else json.dumps(damaged[0]))
        try:
            found = gather(changed, path.name)
        except (BadDump, UnknownFormat):
            continue
        lost = (told - answers(found)).total()
        said = {*found.problems, *found.alarms} - {*whole.problems, *whole.alarms}
        is_told = bool(said) or (how == "emptied" and is_billed_but_empty(changed, path.name))
        assert is_told or lost < SHARE * told.total(), (key, lost)


USER = {"role": "user", "content": "Give me the plan as JSON."}


def test_the_program_that_was_inferred_is_no_key_of_the_log(got):
    log = "# aider chat started at 2026-03-01 10:00:00\n\n> Main model: m with diff edit format  \n\n#### plan  \n"
    (problem,) = got(log, "a.md").alarms
    assert "started" in problem.reason and "program" not in problem.reason


def test_many_such_sessions_are_counted(got):
    lines = "\n".join(json.dumps({"session_id": f"s{number}", **USER}) for number in range(30))
    problems = got(lines, "a.jsonl").alarms
    assert len(problems) == 21
    assert problems[-1].reason == "30 sessions in total have no answers, or mostly empty ones"
