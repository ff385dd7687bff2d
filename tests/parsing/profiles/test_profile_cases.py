"""Each profile gives the values that its case file says, with the verdict, and the attempts where it states them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.parsing import _cases
from tests.parsing.profiles.test_released import HELD
from webapp.parsing import parse, profiles
from webapp.parsing.profiles import declared
from webapp.parsing.trace import Attempt

FOLDER = Path(__file__).parent
CASES = [
    pytest.param(path.stem, case, id=case.name)
    for path in sorted((FOLDER / "cases").glob("*.md"))
    for case in _cases.read(path)
]


@pytest.mark.parametrize(("profile", "case"), CASES)
def test_case(profile: str, case: _cases.Case) -> None:
    trace = parse(case.raw, profile)
    assert list(trace.values) == case.values
    assert [trace.verdict] == case.done
    if case.told:
        stated = zip(trace.attempts, case.told, strict=True)
        assert [{name: told(attempt, name) for name in said} for attempt, said in stated] == case.told


def told(attempt: Attempt, name: str) -> Any:
    """A field of an attempt, as cases state it."""
    if name == "error":
        return attempt.error and attempt.error.said
    if name == "edits":
        return [_cases.made(edit) for edit in attempt.edits]
    value = getattr(attempt, name)
    return list(value) if name == "span" else value


@pytest.mark.parametrize("name", profiles())
def test_every_profile_has_cases_or_tests_of_its_own(name: str) -> None:
    """`test_released.py` holds those of released parsers against these; of others a file is called as they are."""
    if name in HELD:
        return
    stem = name.replace("-", "_")
    tests = [path.stem.removeprefix("test_") for path in FOLDER.glob("test_*.py")] + ["fencepost"]
    assert (FOLDER / "cases" / f"{name}.md").exists() or any(stem == own or stem.startswith(own) for own in tests)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ({}, ValueError),
        ({"steps": [], "cut": {}}, ValueError),
        ({"steps": ["lods"]}, KeyError),
        ({"cut": {"at": "lods"}}, KeyError),
        ({"cut": {}}, TypeError),
    ],
)
def test_a_file_that_does_not_say_how_it_reads_is_no_profile(said: dict[str, Any], wrong: type[Exception]) -> None:
    with pytest.raises(wrong):
        declared.parser_of(said)


@pytest.mark.parametrize(
    "wrong", ['stepz = ["empty"]', 'steps = ["lods"]', 'steps = ["empty"]\ngruop = "x"', "steps = ["]
)
def test_a_file_that_makes_no_profile_is_named(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'about = "It is mine."\n{wrong}\n')
    with pytest.raises(ValueError, match=r"^mine\.toml: "):
        declared.profile_of(file)
