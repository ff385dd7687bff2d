"""The folder where dumps are spooled as they come in."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from webapp.store.db import locks

if sys.platform != "win32":
    import fcntl

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
    """Where dumps are spooled while they come in; what killed processes left there is removed.

    The first that comes while no other process spools there removes all of it, else what is old goes.
    """
    path = folder(data) / "incoming"
    path.mkdir(exist_ok=True)
    with _one_thread:  # else one that comes meanwhile loses what it spools, as a leftover
        is_first, now = _is_first(path), time.monotonic()
        if is_first or now >= _looked.get(path, now - _BETWEEN) + _BETWEEN:
            _looked.clear()
            _looked[path] = now
            _remove_leftovers(path, 0.0 if is_first else _STALE)
    return path


def _remove_leftovers(path: Path, oldest: float) -> None:
    """Remove what nobody wrote to for so many seconds and no job owns."""
    for leftover in path.iterdir():
        with suppress(FileNotFoundError):
            if not leftover.name.startswith(JOB) and age(leftover) > oldest:
                shutil.rmtree(leftover, ignore_errors=True) if leftover.is_dir() else leftover.unlink()


def _is_first(path: Path) -> bool:
    """Whether this process spools in `path` from now on, and no other one does: each holds a shared lock till it ends.

    Of several folders, which only tests have, it is the last one's lock that is held.
    """
    if sys.platform == "win32" or _spooling.get(path) == os.getpid():
        return False
    for handle in (_handles.pop() for _ in range(len(_handles))):
        os.close(handle)
    handle = os.open(path, os.O_RDONLY)
    is_first = locks.lock(handle)
    fcntl.flock(handle, fcntl.LOCK_SH)
    _handles.append(handle)
    _spooling.clear()
    _spooling[path] = os.getpid()
    return is_first


_one_thread = threading.Lock()
_spooling: dict[Path, int] = {}
"""the folder that this process spools in, with its number: a fork has to lock again"""
_handles: list[int] = []
_looked: dict[Path, float] = {}
"""when this process last looked for what is old, of the folder that it spools in"""


def age(path: Path) -> float:
    """Seconds since a file was written to; 0 where it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
