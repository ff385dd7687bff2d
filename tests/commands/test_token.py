"""`fencepost token`: long enough, and never the same."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from webapp.commands.token import command
from webapp.config import SHORTEST_TOKEN, BadSetting, Settings


def test_each_token_is_new_and_long_enough() -> None:
    first, second = (CliRunner().invoke(command, []).output.strip() for _ in range(2))
    assert first != second and min(len(first), len(second)) > SHORTEST_TOKEN


def test_as_json() -> None:
    assert len(json.loads(CliRunner().invoke(command, ["--json"]).output)["token"]) > SHORTEST_TOKEN


def test_a_short_secret_key_is_refused_in_words() -> None:
    with pytest.raises(BadSetting, match="32 characters or more; fencepost token makes one"):
        Settings.from_environment({"FENCEPOST_SECRET_KEY": "k" * 31})
    made = CliRunner().invoke(command, []).output.strip()
    assert Settings.from_environment({"FENCEPOST_SECRET_KEY": made}).secret_key == made
