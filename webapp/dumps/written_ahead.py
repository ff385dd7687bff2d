"""A SQLite file with the rows that its program wrote ahead, to NAME-wal beside it, and has not moved into it yet."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from webapp.dumps.records import BadDump

_SQLITE = b"SQLite format 3\0"
_HEADER = 32
"""of what was written ahead: it changes when its program begins it anew"""
_TRIES = 3


@contextmanager
def merged(path: Path) -> Iterator[Path]:
    """The file, or, where rows stand beside it, a copy with them, which is gone afterwards; nothing there is written.
    A link beside it is not followed.

    Raises `BadDump` where they cannot be moved into the copy.
    """
    ahead = path.with_name(f"{path.name}-wal")
    has_rows = ahead.is_file() and not ahead.is_symlink() and ahead.stat().st_size
    if not has_rows or _beginning(path, len(_SQLITE)) != _SQLITE:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="sqlite-") as folder:
        copy = Path(folder) / "copy.db"
        _copy(path, ahead, copy)
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as error:
            reason = f"what stands in {ahead.name} beside it cannot be read ({error}); without that file, this one can"
            raise BadDump(reason, "byte 0") from error
        yield copy


def _copy(path: Path, ahead: Path, copy: Path) -> None:
    """Copy both as they were together. Raises `BadDump` where their program begins anew each time."""
    for _ in range(_TRIES):
        before = _beginning(ahead, _HEADER)
        shutil.copyfile(path, copy)
        shutil.copyfile(ahead, copy.with_name(f"{copy.name}-wal"))
        if _beginning(ahead, _HEADER) == before:
            return
    raise BadDump(f"its program writes to {ahead.name} beside it without a pause; read it again", "byte 0")


def _beginning(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)
