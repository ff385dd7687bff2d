"""Reads which parsers of their own people configured: FENCEPOST_PROFILES, and [tool.fencepost] of a pyproject.toml."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from webapp.refusals import WrongUse

KEYS = frozenset({"profiles", "python", "folder", "seconds", "memory", "schemas", "tools"})


class BadSpec(WrongUse):
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


VARIABLE = "FENCEPOST_PROFILES"
COMMAND = "cmd:"
LONGEST_NAME = 200
"""characters; a name is a key in the database"""
_NAMED = re.compile(r"([A-Za-z0-9][\w.-]*)=(.+)", re.DOTALL)
_PYTHON = re.compile(r"(?P<module>[\w./\\~ -]+):(?P<function>[A-Za-z_][\w.]*)(?:@(?P<place>.+))?", re.DOTALL)
_PART = re.compile(r"""(?:'[^']*'|"[^"]*"|[^,'"])+""")
_OPTION = r"\s+--(?:depends|value|folder)[ =](?:'[^']*'|\"[^\"]*\"|\S+)"
_OPTIONS = re.compile(rf"(.*?)((?:{_OPTION})*)\s*", re.DOTALL)


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

    `target` is `module:function` or `file.py:function`, or after `cmd:` a command line. `value` is the dotted path to
    the value in what it gives, "" for all of it; `depends` names files and folders that its version covers as well.
    """

    name: str
    target: str
    value: str = ""
    depends: tuple[str, ...] = ()

    @property
    def command(self) -> str | None:
        """The command line, None for a Python callable."""
        return self.target.removeprefix(COMMAND) if self.target.startswith(COMMAND) else None


def configured(environ: Mapping[str, str] = os.environ) -> Mapping[str, ParserSpec]:
    """The configured parsers by name, as the environment and the working folder say now. Raises `BadSpec`."""
    return _configured(environ.get(VARIABLE, ""), str(Path.cwd()))


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


def add_at(spec: ParserSpec, name: str, folder: Path) -> str:
    """Configure a parser once more as `name`, run and imported from another folder; that name. Raises `BadSpec`."""
    target = shlex.quote(spec.target) if "," in spec.target else spec.target
    at = "" if spec.command else f"@{spec.python}"
    options = [("--folder", str(folder)), *([("--value", spec.value)] if spec.value else [])]
    options += [("--depends", path) for path in spec.depends]
    return add(f"{name}={target}{at}" + "".join(f" {option} {shlex.quote(value)}" for option, value in options))


def looks_like_one(text: str) -> bool:
    """Whether a profile's name says by its form that it is a parser of somebody's own."""
    bare = _cut(text)[0]
    match = _NAMED.fullmatch(bare)
    target = match[2] if match else bare
    return target.startswith(COMMAND) or _PYTHON.fullmatch(target) is not None


def _cut(text: str) -> tuple[str, list[tuple[str, str]]]:
    """A parser as it is named, and the options behind it by name."""
    match = _OPTIONS.fullmatch(text.strip())
    assert match is not None  # the pattern takes any text
    if any(match[1].count(quote) % 2 for quote in "'\""):
        return text.strip(), []  # they stand within a quoted command, whose own they are
    words = shlex.split(match[2].replace("=", " "))
    return match[1], list(zip(words[::2], words[1::2], strict=True))


def read(text: str, defaults: Defaults) -> list[ParserSpec]:
    """The parsers of a comma-separated list; a comma in quotes separates nothing."""
    return [read_one(part, defaults) for part in _parts(text, defaults.origin)]


def read_one(text: str, defaults: Defaults, name: str | None = None) -> ParserSpec:
    """One `module:function`, `module:function@place` or `cmd:…`, with `name=` before it or not, and options behind it.

    The place is an interpreter, or the folder of a checkout. Options: `--value PART`, `--depends PATH`, `--folder F`.
    """
    bare, options = _cut(text)
    spelled = _NAMED.fullmatch(bare)
    name, target = (spelled[1], spelled[2].strip()) if spelled and name is None else (name, bare)
    for option, value in options:
        defaults = replace(defaults, folder=defaults.folder / value) if option == "--folder" else defaults
    if target.startswith(COMMAND):
        command = _unquoted(target.removeprefix(COMMAND))
        if not command:
            raise BadSpec(f"{defaults.origin}: cmd: names no command")
        target = COMMAND + command
    else:
        match = _PYTHON.fullmatch(target)
        if match is None:
            raise BadSpec(f"{defaults.origin}: {text!r} is neither module:function, module:function@place nor cmd:…")
        target = f"{match['module']}:{match['function']}"
        defaults = _at(match["place"], defaults) if match["place"] else defaults
    name = name or target
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise BadSpec(f"{defaults.origin}: {name[:40]!r}… is too long for a name; give it one: name={target[:20]}…")
    depends = tuple(value for option, value in options if option == "--depends")
    part = dict(options).get("--value", "")
    return ParserSpec(name=name, target=target, value=part, depends=depends, **asdict(defaults))


def _at(place: str, defaults: Defaults) -> Defaults:
    """The same by another interpreter, or in another checkout: in its folder, or the one that its pyproject names."""
    for folder in (Path.cwd() / place, defaults.folder / place):
        if folder.is_dir():
            theirs = project(folder)[0] if section_above(folder)[0] == folder / "pyproject.toml" else None
            return replace(defaults, folder=theirs.folder if theirs else folder.resolve())
    return replace(defaults, python=_interpreter(place, defaults.folder))


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
    unknown = sorted(set(section) - KEYS)
    if unknown:
        raise BadSpec(f"{path}: [tool.fencepost] knows no {unknown[0]!r}; it takes {', '.join(sorted(KEYS))}")
    home = path.parent
    root = home / Path(text_of(section, "folder", path, ".")).expanduser()
    python = text_of(section, "python", path, "")
    limits = limit_of(section, "seconds", path, 10.0), int(limit_of(section, "memory", path, 4096) * (1 << 20))
    defaults = Defaults(_interpreter(python, home) if python else sys.executable, root, str(path), *limits)
    return defaults, _listed(section.get("profiles", []), defaults)


def _listed(profiles: Any, defaults: Defaults) -> list[ParserSpec]:
    """`profiles = ["module:function", …]`, or [tool.fencepost.profiles] with `name = "module:function"`."""
    if isinstance(profiles, dict) and all(isinstance(text, str) for text in profiles.values()):
        return [read_one(text, defaults, name) for name, text in profiles.items()]
    if isinstance(profiles, list) and all(isinstance(text, str) for text in profiles):
        return [read_one(text, defaults) for text in profiles]
    raise BadSpec(f"{defaults.origin}: profiles must be a list of texts, or a table of texts by name")


def _interpreter(text: str, folder: Path) -> str:
    """A path counts from `folder`, a bare name is looked up on PATH; links stay, since a venv's Python is one."""
    path = Path(text.strip()).expanduser()
    return str(path) if len(path.parts) == 1 else str(folder / path)


def _unquoted(text: str) -> str:
    text = text.strip()
    whole = len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and text[0] not in text[1:-1]
    return text[1:-1].strip() if whole else text


def _parts(text: str, origin: str) -> Iterable[str]:
    if rest := _PART.sub("", text).strip(","):
        raise BadSpec(f"{origin}: a {rest[0]} is opened and not closed: {text[text.rindex(rest[0]) :].strip()!r}")
    return filter(str.strip, _PART.findall(text))
