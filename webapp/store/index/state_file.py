"""Writes a state of the index into a file, so that a start need not read every session, and reads it again.

The file is a line that says who made it, a line of JSON, and the sets and numbers that the JSON names, one after the
other. It holds no text of any turn. What cannot be read, or was made by other code, is `Unusable`: read the database.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import zlib
from array import array
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from webapp.store.index.bit_sliced_index import Bits, Column, Numbers, Planes, SlotCounts
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
    blobs: list[bytes] = []
    about = _described(stored, blobs)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            total = 0
            file.write(f"{made_by()}\n".encode())
            for part in (json.dumps(about).encode(), b"\n", *blobs):
                total = zlib.crc32(part, total)
                file.write(part)
            file.write(total.to_bytes(_CHECK_SUM, "little"))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def read(path: Path) -> Stored:
    """Raises `Unusable`."""
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        raise Unusable(f"it cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, MemoryError) as error:
        if isinstance(error, Unusable):
            raise
        raise Unusable(f"it is damaged: {error}") from error


@cache
def made_by() -> str:
    """What changes with the code that makes a state: a file of any other is not read."""
    folder = Path(__file__).parent
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in _CODE))
    return f"fencepost index {digest.hexdigest()} {sys.byteorder}"


# --- writing


def _described(stored: Stored, blobs: list[bytes]) -> dict[str, Any]:
    state = stored.state
    moved = (array("q", state.moved), array("q", state.moved.values()))
    return {
        "horizon": stored.horizon,
        "mark": stored.mark,
        "size": state.size,
        "ordered": state.ordered,
        "alive": _put_bits(state.alive, blobs),
        "moved": [_put_array(numbers, blobs) for numbers in moved],
        "numbers": {name: _put_numbers(numbers, blobs) for name, numbers in state.numbers.items()},
        "dimensions": [
            [dimension, [[value, *_put_column(column, blobs)] for value, column in columns.items()]]
            for dimension, columns in state.dimensions.items()
        ],
    }


def _put_bits(bits: Bits, blobs: list[bytes]) -> int:
    blobs.append(bits.serialize())
    return len(blobs[-1])


def _put_array(numbers: array[int], blobs: list[bytes]) -> list[Any]:
    blobs.append(numbers.tobytes())
    return [numbers.typecode, len(blobs[-1])]


def _put_numbers(numbers: Numbers, blobs: list[bytes]) -> list[Any]:
    planes = numbers.planes
    values = numbers.values if len(numbers.values) == numbers.size else numbers.values[: numbers.size]
    return [_put_array(values, blobs), [_put_bits(plane, blobs) for plane in planes]]


def _put_column(column: Column, blobs: list[bytes]) -> list[Any]:
    parts = (column.settled, column.recent)
    return [[_put_bits(part.slots, blobs), [_put_bits(plane, blobs) for plane in part.planes]] for part in parts]


# --- reading


class _Reader:
    """Reads one blob after the other: the whole file is never in memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def blob(self, length: int) -> bytes:
        data = self._file.read(length)
        if len(data) != length:
            raise Unusable("it is damaged: it ends too early")
        return data

    def bits(self, length: int) -> Bits:
        return Bits.deserialize(self.blob(length))

    def array(self, described: list[Any]) -> array[int]:
        numbers = array(described[0])
        numbers.frombytes(self.blob(described[1]))
        return numbers

    def numbers(self, described: list[Any], size: int) -> Numbers:
        values, planes = described
        return Numbers(self.array(values), size, (size, self.planes(planes)))

    def planes(self, lengths: list[int]) -> Planes:
        return tuple(self.bits(length) for length in lengths)

    def column(self, described: list[Any]) -> Column:
        return Column(*(SlotCounts(self.bits(slots), self.planes(planes)) for slots, planes in described))


def _read(file: BinaryIO) -> Stored:
    if file.readline(_LONGEST_LINE) != f"{made_by()}\n".encode():
        raise Unusable("another version of Fencepost made it")
    _check(file)
    about = json.loads(file.readline())
    reader = _Reader(file)
    alive = reader.bits(about["alive"])
    ids, slots = (reader.array(each) for each in about["moved"])
    state = State(
        size=about["size"],
        alive=alive,
        ordered=about["ordered"],
        moved=dict(zip(ids, slots, strict=True)),
        numbers={name: reader.numbers(each, about["size"]) for name, each in about["numbers"].items()},
        dimensions={
            tuple(dimension): {_value(value): reader.column(column) for value, *column in columns}
            for dimension, columns in about["dimensions"]
        },
    )
    return Stored(state, about["horizon"], about["mark"])


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


def _value(value: Any) -> Any:
    """A column's value: JSON has lists for what is hashed as a tuple."""
    return tuple(value) if isinstance(value, list) else value
