"""Tools that a file declares for a log that does not: OpenAI's list, an MCP server's `tools/list`, a folder of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from webapp.dumps.messages.declarations import declared_in


class BadTools(ValueError):
    """A file of tools that declares none; the message says which and why."""


def read_tools(path: Path) -> dict[str, Any]:
    """What a file, or each `.json` file of a folder, declares. Raises `BadTools` and `OSError`."""
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    declared: dict[str, Any] = {"tools": []}
    for file in files:
        try:
            value = json.loads(file.read_bytes())
        except (ValueError, RecursionError) as error:
            raise BadTools(f"{file}: no JSON: {error}") from None
        read = _declared(value)
        if read is None:
            raise BadTools(f"{file}: no tools are declared in it")
        declared = {**declared, **read, "tools": [*declared["tools"], *read.get("tools", ())]}
    if not files:
        raise BadTools(f"{path}: no file *.json is in it")
    return declared


def _declared(value: Any) -> dict[str, Any] | None:
    if isinstance(value, list):
        value = {"tools": value}
    elif isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    elif isinstance(value, dict) and "tools" not in value and ("name" in value or "function" in value):
        value = {"tools": [value]}
    return declared_in(value)
