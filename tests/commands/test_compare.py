"""`fencepost compare` as a user runs it: the matrix in words and as JSON, what was not run, and wrong use."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from tests.commands.stored import Run, dump
from tests.store.made import BROKEN, CALL
from webapp.cli import main
from webapp.store.db import database
from webapp.store.models import FacetValue, Parse, SessionFacet


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


def test_before_and_after_a_change_of_ones_own_parser(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The revision runs with the modules that it had then, in a worktree that is gone behind it."""
    package = tmp_path / "project" / "src" / "acme"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "parsers.py").write_text("def parse(text):\n    from acme.inner import read\n\n    return read(text)\n")
    (package / "inner.py").write_text("import json\n\n\ndef read(text):\n    return json.loads(text)\n")
    top = tmp_path / "project"
    (top / "pyproject.toml").write_text('[tool.fencepost]\nfolder = "src"\n')
    git = ["git", "-C", str(top), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    inner = "import json\n\n\ndef read(text):\n    return json.loads(text[text.index('{') : text.rindex('}') + 1])\n"
    (package / "inner.py").write_text(inner)
    monkeypatch.chdir(top)
    document = json.loads(compare("--before", "HEAD", "acme.parsers:parse", "--json").output)
    assert document["a"].startswith("acme-parsers-parse-") and document["b"] == "acme.parsers:parse"
    assert (document["only_a"], document["only_b"], document["compared"]) == (0, 1, 3)
    assert len(subprocess.run([*git, "worktree", "list"], capture_output=True).stdout.splitlines()) == 1
    engine = database.connect(f"sqlite:///{data / 'fencepost.sqlite3'}")
    with engine.connect() as stored:
        names = set(stored.scalars(sa.select(Parse.profile)))
        counted = set(
            stored.scalars(sa.select(FacetValue.name).where(FacetValue.id.in_(sa.select(SessionFacet.value_id))))
        )
    assert "acme.parsers:parse" in names and "verdict acme.parsers:parse" in counted
    assert document["a"] not in names and f"verdict {document['a']}" not in counted
    engine.dispose()
    refused = compare("--before", "no-such-revision", "acme.parsers:parse")
    assert refused.exit_code == 2 and "Needed a single revision" in refused.output
    assert "'direct' is none" in compare("--before", "HEAD", "direct").output


def test_wrong_use_exits_with_2() -> None:
    assert compare("nobody", "fencepost").exit_code == 2 and compare("direct").exit_code == 2
    assert compare("direct", "fencepost", "--verdict", "x").exit_code == 2
