"""Reads which parsers of their own people configured: FENCEPOST_PROFILES, and [tool.fencepost] of a pyproject.toml."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

VARIABLE = "FENCEPOST_PROFILES"
COMMAND = "cmd:"
LONGEST_NAME = 200
"""characters; a name is a key in the database"""
_NAMED = re.compile(r"([A-Za-z0-9][\w.-]*)=(.+)", re.DOTALL)
_PYTHON = re.compile(r"(?P<module>[\w./\\~ -]+):(?P<function>[A-Za-z_][\w.]*)(?:@(?P<python>.+))?", re.DOTALL)
_KEYS = frozenset({"profiles", "python", "folder", "seconds", "memory", "schemas"})


class BadSpec(ValueError):
    """A configured parser cannot be meant; the message names the place and what it takes."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for every parser of one place: the interpreter `python`, and the `folder` in which it is run.

    A response may take `seconds` and `memory` bytes. `origin` is the setting that names the parsers.
    """

    python: str
    folder: Path
    origin: str
    seconds: float = 10.0
    memory: int = 4 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserSpec(Defaults):
    """A parser of somebody's own, called `name`.

    `target` is `module:function` or `file.py:function`, or after `cmd:` a command line.
    """

    name: str
    target: str

    @property
    def command(self) -> str | None:
        """The command line, None for a Python callable."""
        return self.target.removeprefix(COMMAND) if self.target.startswith(COMMAND) else None


def configured(environ: Mapping[str, str] = os.environ) -> Mapping[str, ParserSpec]:
    """The configured parsers by name, as the environment and the working folder say now. Raises `BadSpec`."""
    return _configured(environ.get(VARIABLE, ""), str(Path.cwd()))


def schemas() -> Mapping[str, Path]:
    """The JSON Schemas that values are held against, by profile's name or `phase:` and a phase. Raises `BadSpec`."""
    return _schemas(str(Path.cwd()))


@lru_cache(maxsize=16)
def _schemas(folder: str) -> Mapping[str, Path]:
    path, section = section_above(Path(folder))
    schemas = section.get("schemas", {})
    if not isinstance(schemas, dict) or not all(isinstance(text, str) for text in schemas.values()):
        raise BadSpec(f"{path}: schemas of [tool.fencepost] must be a table of files by profile or phase:…")
    files = {name: (path.parent if path else Path()) / text for name, text in schemas.items()}
    for name, file in files.items():
        try:
            json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise BadSpec(f"{path}: the schema of {name} cannot be read: {error}") from None
    return files


def add(text: str) -> str:
    """Configure one more parser, for this process and those that it starts; its name. Raises `BadSpec`."""
    here = Path.cwd()
    (spec,) = read(text, _from_environment(project(here)[0], here)) or (None,)
    if spec is None:
        raise BadSpec("a parser is named as module:function or cmd:…, and this is empty")
    if configured().get(spec.name) != spec:
        os.environ[VARIABLE] = ",".join(filter(None, (os.environ.get(VARIABLE), text)))
        configured()
    return spec.name


def looks_like_one(text: str) -> bool:
    """Whether a profile's name says by its form that it is a parser of somebody's own."""
    match = _NAMED.fullmatch(text.strip())
    target = match[2] if match else text.strip()
    return target.startswith(COMMAND) or _PYTHON.fullmatch(target) is not None


def read(text: str, defaults: Defaults) -> list[ParserSpec]:
    """The parsers of a comma-separated list; a comma in quotes separates nothing."""
    return [read_one(part, defaults) for part in _parts(text, defaults.origin)]


def read_one(text: str, defaults: Defaults, name: str | None = None) -> ParserSpec:
    """One `module:function`, `module:function@python` or `cmd:…`, with `name=` before it or not."""
    spelled = _NAMED.fullmatch(text.strip())
    name, target = (spelled[1], spelled[2].strip()) if spelled and name is None else (name, text.strip())
    python = defaults.python
    if target.startswith(COMMAND):
        command = _unquoted(target.removeprefix(COMMAND))
        if not command:
            raise BadSpec(f"{defaults.origin}: cmd: names no command")
        target = COMMAND + command
    else:
        match = _PYTHON.fullmatch(target)
        if match is None:
            raise BadSpec(f"{defaults.origin}: {text!r} is neither module:function, module:function@python nor cmd:…")
        target = f"{match['module']}:{match['function']}"
        python = _interpreter(match["python"], defaults.folder) if match["python"] else python
    name = name or target
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise BadSpec(f"{defaults.origin}: {name[:40]!r}… is too long for a name; give it one: name={target[:20]}…")
    return ParserSpec(name=name, target=target, **asdict(replace(defaults, python=python)))


