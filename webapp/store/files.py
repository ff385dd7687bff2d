"""Whole files by name, in the data folder or at an fsspec URL (an object store such as S3, a shared folder, memory in
tests): kept dumps, uploads that wait, exports and session dumps.

What enters is a finished local file; what leaves is a stream. Nothing is ever seen half written.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import urlsplit, urlunsplit

import sqlalchemy as sa

from webapp import installation
from webapp.config import Settings
from webapp.refusals import NotPossible, Refusal

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_PART = ".part-"
"""stands in the name of a file that is still being written; the rest is random"""
_PLAIN = re.compile(r"[\w.%~/-]+", re.ASCII)
_WRITTEN = ("LastModified", "mtime", "last_modified", "updated", "created")
"""under which name file systems say when a file was written, the best first"""


class StoreUnreachable(Refusal, OSError):
    """The store at `FENCEPOST_STORE` cannot be read or written; the message names it and what it answered."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file: its name, its bytes, and the seconds since it was written, 0 where the store does not say."""

    name: str
    size: int
    age: float


@contextmanager
def draft(folder: Path, prefix: str) -> Iterator[Path]:
    """A new file that nobody else writes to, the owner's alone; at the end it is removed, if it was not moved away."""
    handle, name = tempfile.mkstemp(prefix=prefix, dir=folder)
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink()


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Files by names such as `dumps/<sha256>.zst`, in a folder. Every method may raise `OSError`.

    Files that are put come from the same disk, so that moving one is a rename.
    """

    folder: Path

    @property
    def place(self) -> str:
        """What people call it: a folder, or a URL without its password."""
        return str(self.folder)

    def open(self, name: str) -> BinaryIO:
        """The content, read from its beginning; raises `FileNotFoundError`."""
        return (self.folder / name).open("rb")

    def put(self, name: str, path: Path) -> None:
        """Move a finished file in, in place of one of that name: whole or not at all. `path` is gone then."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        path.replace(target)

    def find(self, name: str) -> StoredFile | None:
        """What is known of a file; None where there is none of that name."""
        try:
            status = (self.folder / name).stat()
        except FileNotFoundError:
            return None
        return StoredFile(name, status.st_size, time.time() - status.st_mtime)

    def remove(self, name: str) -> None:
        """Remove a file, if there is one of that name."""
        (self.folder / name).unlink(missing_ok=True)

    def files(self, folder: str) -> Iterator[StoredFile]:
        """The files that stand in a folder, not those in folders below it; none where it is not there."""
        root = self.folder / folder
        names = [path.name for path in root.iterdir() if path.is_file()] if root.is_dir() else []
        for name in names:
            if (file := self.find(f"{folder}/{name}")) is not None:  # another process may remove it meanwhile
                yield file


def file_store(settings: Settings) -> LocalFiles | RemoteFiles:
    """Where `FENCEPOST_STORE` says, or the data folder; raises `StoreUnreachable`."""
    return remote_files(settings.store) if settings.store else LocalFiles(settings.data)


@cache
def remote_files(url: str) -> RemoteFiles:
    """The store at that URL; the library connects when it is first used. Raises `StoreUnreachable`."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise StoreUnreachable(f"FENCEPOST_STORE needs fsspec: {installation.install_extra('store')}") from None
    try:
        file_system, root = url_to_fs(url)
    except (ValueError, ImportError, OSError) as error:
        raise StoreUnreachable(f"FENCEPOST_STORE {without_password(url)}: {error}") from error
    return RemoteFiles(file_system, root.rstrip("/"), without_password(url))


def without_password(url: str) -> str:
    """The URL as it may be shown and logged."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    user = parts.netloc.rpartition("@")[0].partition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{user}:***@{parts.netloc.rpartition('@')[2]}"))


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """As `LocalFiles`, at an fsspec file system."""

    file_system: AbstractFileSystem
    root: str
    place: str

    def open(self, name: str) -> BinaryIO:
        with self._in_words(name):
            return cast(BinaryIO, self.file_system.open(self._path(name), "rb"))

    def put(self, name: str, path: Path) -> None:
        target = self._path(name)
        part = f"{target}{_PART}{token_hex(8)}"
        with self._in_words(name):
            self.file_system.makedirs(target.rpartition("/")[0], exist_ok=True)
            try:
                self.file_system.put_file(str(path), part)
                self.file_system.mv(part, target)
            except BaseException:
                with suppress(Exception):  # what broke the writing mostly breaks this too
                    self.file_system.rm_file(part)
                raise
        path.unlink()

    def find(self, name: str) -> StoredFile | None:
        with self._in_words(name):
            try:
                return _stored(name, self.file_system.info(self._path(name)))
            except FileNotFoundError:
                return None

    def remove(self, name: str) -> None:
        with self._in_words(name), suppress(FileNotFoundError):
            self.file_system.rm_file(self._path(name))

    def files(self, folder: str) -> Iterator[StoredFile]:
        with self._in_words(folder):
            self.file_system.invalidate_cache()
            try:
                entries = self.file_system.ls(self._path(folder), detail=True)
            except FileNotFoundError:
                return
        for entry in entries:
            name = entry["name"].rstrip("/").rpartition("/")[2]
            if entry["type"] == "file" and name:
                yield _stored(f"{folder}/{name}", entry)

    def _path(self, name: str) -> str:
        if not _PLAIN.fullmatch(name):
            raise ValueError(f"file systems would read {name!r} as a pattern")
        return f"{self.root}/{name}"

    @contextmanager
    def _in_words(self, name: str) -> Iterator[None]:
        """`StoreUnreachable` in place of whatever the store's library raises, but for a missing file."""
        try:
            yield
        except (FileNotFoundError, StoreUnreachable):
            raise
        except Exception as error:
            raise StoreUnreachable(f"FENCEPOST_STORE {self.place}, {name}: {error or type(error).__name__}") from error


def _stored(name: str, entry: dict[str, Any]) -> StoredFile:
    written = next((entry[key] for key in _WRITTEN if entry.get(key) is not None), None)
    if isinstance(written, datetime):
        written = (written if written.tzinfo else written.replace(tzinfo=UTC)).timestamp()
    age = time.time() - written if isinstance(written, int | float) else 0.0
    return StoredFile(name, entry["size"] or 0, age)


_ERRNOS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SQLITE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
_POSTGRES = ("53100",)
DISK_FULL = "disk_full"
WORDS_WHEN_FULL = (
    "The disk is full. Make room in the data folder, then send or read the file again; what was stored stays."
)


class DiskFull(NotPossible):
    """Nothing more can be written; what was stored before is whole."""

    status, code = 507, DISK_FULL

    def __init__(self) -> None:
        super().__init__(WORDS_WHEN_FULL)


def is_full(error: BaseException) -> bool:
    """Whether `error` says that the disk, or a quota on it, has no room."""
    if isinstance(error, sa.exc.DBAPIError) and error.orig is not None:
        error = error.orig
    code = getattr(error, "sqlite_errorcode", None)
    state = getattr(error, "sqlstate", None)
    return getattr(error, "errno", None) in _ERRNOS or code in _SQLITE or state in _POSTGRES


@contextmanager
def full_disk_in_words() -> Iterator[None]:
    """Raises `DiskFull` in place of what said so."""
    try:
        yield
    except (OSError, sa.exc.DBAPIError) as error:
        if is_full(error):
            raise DiskFull from error
        raise
