"""What every store of files can do, and the one that is the data folder."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol


class StoreUnreachable(OSError):
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


class FileStore(Protocol):
    """Files by names such as `dumps/<sha256>.zst`. Every method may raise `OSError`."""

    @property
    def place(self) -> str:
        """What people call it: a folder, or a URL without its password."""

    def open(self, name: str) -> BinaryIO:
        """The content, read from its beginning; raises `FileNotFoundError`."""

    def put(self, name: str, path: Path) -> None:
        """Move a finished file in, in place of one of that name: whole or not at all. `path` is gone then."""

    def find(self, name: str) -> StoredFile | None:
        """What is known of a file; None where there is none of that name."""

    def remove(self, name: str) -> None:
        """Remove a file, if there is one of that name."""

    def files(self, folder: str) -> Iterator[StoredFile]:
        """The files that stand in a folder, not those in folders below it; none where it is not there."""


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """A `FileStore` in a folder. Files that are put come from the same disk, so that moving one is a rename."""

    folder: Path

    @property
    def place(self) -> str:
        return str(self.folder)

    def open(self, name: str) -> BinaryIO:
        return (self.folder / name).open("rb")

    def put(self, name: str, path: Path) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as file:
            os.fsync(file.fileno())
        path.replace(target)

    def find(self, name: str) -> StoredFile | None:
        try:
            status = (self.folder / name).stat()
        except FileNotFoundError:
            return None
        return StoredFile(name, status.st_size, time.time() - status.st_mtime)

    def remove(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def files(self, folder: str) -> Iterator[StoredFile]:
        root = self.folder / folder
        names = [path.name for path in root.iterdir() if path.is_file()] if root.is_dir() else []
        for name in names:
            if (file := self.find(f"{folder}/{name}")) is not None:  # another process may remove it meanwhile
                yield file
