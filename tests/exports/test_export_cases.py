"""Each text export of labels is, to the character, what its case file says of the responses in `made.py`.

A case is in the form of `tests/cases`: the export, no values, and `labels`. Exports that are no plain text, or hold
what is read back by another program, have their tests in `test_labels.py` and `test_sessions.py`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.exports import made
from tests.parsing import _cases
from tests.pytest_run import run_pytest
from webapp.exports import base
from webapp.exports.base import meant
from webapp.exports.formats.pytest import GroupTests, of_group

CASES = [
    pytest.param(path.stem, case, id=case.name)
    for path in sorted((Path(__file__).parent / "cases").glob("*.md"))
    for case in _cases.read(path)
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_case(name: str, case: _cases.Case) -> None:
    (takes,) = case.done
    export = b"".join(base.find(name, takes).pieces(iter(made.responses()), made.ABOUT))
    assert export.decode() == case.raw + "\n"


@pytest.mark.parametrize("name", [*base.formats("labels"), *base.formats("sessions")])
def test_every_export_has_cases_or_a_test(name: str) -> None:
    folder = Path(__file__).parent
    tests = "".join((folder / f"test_{noun}.py").read_text() for noun in ("labels", "sessions", "session_dump"))
    assert (folder / "cases" / f"{name}.md").exists() or f'"{name}"' in tests


KNOWN = [response for response, _, _ in meant(made.responses(), Counter())][:1]
COMMA = replace(made.responses()[0], raw='{"a": [1,],}', key="comma", labels=(), final=None)
PROSE = replace(COMMA, raw='Well: {"a": 1} """ \\ ', key="prose", session='"""\nimport os')


def written(tests: GroupTests) -> str:
    return b"".join(of_group(tests, made.ABOUT)).decode("ascii")


def test_a_group_without_labels_is_tested_to_be_read_by_its_own_parser(tmp_path: Path) -> None:
    path = tmp_path / "test_group.py"
    path.write_text(written(GroupTests([], [COMMA, PROSE], 2, 0, "direct", "http://h/labels", "http://h/more")))
    assert "2 failed, 1 skipped" in run_pytest(tmp_path, "-q", path.name)[1]  # that parser reads neither
    assert "2 passed, 1 skipped" in run_pytest(tmp_path, "-q", path.name, FENCEPOST_PROFILE="fencepost")[1]


def test_the_file_says_how_many_of_how_many_and_why_the_others_are_not_in_it() -> None:
    text = written(GroupTests(KNOWN, [COMMA], 20, 5, "direct", "http://h/labels?queue=group", "http://h/more"))
    assert "2 of 20 responses of the group are in this file:" in text
    assert "- 1 with an expected value" in text and "- 1 without an expected value" in text
    assert "Not in it: 5 without an expected value, which fencepost cannot read" in text
    assert "Not in it: 13 more" in text and "http://h/more" in text
    assert "Label them: http://h/labels?queue=group" in text
    whole = written(GroupTests(KNOWN, [], 1, 0, "direct", "", ""))
    assert "1 of 1" in whole and "Not in it" not in whole and "Label them" not in whole
