"""Remembers of files of lines where the reading of them ended, so that what is added costs what was added."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from webapp.dumps.records import Problem
from webapp.dumps.spool import WrittenBytes
from webapp.dumps.turn_reader import ReadTail

MOST_FILES = 32
"""files that are remembered; those that grew longest ago are forgotten"""


@dataclass(slots=True)
class GrowingFile:
    """A dump's file as it was read: `session` is what its row said then, which tells whether another wrote it since."""

    dump_id: int
    format: str
    tail: ReadTail
    written: WrittenBytes
    sha256: str
    key: str
    session: tuple[object, ...]
    problems: list[Problem]
    """of its lines, without those that say what is missing so far"""
    problem_count: int = 0
    identity: tuple[int, int] | None = None
    """device and number of a file that is watched"""


class GrowingFiles:
    """The files of one database by their names. Who grows one takes it, and puts it back once that is committed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: OrderedDict[str, GrowingFile] = OrderedDict()

    def get(self, filename: str) -> GrowingFile | None:
        with self._lock:
            return self._files.get(filename)

    def take(self, filename: str) -> GrowingFile | None:
        with self._lock:
            return self._files.pop(filename, None)

    def put(self, filename: str, file: GrowingFile) -> None:
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
