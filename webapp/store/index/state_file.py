"""Writes a state of the index into a file, so that a start need not read every session, and reads it again.

The file is a line that says who made it, and records as `webapp.saved_state` writes them, one after the other. It holds
no text of any turn. What cannot be read, or was made by other code, is `Unusable`: read the database.
"""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from webapp import saved_state
from webapp.store.files import draft
from webapp.store.index.bit_sliced_index import Numbers
from webapp.store.index.state import State

_CODE = ("bit_sliced_index.py", "session_reader.py", "state.py", "state_file.py")
_LONGEST_LINE = 200
_CHECK_SUM, _AT_ONCE = 4, 1 << 20
"""bytes: of the sum behind everything, and read at once to check it"""


class Unusable(ValueError):
    """There is no such file, or it is damaged, or other code made it; the message says which."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A state as of `horizon` (see `store.db.dialect`); `mark` is what the database knows this file by."""

    state: State
    horizon: int
    mark: str


def write(path: Path, stored: Stored) -> None:
    """Put it in place of the file that is there, whole or not at all. Raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with draft(path.parent, f"{path.name}.") as unfinished:
        with unfinished.open("wb") as file:
            total = 0
            file.write(f"{made_by()}\n".encode())
            for record in _records(stored):
                data = saved_state.saved(record)
                total = zlib.crc32(data, total)
                file.write(data)
            file.write(total.to_bytes(_CHECK_SUM, "little"))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)


def _records(stored: Stored) -> Iterator[Any]:
    """What is saved, some at a time, so that reading holds little twice: the first says how many dimensions follow."""
    state = stored.state
    moved = (array("q", state.moved), array("q", state.moved.values()))
    yield stored.horizon, stored.mark, state.size, state.ordered, state.alive, moved, len(state.dimensions)
    yield {name: (numbers.values[: state.size], numbers.planes) for name, numbers in state.numbers.items()}
    yield from state.dimensions.items()


def read(path: Path) -> Stored:
    """Raises `Unusable`."""
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise Unusable(f"it cannot be read: {error.strerror}") from error
    except (saved_state.NotSaved, ValueError, TypeError) as error:
        if isinstance(error, Unusable):
            raise
        raise Unusable(f"it is damaged: {error}") from error


@cache
def made_by() -> str:
    """What changes with the code that makes a state: a file of any other is not read."""
    folder = Path(__file__).parent
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in _CODE))
    return f"fencepost index {digest.hexdigest()} {sys.byteorder}"


def _read(file: BinaryIO) -> Stored:
    if file.readline(_LONGEST_LINE) != f"{made_by()}\n".encode():
        raise Unusable("another version of Fencepost made it")
    _check(file)
    horizon, mark, size, ordered, alive, moved, count = saved_state.read(file)
    numbers = {name: Numbers(values, size, (size, planes)) for name, (values, planes) in saved_state.read(file).items()}
    dimensions = dict(saved_state.read(file) for _ in range(count))
    moved_slots = dict(zip(*moved, strict=True))
    state = State(size, alive, ordered, moved=moved_slots, numbers=numbers, dimensions=dimensions)
    return Stored(state, horizon, mark)


def _check(file: BinaryIO) -> None:
    """Raises `Unusable` where what follows is damaged; sets are not made of what may be."""
    start, total, last = file.tell(), 0, b""
    while data := file.read(_AT_ONCE):
        checked = last + data
        last = checked[-_CHECK_SUM:]
        total = zlib.crc32(memoryview(checked)[:-_CHECK_SUM], total)
    if last != total.to_bytes(_CHECK_SUM, "little"):
        raise Unusable("it is damaged: its check sum is another")
    file.seek(start)
