"""Which files `fencepost ingest` is to read: those named, those that a pattern matches, and those in folders."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

STDIN = "-"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read: `path` opens it ("-" is standard input), `filename` is what the dump is called.

    `is_named` is False for a file that only lay in a folder: where it is no dump, it is passed over.
    """

    path: str
    filename: str
    is_named: bool = True

    @property
    def label(self) -> str:
        return "standard input" if self.path == STDIN else click.format_filename(self.path)


def find(arguments: Iterable[str], name: str = "stdin") -> Iterator[InputFile]:
    """The files for the arguments, in their order; `name` is what standard input is called.

    An argument is "-", a file, a folder (all files below it, sorted; hidden ones are left out), or a pattern that
    the shell did not expand (`**` goes into folders). What is none of these comes back as it is, for the error.
    """
    for argument in arguments:
        if argument == STDIN:
            yield InputFile(STDIN, name)
        elif Path(argument).is_dir():
            yield from below(argument)
        elif not Path(argument).exists() and glob.has_magic(argument):
            yield from _matching(argument)
        else:
            yield InputFile(argument, _last(argument))


def below(folder: str) -> Iterator[InputFile]:
    """The files in a folder and its folders, sorted; a folder that cannot be read comes as a file that cannot be."""
    refused: list[OSError] = []
    for top, folders, files in os.walk(folder, onerror=refused.append):
        folders[:] = sorted(inner for inner in folders if not inner.startswith("."))
        for file in sorted(files):
            path = Path(top, file)
            if not file.startswith(".") and path.is_file():
                yield InputFile(str(path), click.format_filename(path.relative_to(folder).as_posix()), is_named=False)
    yield from (InputFile(str(error.filename), _last(str(error.filename))) for error in refused)


def _matching(pattern: str) -> Iterator[InputFile]:
    matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
    if not matches:
        yield InputFile(pattern, _last(pattern))
    for match in matches:
        if not Path(match).is_dir():
            yield InputFile(match, _last(match))
        elif "**" not in pattern:
            yield from below(match)


def _last(path: str) -> str:
    return click.format_filename(path).replace("\\", "/").rpartition("/")[2]
