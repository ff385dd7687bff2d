"""Each text export of labels is, to the character, what its case file says of the responses in `made.py`.

A case is in the form of `tests/cases`: the export, no values, and `labels`. Exports that are no plain text, or hold
what is read back by another program, have their tests in `test_labels.py` and `test_sessions.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exports import made
from tests.parsing import _cases
from webapp.exports import base

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
