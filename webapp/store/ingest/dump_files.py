"""Files of dumps: the uploads that come in, and those that are kept, compressed, under their hashes, here or where
`FENCEPOST_STORE` says."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps.budget import BadDump
from webapp.dumps.spool import Spooled
from webapp.refusals import NotThere
from webapp.store.files import StoredFile, draft, file_store
from webapp.store.models import Dump

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError, ZstdFile
else:
    from backports.zstd import ZstdError, ZstdFile

_INCOMING = "dumps/incoming"
_A_DAY = 24 * 3600.0
"""seconds after which a file that nobody owns was left by a killed process"""


def incoming(data: Path) -> Path:
    """Where under the data folder dumps are spooled while they come in, made where it is missing."""
    path = data / _INCOMING
    path.mkdir(parents=True, exist_ok=True)
    return path


def share_upload(settings: Settings, path: Path) -> None:
    """Move an upload of this machine to the store of all; raises `StoreUnreachable`, and the upload stays here."""
    file_store(settings).put(f"{_INCOMING}/{path.name}", path)


def open_upload(settings: Settings, name: str) -> BinaryIO:
    """An upload from its beginning, of this machine or of another one; raises `FileNotFoundError`."""
    return file_store(settings).open(f"{_INCOMING}/{name}")


def remove_upload(settings: Settings, name: str) -> None:
    """Remove an upload whose job has ended."""
    file_store(settings).remove(f"{_INCOMING}/{name}")


def remove_left(settings: Settings, live: Collection[str]) -> None:
    """Remove what killed processes left a day ago, and nobody wrote to since, but for uploads of `live` jobs."""
    for path in incoming(settings.data).iterdir():
        with suppress(FileNotFoundError):
            if path.name not in live and time.time() - path.stat().st_mtime > _A_DAY:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()
    store = file_store(settings)
    for file in store.files(_INCOMING) if settings.store else ():
        if file.age > _A_DAY and file.name.rpartition("/")[2] not in live:
            store.remove(file.name)


_KEPT = "dumps"
_ENDING = ".zst"
_PIECE = 1024 * 1024


class NotKept(NotThere):
    """The file of a dump is not kept any more."""


def name_of(sha256: str) -> str:
    """What the file of the dump with that hash is called in its store."""
    return f"{_KEPT}/{sha256}{_ENDING}"


def find(settings: Settings, sha256: str) -> StoredFile | None:
    """What is known of a kept file; None where it is not kept."""
    return file_store(settings).find(name_of(sha256))


def keep(settings: Settings, spooled: Path, sha256: str, on_piece: Callable[[int], None] = lambda _: None) -> None:
    """Compress a spooled dump and keep it, whole or not at all; `on_piece` gets the bytes of each piece."""
    store = file_store(settings)
    if store.find(name_of(sha256)) is not None:
        return
    with draft(incoming(settings.data), "keep-") as path:
        with spooled.open("rb") as source, ZstdFile(path, "wb", level=3) as packed:
            packed.write(b"")  # without this, what is kept of an empty log cannot be read
            while piece := source.read(_PIECE):
                packed.write(piece)
                on_piece(len(piece))
        store.put(name_of(sha256), path)


def remove(settings: Settings, sha256: str) -> None:
    """Remove the file of a dump, if it is kept."""
    file_store(settings).remove(name_of(sha256))


def kept_files(settings: Settings) -> Iterator[tuple[str, StoredFile]]:
    """All kept files with the hash that each is named by."""
    for file in file_store(settings).files(_KEPT):
        if file.name.endswith(_ENDING):
            yield Path(file.name).stem, file


def open_kept(settings: Settings, sha256: str) -> BinaryIO:
    """The content of the dump with that hash, byte for byte, decompressed while it is read, which raises `BadDump`.

    Raises `NotKept`.
    """
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

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except (ZstdError, EOFError) as error:
            raise BadDump(f"the stored file is damaged ({error})", f"byte {self.tell()}") from error

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
        handle, name = tempfile.mkstemp(prefix="again-", dir=incoming(settings.data))
        try:
            with os.fdopen(handle, "wb") as out:
                while piece := source.read(_PIECE if most is None else min(_PIECE, most - size)):
                    digest.update(piece)
                    size += out.write(piece)
            if digest.hexdigest() != sha256:
                raise BadDump("the stored file differs from what was received", f"byte {size}")
        except BaseException:
            Path(name).unlink(missing_ok=True)
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
