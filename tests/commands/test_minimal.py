"""`fencepost minimal`: prints the cut, says how it was reached, and exits 1 where nothing fails."""

from __future__ import annotations

import json

from click.testing import CliRunner

from webapp.cli import main


def test_it_prints_the_cut_and_says_how_on_standard_error() -> None:
    result = CliRunner().invoke(main, ["minimal"], input='{"tool": "run", "list": [1, 2,]}')
    assert (result.exit_code, result.stdout) == (0, "[1,]\n")
    assert "4 of 32 characters" in result.stderr and "no character can be left out" in result.stderr


def test_as_json_and_what_does_not_fail() -> None:
    result = CliRunner().invoke(main, ["minimal", "--json", "--profile", "direct"], input="{}")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "profile": "direct",
        "same": False,
        "exhausted": False,
        "tests": 1,
        "length": 2,
        "text": None,
    }
    assert "does not fail" in result.stderr


def test_an_unknown_profile_is_wrong_use() -> None:
    assert CliRunner().invoke(main, ["minimal", "--profile", "nobody"], input="{").exit_code == 2
