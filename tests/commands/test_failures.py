"""`fencepost failures`: groups in words and as JSON, and an exit code that an alarm can use."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.commands.stored import Run, runner

KEY = "v1|trailing comma|whole|alone"


@pytest.fixture
def run(tmp_path: Path, data: Path) -> Run:
    run = runner(data)
    now = datetime.now(UTC)
    rows: list[dict[str, Any]] = [
        {"session_id": "s", "kind": "response", "model": "m", "text": text, "recorded_at": (now - ago).isoformat()}
        for text, ago in (
            ('{"a": 1,}', timedelta(days=40)),
            ("{}", timedelta(days=39)),
            ("'a': 1}", timedelta(minutes=20)),
        )
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("ingest", "--home", "direct", str(path)).exit_code == 0
    return run


def test_groups_in_words_and_as_json(run: Run) -> None:
    done = run("failures")
    assert done.exit_code == 0
    assert done.stdout.startswith("2 failure groups, 2 of 3 responses failed\n")
    assert "trailing comma — alone\n" in done.stdout and f" {KEY}\n" in done.stdout and "(33.3%)" in done.stdout
    assert "and 1 more" in run("failures", "--limit", "1").stdout
    document = json.loads(run("failures", "--json", "--model", "m").stdout)
    assert document["total"] == 2 and document["responses"]["run"] == 3
    assert (
        "not known of 3 responses: json-repair was not run on them" in run("failures", "--under", "json-repair").stdout
    )


def test_new_ones_are_an_exit_code(run: Run) -> None:
    new = run("failures", "--new", "--since", "1h", "--json")
    assert new.exit_code == 1
    assert [group["new"] for group in json.loads(new.stdout)["failures"]] == [True]
    none = run("failures", "--new", "--since", "5m")
    assert none.exit_code == 0 and none.stdout.startswith("0 new failure groups")
    assert run("failures", "--since", "soon").exit_code == 2
