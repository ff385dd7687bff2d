"""`fencepost token`: long enough, and never the same."""

from __future__ import annotations

import json

from click.testing import CliRunner

from webapp.commands.token import command
from webapp.config import SHORTEST_TOKEN


def test_each_token_is_new_and_long_enough() -> None:
    first, second = (CliRunner().invoke(command, []).output.strip() for _ in range(2))
    assert first != second and min(len(first), len(second)) > SHORTEST_TOKEN


def test_as_json() -> None:
    assert len(json.loads(CliRunner().invoke(command, ["--json"]).output)["token"]) > SHORTEST_TOKEN
