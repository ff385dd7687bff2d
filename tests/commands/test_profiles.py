"""`fencepost profiles`, and what every profile has to say about itself."""

from __future__ import annotations

import json

from click.testing import CliRunner

from webapp.cli import main
from webapp.parsing import profiles

REPORTED = {
    "fire-circle": "000",
    "fire-circle-strict": "000",
    "fire-circle-before": "000",
    "windlass-eager": "001",
    "windlass-silent": "004",
    "windlass-strict": "001",
    "windlass-balanced": "004",
    "master-before": "002",
    "master-scored": "002",
    "four-tier": "003",
}


def listed() -> dict[str, dict[str, str]]:
    result = CliRunner().invoke(main, ["profiles", "--json"])
    assert result.exit_code == 0
    return {entry["name"]: entry for entry in json.loads(result.stdout)}


def test_every_reported_parser_is_there_with_its_report():
    assert {name: entry["report"] for name, entry in listed().items() if entry["report"]} == REPORTED
    assert {"direct", "json-repair"} <= set(listed())


def test_each_says_what_it_is_and_does():
    for name in (*REPORTED, "direct", "json-repair"):
        entry = listed()[name]
        assert entry["help"].endswith(".") and len(entry["about"]) > 100 and entry["version"], name


def test_readable_is_a_line_each_and_about_says_more():
    short = CliRunner().invoke(main, ["profiles"]).stdout
    assert len(short.strip().split("\n")) == len(profiles())
    assert "windlass-balanced" in short
    assert "report 004" in short
    long = CliRunner().invoke(main, ["profiles", "--about"]).stdout
    assert "Differences from its report" in long
