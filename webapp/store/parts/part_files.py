"""The files of parts: written whole, then moved to their place; read only where their content is what was written."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass, field, fields
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.exports.base import MissingLibrary
from webapp.extras import install_extra
from webapp.store.files import file_store
from webapp.store.files.local import LocalFiles

FOLDER = "parts"
_COPIES = "parts-copies"
"""in the data folder: parts of a remote store, as they were read last"""


class PartDamaged(RuntimeError):
    """A part is not there, or does not hold what was written: the message names it, its place and what to do."""


@dataclass(slots=True)
class Columns:
    """What a profile made of responses, a value a response in each list, in the order of their turns.

    `text` has the first 64 bits, signed, of the raw text's SHA-256; `trace` is JSON, once a text, and only where
    `fencepost` read something else.
    """

    turn_id: list[int] = field(default_factory=list)
    text: list[int] = field(default_factory=list)
    model: list[str | None] = field(default_factory=list)
    verdict: list[str] = field(default_factory=list)
    value_digest: list[int | None] = field(default_factory=list)
    failure_group: list[str | None] = field(default_factory=list)
    trace: list[str | None] = field(default_factory=list)

    def add(self, *row: Any) -> None:
        """One response: a value of each column."""
        for column, value in zip(fields(self), row, strict=True):
            getattr(self, column.name).append(_utf8(value) if isinstance(value, str) else value)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that is in its place, for its row in `run_part`."""

    name: str
    bytes: int
    sha256: str


def is_installed() -> bool:
    """Whether parts can be written and read here."""
    return find_spec("duckdb") is not None and find_spec("pyarrow") is not None


def refuse_without_libraries() -> None:
    """Raises `MissingLibrary` with the command that installs what parts need."""
    if not is_installed():
        raise MissingLibrary(f"Runs in Parquet parts need DuckDB and pyarrow: {install_extra('analytics')}")


def write(settings: Settings, run_id: int, columns: Columns) -> WrittenFile:
    """A new file of these responses. Raises `OSError` and `MissingLibrary`."""
    refuse_without_libraries()
    import pyarrow as pa

    kinds = {name: pa.string() for name in ("model", "verdict", "failure_group", "trace")}
    kinds |= {name: pa.int64() for name in ("turn_id", "text", "value_digest")}
    names = [column.name for column in fields(columns)]
    table = pa.table({name: pa.array(getattr(columns, name), kinds[name]) for name in names})
    return write_table(settings, run_id, columns.turn_id[0], table)


def write_table(settings: Settings, run_id: int, low: int, table: Any) -> WrittenFile:
    """The same of an Arrow table. A random name, so that a chunk that two workers had is two files."""
    from pyarrow import parquet

    name = f"{FOLDER}/{run_id}-{low}-{token_hex(6)}.parquet"
    path = settings.data / FOLDER / f".{token_hex(12)}.writing"
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = {"turn_id": "DELTA_BINARY_PACKED", "text": "PLAIN", "value_digest": "PLAIN"}
    texts = ["model", "verdict", "failure_group"]
    try:
        parquet.write_table(table, path, compression="zstd", use_dictionary=texts, column_encoding=numbers)
        written = WrittenFile(name, path.stat().st_size, _sha256(path))
        file_store(settings).put(name, path)
    finally:
        path.unlink(missing_ok=True)
    return written


def readable(settings: Settings, part: sa.Row[Any]) -> Path:
    """A local file with the content of a part, a row of `run_part`; its hash is taken once a process.

    Raises `PartDamaged`, `MissingLibrary`, and `StoreUnreachable`.
    """
    refuse_without_libraries()
    path = _local(settings, part)
    try:
        status = path.stat()
    except FileNotFoundError:
        raise _damaged(settings, part, "is not there") from None
    if status.st_size != part.bytes:
        raise _damaged(settings, part, f"has {status.st_size:,} bytes in place of {part.bytes:,}")
    if _known_sha256(path, status.st_size, status.st_mtime_ns) != part.sha256:
        raise _damaged(settings, part, "has another content than was written")
    return path


def _local(settings: Settings, part: sa.Row[Any]) -> Path:
    """The file itself, or a copy of it where the store is elsewhere."""
    store = file_store(settings)
    if isinstance(store, LocalFiles):
        return store.folder / str(part.name)
    copy = settings.data / _COPIES / Path(part.name).name
    if (part_file := store.find(part.name)) is None:
        raise _damaged(settings, part, "is not there")
    if not copy.is_file() or copy.stat().st_size != part_file.size:
        copy.parent.mkdir(parents=True, exist_ok=True)
        unfinished = copy.with_name(f".{token_hex(12)}.writing")
        with store.open(part.name) as file, unfinished.open("wb") as out:
            shutil.copyfileobj(file, out, 1 << 20)
        unfinished.replace(copy)
    return copy


def remove_copies(settings: Settings, but: set[str]) -> None:
    """Remove copies of parts that are none of these names any more."""
    folder = settings.data / _COPIES
    for path in folder.iterdir() if folder.is_dir() else ():
        if f"{FOLDER}/{path.name}" not in but and not path.name.startswith("."):
            path.unlink(missing_ok=True)


def _damaged(settings: Settings, part: sa.Row[Any], what: str) -> PartDamaged:
    return PartDamaged(
        f"{part.name} in {file_store(settings).place}, {part.responses:,} responses of run {part.run_id} under "
        f"{part.profile}, {what}: put it back, or run fencepost replay --parts --profile {part.profile}"
    )


@lru_cache(maxsize=100_000)
def _known_sha256(path: Path, _size: int, _written: int) -> str:
    return _sha256(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
