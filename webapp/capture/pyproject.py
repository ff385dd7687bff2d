"""[tool.fencepost] of the nearest pyproject.toml: the section, its values, and the JSON Schemas and tools it names."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

KEYS = frozenset({"profiles", "python", "folder", "seconds", "memory", "schemas", "tools"})


class BadSpec(ValueError):
    """A configured parser cannot be meant; the message names the place and what it takes."""


def section_above(folder: Path) -> tuple[Path | None, dict[str, Any]]:
    """The nearest pyproject.toml with [tool.fencepost], and that section. Raises `BadSpec`."""
    for parent in (folder, *folder.parents):
        path = parent / "pyproject.toml"
        try:
            section = tomllib.loads(path.read_text("utf-8")).get("tool", {}).get("fencepost")
        except (OSError, UnicodeDecodeError):
            continue
        except tomllib.TOMLDecodeError as error:
            raise BadSpec(f"{path}: {error}") from None
        if isinstance(section, dict):
            return path, section
    return None, {}


def schemas() -> Mapping[str, Path]:
    """The JSON Schemas that values are held against, by profile's name or `phase:` and a phase. Raises `BadSpec`."""
    return _schemas(str(Path.cwd()))


def tools() -> Mapping[str, Path]:
    """Files, or folders of them, with the tools of each service whose requests declare none. Raises `BadSpec`."""
    return _files("tools", "service", str(Path.cwd()))


@lru_cache(maxsize=16)
def _schemas(folder: str) -> Mapping[str, Path]:
    files = _files("schemas", "profile or phase:…", folder)
    for name, file in files.items():
        try:
            json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise BadSpec(f"{file}: the schema of {name} cannot be read: {error}") from None
    return files


@lru_cache(maxsize=16)
def _files(key: str, of: str, folder: str) -> Mapping[str, Path]:
    path, section = section_above(Path(folder))
    table = section.get(key, {})
    if not isinstance(table, dict) or not all(isinstance(text, str) for text in table.values()):
        raise BadSpec(f"{path}: {key} of [tool.fencepost] must be a table of files by {of}")
    return {name: (path.parent if path else Path()) / text for name, text in table.items()}


def text_of(section: Mapping[str, Any], key: str, path: Path, default: str) -> str:
    value = section.get(key, default)
    if not isinstance(value, str):
        raise BadSpec(f"{path}: {key} of [tool.fencepost] must be a text, not {value!r}")
    return value


def limit_of(section: Mapping[str, Any], key: str, path: Path, default: float) -> float:
    value = section.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise BadSpec(f"{path}: {key} of [tool.fencepost] must be a number above 0, not {value!r}")
    return float(value)
