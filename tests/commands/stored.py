"""What the tests of commands with a database share: run the program, files to ingest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from webapp.cli import main

BROKEN = '```json\n{"tool": "run_code", "arguments": {"code": "1"}}}}\n```'
Run = Callable[..., Result]


def runner(data: Path) -> Run:
    """A function that runs `fencepost` with its data in a folder of the test's own; keywords are the environment."""

    def run(*arguments: str, given: bytes | None = None, **environment: str) -> Result:
        variables = {"FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": "", **environment}
        return CliRunner().invoke(main, arguments, input=given, env=variables, catch_exceptions=False)

    return run


def dump(path: Path, session_id: str, *texts: str) -> Path:
    """A Windlass dump of a session with these responses."""
    entries: list[dict[str, Any]] = [{"node_type": "agent", "role": "agent", "content": text} for text in texts]
    path.write_text(json.dumps({"session_id": session_id, "entries": entries}))
    return path
