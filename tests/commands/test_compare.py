"""`fencepost compare` as a user runs it: the matrix in words and as JSON, what was not run, and wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.commands.stored import Run, dump
from tests.store.made import BROKEN, CALL
from webapp.cli import main


@pytest.fixture(autouse=True)
def stored(run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("ingest", str(dump(tmp_path / "dump.json", "s", CALL, BROKEN, "nothing"))).exit_code == 0
    assert run("replay", "direct").exit_code == 0
    monkeypatch.setenv("FENCEPOST_DATA", str(data))


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments], catch_exceptions=False)


def test_the_matrix_in_words_and_as_json() -> None:
    result = compare("direct", "fencepost")
    assert result.exit_code == 0 and "         2  only B reads it" in result.output, result.output
    assert "in one session; sign-flip test over sessions p = 1" in result.output
    document = json.loads(compare("direct", "fencepost", "--json").output)
    assert {name: document[name] for name in ("a", "b", "of", "only_b", "neither", "both_same", "not_run_a")} == {
        "a": "direct",
        "b": "fencepost",
        "of": 3,
        "only_b": 2,
        "neither": 1,
        "both_same": 0,
        "not_run_a": 0,
    }
    assert json.loads(compare("direct", "fencepost", "--failed", "--json").output)["of"] == 1


def test_what_was_not_run_is_named_with_its_command() -> None:
    result = compare("langchain", "fencepost", "--no-run")
    assert result.exit_code == 1 and "         3  A was not run over it" in result.output
    assert "langchain: not run over 3 responses: fencepost replay --profile langchain" in result.output


def test_what_was_not_run_is_run_first() -> None:
    failed = json.loads(compare("langchain", "fencepost", "--failed", "--json").output)
    assert (failed["of"], failed["compared"]) == (1, 1)
    whole = json.loads(compare("langchain", "fencepost", "--json").output)
    assert (whole["of"], whole["compared"]) == (3, 3)


def test_two_checkouts_of_ones_own_parser_are_two_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each runs with the modules that lie in its own folder."""
    reads = {"old": "json.loads(text)", "new": "json.loads(text[text.index('{') : text.rindex('}') + 1])"}
    for name, read in reads.items():
        package = tmp_path / name / "acme"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "parsers.py").write_text(f"import json\n\n\ndef parse(text):\n    return {read}\n")
    monkeypatch.chdir(tmp_path / "new")
    document = json.loads(compare("old=acme.parsers:parse@../old", "acme.parsers:parse", "--json").output)
    assert (document["only_a"], document["only_b"], document["compared"]) == (0, 1, 3)


def test_wrong_use_exits_with_2() -> None:
    assert compare("nobody", "fencepost").exit_code == 2 and compare("direct").exit_code == 2
    assert compare("direct", "fencepost", "--verdict", "x").exit_code == 2
