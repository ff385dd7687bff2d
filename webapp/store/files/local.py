"""Files in the data folder."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from webapp.store.files.base import StoredFile


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
