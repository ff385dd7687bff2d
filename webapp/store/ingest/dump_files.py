"""The folder where dumps are spooled as they come in."""

from __future__ import annotations

import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

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