@lru_cache(maxsize=16)
def _configured(variable: str, folder: str) -> Mapping[str, ParserSpec]:
    defaults, listed = project(Path(folder))
    from_variable = read(variable, _from_environment(defaults, Path(folder)))
    specs: dict[str, ParserSpec] = {}
    for spec in (*listed, *from_variable):
        earlier = specs.get(spec.name)
        if earlier is not None and earlier.origin == spec.origin and earlier != spec:
            raise BadSpec(f"{spec.origin}: two parsers are called {spec.name!r}; tell them apart by name=…")
        specs[spec.name] = spec
    return specs


def _from_environment(defaults: Defaults | None, folder: Path) -> Defaults:
    """The project's defaults hold for the variable as well, so that python = is said once."""
    return replace(defaults, origin=VARIABLE) if defaults else Defaults(sys.executable, folder, VARIABLE)


def project(folder: Path) -> tuple[Defaults | None, list[ParserSpec]]:
    """[tool.fencepost] of the nearest pyproject.toml that has one, from `folder` upwards. Raises `BadSpec`."""
    path, section = section_above(folder)
    if path is None:
        return None, []
    unknown = sorted(set(section) - _KEYS)
    if unknown:
        raise BadSpec(f"{path}: [tool.fencepost] knows no {unknown[0]!r}; it takes {', '.join(sorted(_KEYS))}")
    home = path.parent
    root = home / Path(_text(section, "folder", path, ".")).expanduser()
    python = _text(section, "python", path, "")
    limits = _limit(section, "seconds", path, 10.0), int(_limit(section, "memory", path, 4096) * (1 << 20))
    defaults = Defaults(_interpreter(python, home) if python else sys.executable, root, str(path), *limits)
    return defaults, _listed(section.get("profiles", []), defaults)


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


def _listed(profiles: Any, defaults: Defaults) -> list[ParserSpec]:
    """`profiles = ["module:function", …]`, or [tool.fencepost.profiles] with `name = "module:function"`."""
    if isinstance(profiles, dict) and all(isinstance(text, str) for text in profiles.values()):
        return [read_one(text, defaults, name) for name, text in profiles.items()]
    if isinstance(profiles, list) and all(isinstance(text, str) for text in profiles):
        return [read_one(text, defaults) for text in profiles]
    raise BadSpec(f"{defaults.origin}: profiles must be a list of texts, or a table of texts by name")


def _text(section: Mapping[str, Any], key: str, path: Path, default: str) -> str:
    value = section.get(key, default)
    if not isinstance(value, str):
        raise BadSpec(f"{path}: {key} of [tool.fencepost] must be a text, not {value!r}")
    return value


def _limit(section: Mapping[str, Any], key: str, path: Path, default: float) -> float:
    value = section.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise BadSpec(f"{path}: {key} of [tool.fencepost] must be a number above 0, not {value!r}")
    return float(value)


def _interpreter(text: str, folder: Path) -> str:
    """A path counts from `folder`, a bare name is looked up on PATH; links stay, since a venv's Python is one."""
    path = Path(text.strip()).expanduser()
    return str(path) if len(path.parts) == 1 else str(folder / path)


def _unquoted(text: str) -> str:
    text = text.strip()
    whole = len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and text[0] not in text[1:-1]
    return text[1:-1].strip() if whole else text


def _parts(text: str, origin: str) -> Iterable[str]:
    part, quote = "", ""
    for character in text:
        if character == "," and not quote:
            yield from filter(str.strip, (part,))
            part = ""
            continue
        if character in "'\"" and quote in ("", character):
            quote = "" if quote else character
        part += character
    if quote:
        raise BadSpec(f"{origin}: a {quote} is opened and not closed: {part.strip()!r}")
    yield from filter(str.strip, (part,))
