"""The folder where dumps are spooled as they come in."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from webapp.config import Settings
from webapp.store.db import disk_full
from webapp.store.files import file_store

_STALE = 24 * 3600.0
"""seconds after which a file in `incoming` is what a killed process left behind …"""
_BETWEEN = 60.0
"""… and those between two looks for them: a request with hundreds of files looked at all of them for each"""
JOB = "job-"
"""How the files begin that a job owns: they stay until it ends, however long that takes."""


def for_job(path: Path) -> Path:
    """Where a job owns a file of the folder for incoming ones, which is moved there."""
    target = path.with_name(f"{JOB}{secrets.token_hex(8)}")
    path.rename(target)
    return target


def folder(data: Path) -> Path:
    """`dumps` under the data folder, made where it is missing."""
    path = data / "dumps"
    path.mkdir(parents=True, exist_ok=True)
    return path


def incoming(data: Path) -> Path:
    """Where dumps are spooled while they come in; what killed processes left there a day ago is removed."""
    path, now = folder(data) / "incoming", time.monotonic()
    path.mkdir(exist_ok=True)
    if now >= _looked.get(path, now - _BETWEEN) + _BETWEEN:
        _looked[path] = now
        _remove_leftovers(path)
    return path


_looked: dict[Path, float] = {}
"""when this process last looked for what is old"""


def _remove_leftovers(path: Path) -> None:
    """Remove what nobody wrote to for a day and no job owns."""
    for leftover in path.iterdir():
        with suppress(FileNotFoundError):
            if not leftover.name.startswith(JOB) and age(leftover) > _STALE:
                shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink()


def age(path: Path) -> float:
    """Seconds since a file was written to; 0 where it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


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
        tempfile.TemporaryFile(prefix="fetch-", dir=incoming(settings.data)) as copy,
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
