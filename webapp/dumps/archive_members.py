"""Takes members out of archives, one at a time on disk, and refuses those that no honest archive holds."""

from __future__ import annotations

import os
import posixpath
import re
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from lzma import LZMAError
from pathlib import Path
from typing import IO, Any, cast

from webapp.dumps.budget import MOST_WHOLE, PIECE, BadDump, Budget, TooLarge, current
from webapp.dumps.decoding import Damage, Decoder
from webapp.dumps.records import Entries, Problem
from webapp.dumps.source import Source, entry_or_problem
from webapp.dumps.spool import ZstdError, zipfile

MOST_MEMBERS = 10_000
"""An archive of this many members, or more, is refused."""
_MOST_NAMED = 8 * PIECE
"""bytes of a zip's directory, or of what a tar says of one member: as objects they are ten times as much"""
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, ZstdError, LZMAError, EOFError, OSError, RuntimeError)
_SYMLINK = 0o120000
_COPIES = {"__MACOSX", ".git", ".ipynb_checkpoints"}
"""folders in which programs keep copies and halves of files"""
_OF_SYSTEMS = (".DS_Store", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file of an archive: `path` is a copy of it, gone when the next one is asked for."""

    name: str
    path: Path

    def value(self) -> Iterator[Any]:
        """What its JSON says, and problems; a problem alone where it is none, or longer than one item may be."""
        decoder = Decoder()
        if reason := current().too_long(self.path.stat().st_size, MOST_WHOLE):
            yield Problem(self.name, f"{reason}; skipped")
            return
        try:
            yield decoder.loads(self.path.read_bytes().decode("utf-8", "surrogateescape"))
        except Damage as damage:
            yield Problem(self.name, f"{damage.reason} (character {damage.at}); skipped")
        else:
            yield from decoder.repeats(self.name)


class _Archived:
    """An archive's file, of which no more than `left` bytes are read: fewer for names than for what they name."""

    def __init__(self, file: IO[bytes]) -> None:
        self.seek, self.tell, self.seekable, self._read = file.seek, file.tell, file.seekable, file.read
        self.left = _MOST_NAMED

    def read(self, size: int = -1) -> bytes:
        self.left -= size
        if self.left < 0:
            raise TooLarge(f"it names members in more than {_MOST_NAMED // PIECE} MB", f"byte {self.tell()}")
        return self._read(size)


def opened_zip(source: Source) -> zipfile.ZipFile:
    """Raises `BadDump` where it is damaged as a whole, or its directory is larger than any honest one."""
    file = _Archived(source.file)
    try:
        archive = zipfile.ZipFile(cast(IO[bytes], file))
    except (*_DAMAGE, ValueError) as error:
        raise BadDump(f"the zip archive is damaged ({error})", "byte 0") from error
    file.left = sys.maxsize
    return archive


def of_zip(source: Source, folder: Path, most: int | None = None) -> Iterator[ArchiveMember | Problem]:
    """The members of a zip, one after the other in `folder`; no more than about `most` bytes of them.

    Raises `BadDump` where it is damaged as a whole, `TooLarge` for bombs.
    """
    with opened_zip(source) as archive:
        infos = archive.infolist()
        budget = source.budget.anew()
        _refuse_many(budget, len(infos))
        if most is None:  # what a bomb's own directory conceals is found while it is read
            largest = max(infos, key=lambda info: info.file_size, default=None)
            replace(budget).take(sum(info.file_size for info in infos), largest.filename if largest else "")
        for info in infos:
            if most is not None and budget.out >= most:
                return
            is_folder = info.filename.endswith("/")  # what `is_dir` says, which fails for a member without a name
            if is_folder or _is_of_system(info.filename):
                continue
            if (reason := _unsafe(info.filename, info.external_attr >> 16 & 0o170000 == _SYMLINK)) is not None:
                yield Problem(info.filename, reason)
            elif info.flag_bits & 1:
                yield Problem(info.filename, "this member is encrypted; skipped")
            else:
                yield from _copied(info.filename, partial(archive.open, info), folder, budget, most)


def zip_objects(source: Source, pattern: re.Pattern[str], others: str | None = None) -> Entries:
    """The objects that a zip's JSON files of such names hold, with what is wrong with them, and with `others`."""
    with tempfile.TemporaryDirectory(prefix="objects-") as folder:
        for member in of_zip(source, Path(folder)):
            if isinstance(member, Problem):
                yield member
            elif pattern.search(member.name):
                value, *problems = member.value()
                yield value if isinstance(value, Problem) else entry_or_problem(member.name, value)
                yield from problems
            elif others is not None:
                yield Problem(member.name, others)


def of_tar(source: Source, folder: Path, most: int | None = None) -> Iterator[ArchiveMember | Problem]:
    """The members of a tar (gzip and zstd around it were taken off before). Raises as `of_zip`."""
    try:
        source.file.seek(0)
        file = _Archived(source.file)
        archive = tarfile.TarFile(fileobj=cast(IO[bytes], file))
    except (*_DAMAGE, ValueError) as error:
        raise BadDump(f"the tar archive is damaged ({error})", "byte 0") from error
    with archive:
        budget = source.budget.anew()
        for info in _entries(archive, file):
            if most is not None and budget.out >= most:
                return
            if isinstance(info, Problem):
                yield info
                continue
            _refuse_many(budget, 1)
            vars(archive).update(members=[], pax_headers={})  # or it remembers every member that it passed
            if info.isdir() or _is_of_system(info.name):
                continue
            if (reason := _unsafe(info.name, not info.isreg())) is not None:
                yield Problem(info.name, reason)
            else:
                yield from _copied(info.name, partial(archive.extractfile, info), folder, budget, most)


def _entries(archive: tarfile.TarFile, file: _Archived) -> Iterator[tarfile.TarInfo | Problem]:
    while True:
        file.left = _MOST_NAMED
        try:
            info = archive.next()
        except (*_DAMAGE, ValueError) as error:
            yield Problem(f"byte {archive.offset}", f"the tar archive is damaged from here on ({error})")
            return
        if info is None:
            return
        file.left = sys.maxsize
        yield info


def _refuse_many(budget: Budget, count: int) -> None:
    budget.members += count
    if budget.members >= MOST_MEMBERS:
        raise TooLarge(f"the archive holds {MOST_MEMBERS:,} members or more", f"member {MOST_MEMBERS}")


def _is_of_system(name: str) -> bool:
    """Whether this is what a Mac or Windows writes beside files."""
    parts = name.split("/")
    return not _COPIES.isdisjoint(parts) or parts[-1].startswith("._") or parts[-1] in _OF_SYSTEMS


def _unsafe(name: str, special: bool) -> str | None:
    """Why a member is not read. Nothing is written by its name, but no honest archive leads out of itself."""
    parts = name.replace("\\", "/").split("/")
    if ".." in parts:
        return "the name leads out of the archive; skipped"
    if posixpath.isabs(name) or "\0" in name or (len(name) > 1 and name[1] == ":"):
        return "the name is absolute; skipped"
    return "a link, or no file at all; skipped" if special else None


def _copied(
    name: str, opener: Callable[[], IO[bytes] | None], folder: Path, budget: Budget, most: int | None
) -> Iterator[ArchiveMember | Problem]:
    """A member as far as it can be read, behind what is wrong with it."""
    handle, copy_name = tempfile.mkstemp(prefix="member-", dir=folder)
    path, enough = Path(copy_name), budget.most if most is None else most
    try:
        try:
            with os.fdopen(handle, "wb") as out:
                stream = opener()
                while stream is not None and budget.out < enough and (piece := stream.read(PIECE)):
                    budget.take(len(piece), name)
                    out.write(piece)
        except NotImplementedError as error:
            yield Problem(name, f"this member is compressed in a way that is not read here ({error}); it was left out")
            return
        except _DAMAGE as error:
            yield Problem(name, f"this member is damaged ({error}); what came before was read")
        yield ArchiveMember(name, path)
    finally:
        path.unlink(missing_ok=True)
