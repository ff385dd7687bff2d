"""Remembers how files looked when they were read, so that of one that is watched only what was added is read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from webapp.dumps.spool import WrittenBytes

MOST_FILES = 32
"""files that are remembered; those that grew longest ago are forgotten"""


@dataclass(slots=True)
class FileBytes:
    """What was read of a file: hash, size and end."""

    written: WrittenBytes
    sha256: str
    identity: tuple[int, int] | None = None
    """device and number of a file that is watched"""


class GrowingFiles:
    """The files of one database by their names. Who grows one takes it, and puts it back once that is committed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[str, FileBytes] = OrderedDict()

    def get(self, filename: str) -> FileBytes | None:
        with self._lock:
            return self._files.get(filename)

    def take(self, filename: str) -> FileBytes | None:
        with self._lock:
            return self._files.pop(filename, None)

    def put(self, filename: str, file: FileBytes) -> None:
        with self._lock:
            self._files[filename] = file
            self._files.move_to_end(filename)
            while len(self._files) > MOST_FILES:
                self._files.popitem(last=False)


_files: WeakKeyDictionary[sa.Engine, GrowingFiles] = WeakKeyDictionary()
_files_lock = threading.Lock()


def of(engine: sa.Engine) -> GrowingFiles:
    """Those of the engine's database in this process."""
    with _files_lock:
        return _files.setdefault(engine, GrowingFiles())
