"""The files that jobs own: in the data folder, or where `FENCEPOST_STORE` says, so that any machine can read them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from webapp.config import Settings
from webapp.store.db import disk_full
from webapp.store.files import file_store
from webapp.store.ingest import dump_files

_FOLDER = "dumps/incoming"
_LEFT = 24 * 3600.0
"""seconds after which a shared upload that no job owns was left by a killed process"""


def share(settings: Settings, path: Path) -> None:
    """Move an upload of this machine to the store of all; raises `StoreUnreachable`, and the upload stays here."""
    file_store(settings).put(f"{_FOLDER}/{path.name}", path)


@contextmanager
def opened(settings: Settings, name: str) -> Iterator[BinaryIO]:
    """An upload from its beginning, of this machine or of another one; raises `FileNotFoundError`."""
    if not settings.store:
        with (settings.data / _FOLDER / name).open("rb") as stream:
            yield stream
        return
    with (
        disk_full.in_words(),
        file_store(settings).open(f"{_FOLDER}/{name}") as shared,
        tempfile.TemporaryFile(prefix="fetch-", dir=dump_files.incoming(settings.data)) as copy,
    ):
        shutil.copyfileobj(shared, copy, 1024 * 1024)
        copy.seek(0, os.SEEK_SET)
        yield copy


def remove(settings: Settings, name: str) -> None:
    """Remove an upload whose job has ended."""
    file_store(settings).remove(f"{_FOLDER}/{name}")


def remove_left(settings: Settings, live: Collection[str]) -> None:
    """Remove what killed processes left in a shared store: uploads of no live job, after a day."""
    if not settings.store:
        return
    store = file_store(settings)
    for file in store.files(_FOLDER):
        if file.age > _LEFT and file.name.rpartition("/")[2] not in live:
            store.remove(file.name)
