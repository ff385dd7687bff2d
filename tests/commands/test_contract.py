"""`fencepost contract`: says what is broken, draws it, and exits with 1; without a database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from sqlalchemy import orm

from tests.commands.conftest import Run
from tests.dumps.formats.test_otlp import span, trace
from webapp.capture import specs
from webapp.cli import main
from webapp.store.db import database
from webapp.store.models import Turn
from webapp.store.sessions import turn_facts

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = [{"type": "function", "function": {"name": "count", "parameters": SCHEMA}}]


def dump(folder: Path, arguments: str, tools: object = TOOLS) -> str:
    call = {"id": "c", "type": "function", "function": {"name": "count", "arguments": arguments}}
    choice = {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
    request = {"model": "m", "messages": [{"role": "user", "content": "go"}]} | ({"tools": tools} if tools else {})
    path = folder / "log.jsonl"
    path.write_text(
        f"{json.dumps({'request': request, 'response': {'object': 'chat.completion', 'choices': [choice]}})}\n"
    )
    return str(path)


def test_a_broken_call_is_drawn(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["contract", dump(tmp_path, '{"n": "two"}')])
    assert result.exit_code == 1
    assert result.stdout.split("\n")[:4] == [
        "✕ log turn 1 count: schema_mismatch",
        '    `n` must be an integer, and is "two"',
        '    {"n": "two"}',
        "          ^^^^^",
    ]


def test_the_gate_fails_where_a_stored_call_breaks_its_contract(run: Run, tmp_path: Path) -> None:
    assert run("ingest", dump(tmp_path, '{"n": "two"}')).exit_code == 0
    result = run("check", "--contract")
    assert result.exit_code == 1
    assert (
        '✕ log turn 1 count: schema_mismatch: `n` must be an integer, and is "two"\n1 schema_mismatch' in result.stdout
    )
    assert json.loads(run("check", "--contract", "--json").stdout)["states"] == {"schema_mismatch": 1}
    unseen = run("check", "--contract", "--model", "other")
    assert (unseen.exit_code, unseen.stderr) == (
        1,
        "Error: no response is in view, so none was held against its contract\n",
    )
    other = run("check", "--contract", "unknown_name")
    assert (other.exit_code, "no response breaks its contract" in other.stdout) == (0, True)
    assert "1 of 1 response held against a contract" in other.stdout, "a filter by state changes nothing of it"
    assert run("check").exit_code == 2


def test_tools_are_told_for_stored_calls(run: Run, tmp_path: Path) -> None:
    log = dump(tmp_path, '{"n": "two"}', tools=None)
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps(TOOLS))
    assert run("ingest", log).exit_code == 0
    undeclared = run("check", "--contract")
    assert (undeclared.exit_code, "0 of 1 response held against a contract" in undeclared.stdout) == (0, True)
    assert "1 call is held against" in run("ingest", "--tools", str(tools), log).stdout
    (broken,) = json.loads(run("check", "--contract", "--json").stdout)["responses"]
    assert (broken["contract"]["source"], broken["contract"]["state"]) == ("file", "schema_mismatch")
    tools.write_text(json.dumps([{"name": "count"}]))
    assert run("ingest", "--tools", str(tools), log).exit_code == 0 and run("check", "--contract").exit_code == 0
    assert (
        run("ingest", "--tools", log, log).exit_code == run("ingest", "--tools", str(tools), "--watch", log).exit_code
    )


def test_a_kept_call_as_json(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["contract", "--json", dump(tmp_path, '{"n": 2}')])
    document = json.loads(result.stdout)
    assert result.exit_code == 0 and document["states"]["kept"] == 1 == sum(document["states"].values())
    assert document["responses"] == [
        {
            "session": "log",
            "position": 1,
            "model": "m",
            "host": None,
            "arguments": "written",
            "stop": {"reason": "tool_call", "said": "tool_calls"},
            "contract": {
                "state": "kept",
                "tool": "count",
                "source": "request",
                "reason": None,
                "mismatches": [],
                "more": 0,
            },
        }
    ]


@pytest.mark.parametrize(
    "given",
    [
        TOOLS,
        {"tools": TOOLS},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "count", "inputSchema": SCHEMA}]}},
        {"name": "count", "input_schema": SCHEMA},
    ],
)
def test_tools_of_a_file_hold_where_the_log_has_none(given: object, tmp_path: Path) -> None:
    folder = tmp_path / "tools"
    folder.mkdir()
    (folder / "count.json").write_text(json.dumps(given))
    without = dump(tmp_path, "{}", None)
    for named in (folder, folder / "count.json"):
        result = CliRunner().invoke(main, ["contract", "--json", "--tools", str(named), without])
        (response,) = json.loads(result.stdout)["responses"]
        assert result.exit_code == 1 and response["contract"]["source"] == "file"
    assert CliRunner().invoke(main, ["contract", without]).exit_code == 0


def test_a_service_has_its_tools(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.fencepost.tools]\nshop = "shop.json"\n')
    (tmp_path / "shop.json").write_text(json.dumps({"result": {"tools": [{"name": "count", "inputSchema": SCHEMA}]}}))
    calls = [{"type": "tool_call", "id": str(n), "name": "count", "arguments": {"n": n}} for n in (1, "two")]
    said = span({"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": calls}])})
    for service in ("shop", "bank"):
        (tmp_path / f"{service}.log").write_text(trace(said, resource={"service.name": service}))
    held = [json.loads(run("contract", "--json", f"{service}.log").stdout) for service in ("shop", "bank")]
    told = [[(one["contract"]["state"], one["contract"]["source"]) for one in each["responses"]] for each in held]
    assert told == [[("kept", "file"), ("schema_mismatch", "file")], [("not_declared", None)] * 2]
    assert run("ingest", "shop.log").exit_code == 0
    (broken,) = json.loads(run("check", "--contract", "--json").stdout)["responses"]
    assert broken["contract"]["source"] == "file"
    with orm.Session(database.connect(f"sqlite:///{tmp_path / 'data' / 'fencepost.sqlite3'}")) as db:
        calls = db.scalars(sa.select(Turn).where(Turn.kind == "tool_call").order_by(Turn.id)).all()
        assert [(turn_facts.contract_of(db, call) or {})["source"] for call in calls] == ["file", "file"]
    (tmp_path / "pyproject.toml").write_text('[tool.fencepost.tools]\nshop = "pyproject.toml"\n')
    specs._files.cache_clear()
    assert "no JSON" in run("contract", "shop.log").stderr and run("ingest", "shop.log").exit_code == 2


def test_wrong_use(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("[]")
    log = dump(tmp_path, "{}")
    assert CliRunner().invoke(main, ["contract", "--tools", str(bad), log]).exit_code == 2
    assert CliRunner().invoke(main, ["contract", str(tmp_path / "none")]).exit_code == 2
