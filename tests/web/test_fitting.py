"""Values held against the JSON Schema of a profile or a phase: what does not fit is said with its path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask.testing import FlaskClient

from tests.web.pages import session
from webapp.capture.specs import BadSpec, schemas
from webapp.cli import main
from webapp.extensions import db
from webapp.fitting import is_held, misfits
from webapp.store import derive

SCHEMA = {
    "type": "object",
    "properties": {"steps": {"type": "array", "items": {"type": "integer"}}},
    "required": ["steps"],
}
CONFIGURED = '[tool.fencepost.schemas]\ndirect = "plan.json"\n"phase:plan" = "plan.json"\n'


@pytest.fixture
def schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a schema for the profile `direct` and for the phase `plan`."""
    (tmp_path / "pyproject.toml").write_text(CONFIGURED)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(SCHEMA))
    monkeypatch.chdir(tmp_path)
    return file


def test_a_value_that_does_not_fit_is_said_with_its_path(schema: Path) -> None:
    (misfit,) = misfits([{"steps": [1, "two"]}], "direct")
    assert (misfit.value, misfit.path, misfit.schema) == (0, "$.steps[1]", "plan.json")
    assert misfit.sentence == 'does not fit plan.json at $.steps[1]: `steps[1]` must be an integer, and is "two"'
    assert misfits([{"steps": [1]}], "direct") == []
    assert [each.value for each in misfits([{"steps": []}, {}], "fencepost", "plan")] == [1]
    assert not is_held("fencepost", "other") and misfits([{}], "fencepost", "other") == []


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"type": "no type"}, "the schema does not compile"),
        ({"$ref": "http://127.0.0.1:1/other.json"}, "nothing is fetched"),
    ],
)
def test_a_schema_that_cannot_be_used_is_said_to_be_one(schema: Path, document: dict[str, Any], words: str) -> None:
    schema.write_text(json.dumps(document))
    (misfit,) = misfits([{}], "direct")
    assert misfit.path == "" and words in misfit.sentence
    assert misfit.sentence.startswith("was not held against plan.json: ")


def test_a_schema_that_cannot_be_read_stops_the_start(schema: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(CONFIGURED.replace("plan.json", "gone.json"))
    with pytest.raises(BadSpec, match="the schema of direct cannot be read"):
        schemas()


def test_command_page_api_and_markdown_say_it(schema: Path, client: FlaskClient) -> None:
    text = '{"steps": ["one"]}'
    shown = CliRunner().invoke(main, ["parse", "--profile", "direct"], input=text)
    assert "direct: value 1 does not fit plan.json at $.steps[0]" in shown.output
    printed = CliRunner().invoke(main, ["parse", "--profile", "direct", "--json"], input=text)
    assert json.loads(printed.output)["misfits"][0]["path"] == "$.steps[0]"
    client.post("/api/dumps?filename=s.json", data=session("s", text))
    assert "does not fit plan.json at $.steps[0]" in client.get("/sessions/s/turns/0?profile=direct").text
    assert client.get("/api/session/s/turns/0?profile=direct").json["misfits"][0]["path"] == "$.steps[0]"
    assert "misfits" not in client.get("/api/session/s/turns/0?profile=fencepost").json
    assert "What does not fit the schema" in client.get("/sessions/s/turns/0/markdown?profile=direct").text


def test_an_answer_that_does_not_fit_breaks_its_contract(schema: Path, client: FlaskClient) -> None:
    """Of its phase, under the session's parser; an answer of which nothing is read has none."""
    texts = ['Here: {"steps": ["one"]}', '{"steps": [1]}', "No plan."]
    messages = [{"role": "assistant", "phase": "plan", "content": text} for text in texts]
    client.post("/api/dumps?filename=s.json", data=json.dumps(messages))
    turns = [client.get(f"/api/session/s/turns/{position}").json for position in range(3)]
    assert [turn["contract"]["state"] for turn in turns] == ["schema_mismatch", "kept", "not_declared"]
    (mismatch,) = turns[0]["contract"]["mismatches"]
    assert (mismatch["path"], turns[0]["contract"]["source"]) == ("$.steps[0]", "file")
    assert texts[0][slice(*mismatch["span"])] == '"one"'
    assert client.get("/api/sessions?contract=schema_mismatch").json["total"] == 1
    assert client.get("/sessions/s/turns/0").text.count("must be an integer") == 1
    schema.write_text('{"type": "object"}')
    with client.application.app_context():
        assert derive.reindex(db.engine, every=True) == 1
    assert client.get("/api/sessions?contract=schema_mismatch").json["total"] == 0
