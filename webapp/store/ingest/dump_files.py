"""Keeps each dump's file, compressed, beside the database, and lets one process at a time read a dump."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from webapp.dumps.records import BadDump
from webapp.dumps.spool import Spooled

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdError, ZstdFile
else:
    from backports.zstd import ZstdError, ZstdFile

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_PIECE = 1024 * 1024
_STALE = 24 * 3600.0
"""seconds after which a file in `incoming` is what a killed process left behind"""
_LOOK = 0.1
"""seconds between two looks whether somebody else still reads a dump"""
JOB = "job-"
"""How the files begin that a job owns: they stay until it ends, however long that takes."""


class NotKept(LookupError):
    """The file of a dump is not in the data folder any more."""


def folder(data: Path) -> Path:
    """`dumps` under the data folder, made where it is missing."""
    path = data / "dumps"
    path.mkdir(parents=True, exist_ok=True)
    return path


def incoming(data: Path) -> Path:
    """Where dumps are spooled while they come in; what killed processes left there is removed.

    The first that comes while no other process spools there removes all of it, else what is old goes.
    """
    path = folder(data) / "incoming"
    path.mkdir(exist_ok=True)
    oldest = 0.0 if _is_first(path) else _STALE
    for leftover in path.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if not leftover.name.startswith(JOB) and age(leftover) > oldest:
                shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink()
    return path


def _is_first(path: Path) -> bool:
    """Whether this process spools in `path` from now on, and no other one does: each holds a shared lock till it ends.

    Of several folders, which only tests have, it is the last one's lock that is held.
    """
    if sys.platform == "win32":
        return False
    with _one_thread:  # else a second one that comes at once lets go of the first one's lock, and removes its file
        if _spooling.get(path) == os.getpid():
            return False
        for handle in (_handles.pop() for _ in range(len(_handles))):
            os.close(handle)
        handle = os.open(path, os.O_RDONLY)
        is_first = _lock(handle)
        fcntl.flock(handle, fcntl.LOCK_SH)
        _handles.append(handle)
        _spooling.clear()
        _spooling[path] = os.getpid()
        return is_first


_one_thread = threading.Lock()
_spooling: dict[Path, int] = {}
"""the folder that this process spools in, with its number: a fork has to lock again"""
_handles: list[int] = []


def age(path: Path) -> float:
    """Seconds since a file was written to; 0 where it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def path_of(data: Path, sha256: str) -> Path:
    """Where the dump with that hash is kept."""
    return folder(data) / f"{sha256}.zst"


def keep(data: Path, spooled: Path, sha256: str, on_piece: Callable[[int], None] = lambda _: None) -> Path:
    """Compress a spooled dump into its place, whole or not at all; `on_piece` gets the count of each piece."""
    target = path_of(data, sha256)
    if target.exists():
        return target
    with (
        whole_file(target, "keep-", incoming(data)) as out,
        spooled.open("rb") as source,
        ZstdFile(out, "wb", level=3) as packed,
    ):
        while piece := source.read(_PIECE):
            packed.write(piece)
            on_piece(len(piece))
    return target


@contextmanager
def whole_file(target: Path, prefix: str, folder: Path) -> Iterator[BinaryIO]:
    """A new file in `folder` that comes to stand at `target`, safe from a power cut, once all is written to it."""
    handle, name = tempfile.mkstemp(prefix=prefix, dir=folder)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def open_kept(data: Path, sha256: str) -> BinaryIO:
    """The content of the dump with that hash, byte for byte, decompressed while it is read; raises `NotKept`."""
    try:
        return cast(BinaryIO, ZstdFile(path_of(data, sha256), "rb"))
    except FileNotFoundError:
        raise NotKept(f"the file of the dump {sha256} is not in {folder(data)} any more") from None


def unpacked(data: Path, sha256: str) -> Spooled:
    """A kept dump as `spool` left it when it came in; the caller removes the file.

    Raises `NotKept`, and `BadDump` where what was kept is not what came in.
    """
    digest, size = hashlib.sha256(), 0
    with open_kept(data, sha256) as source:
        handle, name = tempfile.mkstemp(prefix="again-", dir=incoming(data))
        try:
            with os.fdopen(handle, "wb") as out:
                for piece in iter(lambda: source.read(_PIECE), b""):
                    digest.update(piece)
                    size += out.write(piece)
            if digest.hexdigest() != sha256:
                raise BadDump("the kept file does not hold what came in", f"byte {size}")
        except (ZstdError, EOFError) as error:
            Path(name).unlink(missing_ok=True)
            raise BadDump(f"the kept file is damaged ({error})", f"byte {size}") from error
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    return Spooled(Path(name), sha256, size)


@contextmanager
def reading(data: Path, sha256: str, waits: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock on one dump; who comes second waits, and `waits` is called meanwhile, which may raise.

    A killed process lets go of it by itself.
    """
    path = folder(data) / f"{sha256}.lock"
    while (handle := _taken(path)) is None:
        waits()
        time.sleep(_LOOK)
    with _held(handle, path):
        yield


@contextmanager
def alone(data: Path, name: str) -> Iterator[bool]:
    """Hold the lock `name` (a dump's hash, or "worker") without waiting; False where another process holds it."""
    path = folder(data) / f"{name}.lock"
    if (handle := _taken(path)) is None:
        yield False
        return
    with _held(handle, path):
        yield True


def _taken(path: Path) -> int | None:
    """A handle that holds the lock, None where another one does."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if _lock(handle) and _is_current(handle, path):
        return handle
    os.close(handle)
    return None


@contextmanager
def _held(handle: int, path: Path) -> Iterator[None]:
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _is_current(handle: int, path: Path) -> bool:
    """Whether the locked file is still the one at `path`: who held it before removes it."""
    try:
        return os.fstat(handle).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
