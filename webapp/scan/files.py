"""The files to scan, newest first: regular files alone, no link out of its folder; and where a text stands in one."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from webapp.dumps.sqlite_tables import SQLITE

_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
PLACES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("places.toml").read_text("utf-8"))


def folders(environ: Mapping[str, str], here: Path) -> dict[str, list[Path]]:
    """What each name in braces of `PLACES` stands for, as its program reads the environment."""
    home = Path(environ.get("HOME") or Path.home())
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    support = home / "Library" / "Application Support" if sys.platform == "darwin" else config
    return {
        "home": [home],
        "here": [here],
        "data": list(dict.fromkeys([data, home / ".local" / "share"])),
        "support": [support],
        "code": [*(support / editor for editor in _EDITORS), home / ".vscode-server" / "data"],
        "claude": [Path(folder) for folder in (environ.get("CLAUDE_CONFIG_DIR") or str(home / ".claude")).split(",")],
        "codex": [Path(environ.get("CODEX_HOME") or home / ".codex")],
        "llm": [Path(environ.get("LLM_USER_PATH") or support / "io.datasette.llm")],
    }


def logs_of(program: str, names: Mapping[str, list[Path]]) -> Iterator[tuple[Path, str]]:
    """The folders in which a program's logs may be, each with the glob of their names."""
    for pattern in PLACES[program]:
        folder, _, names_there = pattern.partition("//")
        name, _, below_it = folder[1:].partition("}")
        for root in names[name]:
            yield root / below_it.removeprefix("/"), names_there


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file to scan: `name` is what its format may go by, `asked` whether somebody named it."""

    path: str
    name: str
    bytes: int
    modified: float
    """seconds since 1970"""
    program: str | None = None
    asked: bool = False


@dataclass(slots=True)
class FoundLogs:
    """The files to scan, and what is not scanned: files with the reason, programs without logs, how many are older."""

    files: list[LogFile] = field(default_factory=list)
    not_read: list[tuple[str, str]] = field(default_factory=list)
    programs: dict[str, int] = field(default_factory=dict)
    """of each program that Fencepost looked for, how many logs there are"""
    older: int = 0

    def newest_first(self, since: float | None) -> FoundLogs:
        """Without those that were last written before `since`."""
        files = sorted(self.files, key=lambda file: (-file.modified, file.path))
        young = [file for file in files if since is None or file.asked or file.modified >= since]
        return FoundLogs(young, self.not_read, self.programs, len(files) - len(young))


def on_this_machine(environ: Mapping[str, str], here: Path, since: float | None) -> FoundLogs:
    """The logs of the programs that Fencepost knows, where these keep them."""
    logs, names = FoundLogs(), folders(environ, here)
    for program in PLACES:
        before = len(logs.files)
        for root, pattern in dict.fromkeys(logs_of(program, names)):  # one folder may have two names
            if root.is_dir():
                _add(logs, sorted(set(_matching(root, pattern, logs))), root, program)
        logs.programs[program] = len(logs.files) - before
    return logs.newest_first(since)


def below(paths: Iterable[str], since: float | None) -> FoundLogs:
    """The files that somebody named, and all files of the folders that they named but hidden ones."""
    logs = FoundLogs()
    for name in paths:
        path = Path(name)
        if path.is_dir():
            _add(logs, walked(path, partial(_refused, logs)), path, None)
        else:
            _add_one(logs, path, path.name, None, asked=True)
    return logs.newest_first(since)


def walked(folder: Path, refused: Callable[[OSError], object]) -> Iterator[Path]:
    """The files in a folder and its folders, sorted, but hidden ones; `refused` gets what cannot be looked into."""
    for top, folders_, names in os.walk(folder, onerror=refused):
        folders_[:] = sorted(child for child in folders_ if not child.startswith(".") and child != "__MACOSX")
        yield from (Path(top, name) for name in sorted(names) if not name.startswith("."))


def _refused(logs: FoundLogs, error: OSError) -> None:
    logs.not_read.append((str(error.filename), error.strerror or str(error)))


def _matching(root: Path, pattern: str, logs: FoundLogs) -> Iterator[Path]:
    try:
        yield from root.glob(pattern)
    except OSError as error:
        _refused(logs, error)


def _add(logs: FoundLogs, paths: Iterable[Path], root: Path, program: str | None) -> None:
    real = root.resolve()
    for path in paths:
        if path.resolve().is_relative_to(real):
            _add_one(logs, path, path.relative_to(root).as_posix(), program)
        else:
            logs.not_read.append((str(path), "a link out of its folder"))


def _add_one(logs: FoundLogs, path: Path, name: str, program: str | None, *, asked: bool = False) -> None:
    try:
        status = path.stat()
        readable = os.access(path, os.R_OK)
    except OSError as error:
        logs.not_read.append((str(path), error.strerror or str(error)))
        return
    if not stat.S_ISREG(status.st_mode):
        if not stat.S_ISDIR(status.st_mode):
            logs.not_read.append((str(path), "no regular file"))
    elif not readable:
        logs.not_read.append((str(path), "Permission denied"))
    elif status.st_size:
        logs.files.append(LogFile(str(path), name, status.st_size, status.st_mtime, program, asked))
    elif asked:
        logs.not_read.append((str(path), "empty"))


SECTION = 1 << 20
HEAD = 200
"""characters of a text by which it is found"""


class LogLocation(NamedTuple):
    """Line and column, from 1, in the file's own text."""

    line: int
    column: int


def locate(path: Path, raw: str, at: int = 0) -> LogLocation | None:
    """Where the character `at` of `raw` stands in the file, as JSON writes it or as it is; None where it is not found.

    The file is read in sections, so that one of any size may be searched. Of several places the first is given.
    """
    for needle, ahead in _written(raw, at):
        location = _find(path, needle)
        if location is not None:
            return LogLocation(location.line, location.column + ahead)
    return None


def _written(raw: str, at: int) -> list[tuple[bytes, int]]:
    """The ways in which a log may hold the beginning of a text, and how far the character is from there."""
    ways: list[tuple[bytes, int]] = []
    for ascii_only in (False, True):
        head, ahead = (json.dumps(part, ensure_ascii=ascii_only)[1:-1] for part in (raw[:HEAD], raw[:at]))
        ways.append((head.encode("utf-8", "surrogatepass"), len(ahead)))
    ways.append((raw[:HEAD].encode("utf-8", "surrogatepass"), at if "\n" not in raw[:at] else 0))
    return [way for way in dict.fromkeys(ways) if way[0]]


def _find(path: Path, needle: bytes) -> LogLocation | None:
    line, column, tail = 1, 1, b""
    try:
        with path.open("rb") as file:
            if file.read(len(SQLITE)) == SQLITE:  # no lines, of which there could be a number
                return None
            file.seek(0)
            while section := file.read(SECTION):
                text = tail + section
                at = text.find(needle)
                passed = text[: at if at >= 0 else max(0, len(text) - len(needle) + 1)]
                if feeds := passed.count(b"\n"):
                    line, column = line + feeds, 1
                column += len(passed[passed.rfind(b"\n") + 1 :].decode("utf-8", "ignore"))
                if at >= 0:
                    return LogLocation(line, column)
                tail = text[len(passed) :]
    except OSError:
        return None
    return None
