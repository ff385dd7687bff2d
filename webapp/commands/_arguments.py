"""What several commands take: files and standard input, times ago, profiles and parsers of one's own, what to mask."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import click

from webapp.capture import specs
from webapp.capture.specs import BadSpec
from webapp.dumps.sqlite_tables import merged
from webapp.exports.redaction import redactor
from webapp.parsing import Profile, UnknownProfile, profile, refuse_absent
from webapp.scan.files import walked

STDIN = "-"
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def open_bytes(name: str) -> BinaryIO:
    """The file called `name`, or standard input for `-`. Raises `OSError`."""
    return cast(BinaryIO, click.open_file(name, "rb"))


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


def read_text(stream: BinaryIO, name: str) -> str:
    """All that a file called `name` holds, as `to_text`; what is printed of it may be what no terminal can write."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return to_text(stream.read(), "standard input" if name == STDIN else click.format_filename(name))


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


class TimeAgo(click.ParamType[datetime]):
    """A time so long ago as a number and one of the `units` say: 30m, 12h, 7d, 4w."""

    name = "time"

    def __init__(self, units: str = "mhdw") -> None:
        self._units = units

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        ago = time_ago(str(value), datetime.now(UTC), self._units)
        return ago or self.fail(f"{value!r} is not a time such as 90d, 12w or 36h", param, ctx)


class ProfileName(click.ParamType[str]):
    """A profile's name. What has the form of a parser of one's own is configured for this command, and named."""

    name = "profile"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            return specs.add(text) if specs.looks_like_one(text) and text not in specs.configured() else text
        except BadSpec as bad:
            self.fail(str(bad), param, ctx)


PROFILE = ProfileName()
home_option = click.option(
    "--home", type=PROFILE, metavar="P", help="Your parser: the profile that the program used, or pkg.mod:function."
)
_Command = TypeVar("_Command", bound=Callable[..., Any])


def runnable(name: str, or_else: str = "") -> Profile:
    """The profile of that name. Raises `NotInstalled` where it cannot run here, and a usage error with `or_else`."""
    try:
        chosen = profile(name)
    except UnknownProfile as unknown:
        raise click.UsageError(f"{unknown}{or_else}") from None
    refuse_absent(chosen)
    return chosen


def refuse(is_wrong: object, words: str) -> None:
    """Raises a usage error (exit 2) with these words where it is wrong."""
    if is_wrong:
        raise click.UsageError(words)


def redaction_options(command: _Command) -> _Command:
    """Adds --redact-key, --redact (both can be given several times) and --redact-secrets, as a command's `redactor`.

    Raises `BadPattern` and `MissingLibrary`.
    """
    options = (
        click.option("--redact-key", "keys", multiple=True, metavar="KEY", help="Mask values under this key."),
        click.option("--redact", "patterns", multiple=True, metavar="REGEX", help="Mask text that matches this."),
        click.option("--redact-secrets", "secrets", is_flag=True, help="Mask secrets that detect-secrets finds."),
    )

    @wraps(command)
    def with_redactor(keys: tuple[str, ...], patterns: tuple[str, ...], secrets: bool, **given: Any) -> Any:
        return command(redactor=redactor(keys, patterns, secrets=secrets), **given)

    for option in reversed(options):
        with_redactor = option(with_redactor)
    return cast(_Command, with_redactor)
