"""What commands read: a file or standard input as bytes and text, which files `fencepost ingest` reads, times ago."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, cast

import click

from webapp.dumps.sqlite_tables import merged
from webapp.scan.files import walked

STDIN = "-"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def open_bytes(name: str) -> AbstractContextManager[BinaryIO]:
    """The file called `name`, or standard input for `-`; a usage error (exit 2) where it cannot be opened."""
    if name == STDIN:
        return nullcontext(sys.stdin.buffer)
    printable = repr(click.format_filename(name))
    try:
        return cast(BinaryIO, click.open_file(name, "rb"))
    except FileNotFoundError:
        raise click.UsageError(f"there is no file {printable}") from None
    except (OSError, ValueError) as error:
        raise click.UsageError(f"cannot read {printable}: {getattr(error, 'strerror', None) or error}") from None


@contextmanager
def open_log(name: str) -> Iterator[BinaryIO]:
    """As `open_bytes`; of a database with what its program wrote ahead. Raises `BadDump` where that is damaged."""
    with open_bytes(name) as stream, nullcontext() if name == STDIN else merged(Path(name)) as path:
        if path is None or path == Path(name):  # a pipe cannot be opened twice
            yield stream
            return
        with path.open("rb") as log:
            yield log


def to_text(data: bytes, where: str) -> str:
    """`data` as UTF-8; bytes that are none become U+FFFD, and standard error says so, naming `where`."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        text = data.decode(errors="replace")
        click.echo(f"{where} is not UTF-8 at byte {error.start}: such bytes are shown as U+FFFD", err=True)
        return text


def size_of(stream: BinaryIO) -> int | None:
    """Bytes of a regular file that is not empty, None of a pipe or a buffer."""
    try:
        return os.fstat(stream.fileno()).st_size or None
    except OSError:
        return None


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
    for path in walked(Path(folder), refused.append):
        if path.is_file():
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


def time_ago(text: str, now: datetime, units: str = "mhdw") -> datetime | None:
    """The time that was so long before `now`; None where `text` is no such time. Raises a usage error before year 1."""
    match = re.fullmatch(rf"(\d{{1,6}})([{units}])", text, re.ASCII)
    if match is None:
        return None
    try:
        return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
    except OverflowError:
        raise click.UsageError(f"{text} ago is before the year 1") from None
