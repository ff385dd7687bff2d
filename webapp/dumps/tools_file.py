"""Tools that a file declares for a log that does not: OpenAI's list, an MCP server's `tools/list`, a folder of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from webapp.capture import specs
from webapp.dumps.messages.declarations import declared_in
from webapp.refusals import WrongUse


class BadTools(WrongUse):
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
        tools = _declared(value)
        if tools is None:
            raise BadTools(f"{file}: no tools are declared in it")
        declared = {**declared, **tools, "tools": [*declared["tools"], *tools.get("tools", ())]}
    if not files:
        raise BadTools(f"{path}: no file *.json is in it")
    return declared


def of_service(service: str | None) -> dict[str, Any] | None:
    """What [tool.fencepost.tools] names for the requests of a service that declare no tools. Raises `BadSpec`."""
    return configured().get(service) if service else None


def configured() -> Mapping[str, dict[str, Any]]:
    """The tools that are configured for each service, as their files were when they were first asked for.

    Raises `BadSpec`.
    """
    return _read_all(tuple(specs.tools().items()))


@lru_cache(maxsize=16)
def _read_all(files: tuple[tuple[str, Path], ...]) -> Mapping[str, dict[str, Any]]:
    try:
        return {service: read_tools(path) for service, path in files}
    except (OSError, BadTools) as reason:
        raise specs.BadSpec(f"[tool.fencepost.tools]: {reason}") from None


def _declared(value: Any) -> dict[str, Any] | None:
    if isinstance(value, list):
        value = {"tools": value}
    elif isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    elif isinstance(value, dict) and "tools" not in value and ("name" in value or "function" in value):
        value = {"tools": [value]}
    return declared_in(value)
