"""Keeps each dump's file, compressed, under its hash: in the data folder, or where `FENCEPOST_STORE` says."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps.records import BadDump
from webapp.dumps.spool import Spooled
from webapp.store.files import StoredFile, draft, file_store
from webapp.store.ingest import dump_files
from webapp.store.models import Dump

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError, ZstdFile
else:
    from backports.zstd import ZstdError, ZstdFile

_FOLDER = "dumps"
_ENDING = ".zst"
_PIECE = 1024 * 1024


class NotKept(LookupError):
    """The file of a dump is not kept any more."""


def name_of(sha256: str) -> str:
    """What the file of the dump with that hash is called in its store."""
    return f"{_FOLDER}/{sha256}{_ENDING}"


def find(settings: Settings, sha256: str) -> StoredFile | None:
    """What is known of a kept file; None where it is not kept."""
    return file_store(settings).find(name_of(sha256))


def keep(settings: Settings, spooled: Path, sha256: str, on_piece: Callable[[int], None] = lambda _: None) -> None:
    """Compress a spooled dump and keep it, whole or not at all; `on_piece` gets the bytes of each piece."""
    store = file_store(settings)
    if store.find(name_of(sha256)) is not None:
        return
    with draft(dump_files.incoming(settings.data), "keep-") as path:
        with spooled.open("rb") as source, ZstdFile(path, "wb", level=3) as packed:
            while piece := source.read(_PIECE):
                packed.write(piece)
                on_piece(len(piece))
        store.put(name_of(sha256), path)


def remove(settings: Settings, sha256: str) -> None:
    """Remove the file of a dump, if it is kept."""
    file_store(settings).remove(name_of(sha256))


def files(settings: Settings) -> Iterator[tuple[str, StoredFile]]:
    """All kept files with the hash that each is named by."""
    for file in file_store(settings).files(_FOLDER):
        if file.name.endswith(_ENDING):
            yield Path(file.name).stem, file


def open_kept(settings: Settings, sha256: str) -> BinaryIO:
    """The content of the dump with that hash, byte for byte, decompressed while it is read; raises `NotKept`."""
    store = file_store(settings)
    try:
        return cast(BinaryIO, _Unpacked(store.open(name_of(sha256))))
    except FileNotFoundError:
        raise NotKept(f"the file of the log {sha256} is not in {store.place} any more") from None


class _Unpacked(ZstdFile):
    """What is in a packed file, which is closed with it."""

    def __init__(self, packed: BinaryIO) -> None:
        super().__init__(packed, "rb")
        self._packed = packed

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._packed.close()


def unpacked(settings: Settings, sha256: str, most: int | None = None) -> Spooled:
    """A kept dump as `spool` left it when it came in, its first `most` bytes; the caller removes the file.

    Raises `NotKept`, and `BadDump` where what was kept is not what came in.
    """
    digest, size = hashlib.sha256(), 0
    with open_kept(settings, sha256) as source:
        handle, name = tempfile.mkstemp(prefix="again-", dir=dump_files.incoming(settings.data))
        try:
            with os.fdopen(handle, "wb") as out:
                while piece := source.read(_PIECE if most is None else min(_PIECE, most - size)):
                    digest.update(piece)
                    size += out.write(piece)
            if digest.hexdigest() != sha256:
                raise BadDump("the stored file differs from what was received", f"byte {size}")
        except BaseException as error:
            Path(name).unlink(missing_ok=True)
            if isinstance(error, (ZstdError, EOFError)):
                raise BadDump(f"the stored file is damaged ({error})", f"byte {size}") from error
            raise
    return Spooled(Path(name), sha256, size)


def former(connection: sa.Connection, spooled: Spooled, filename: str, format: str | None) -> tuple[int, str] | None:  # noqa: A002
    """The dump (id, sha256) of the same name and format that this one begins with, byte for byte."""
    query = sa.select(Dump.id, Dump.sha256, Dump.bytes).where(
        Dump.format == format, Dump.filename == filename, Dump.bytes < spooled.bytes, Dump.state == "done"
    )
    for row in connection.execute(query.order_by(Dump.id.desc()).limit(10)).all():
        if _beginning(spooled.path, row.bytes) == row.sha256:
            return row.id, row.sha256
    return None


def _beginning(path: Path, size: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (piece := file.read(min(size, _PIECE))):
            digest.update(piece)
            size -= len(piece)
    return digest.hexdigest()
