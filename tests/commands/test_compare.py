"""`fencepost compare` as a user runs it: the matrix in words and as JSON, what was not run, and wrong use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.store.made import BROKEN, CALL, entry, windlass
from webapp import jsontext
from webapp.cli import main
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.ingest.start import ingest
from webapp.store.jobs import runs


@pytest.fixture(autouse=True)
def stored(tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "store.sqlite3"
    file.write_bytes(migrated.read_bytes())
    settings = Settings(data=tmp_path, database=f"sqlite:///{file}")
    engine = database.connect(settings.database)
    (tmp_path / "dump.json").write_text(jsontext.dumps(windlass("s", [entry(CALL), entry(BROKEN), entry("nothing")])))
    with (tmp_path / "dump.json").open("rb") as source:
        ingest(engine, settings, source, filename="dump.json")
    runs.replay(engine, settings, "direct", processes=1)
    engine.dispose()
    monkeypatch.setenv("FENCEPOST_DATA", str(tmp_path))
    monkeypatch.setenv("FENCEPOST_DATABASE", settings.database)


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["compare", *arguments], catch_exceptions=False)


def test_the_matrix_in_words_and_as_json() -> None:
    result = compare("direct", "fencepost")
    assert result.exit_code == 0 and "         2  only B reads it" in result.output, result.output
    assert "exact sign test p = 0.5" in result.output
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
    result = compare("langchain", "fencepost")
    assert result.exit_code == 1 and "         3  A was not run over it" in result.output
    assert "langchain: not run over 3 responses: fencepost replay --profile langchain" in result.output


def test_wrong_use_exits_with_2() -> None:
    assert compare("nobody", "fencepost").exit_code == 2 and compare("direct").exit_code == 2
    assert compare("direct", "fencepost", "--verdict", "x").exit_code == 2
