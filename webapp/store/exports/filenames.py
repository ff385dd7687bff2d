"""File names for sessions: plain ids stay as they are, all others become names that are safe on every system."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

LONGEST = 200
"""bytes, the suffix not counted; file systems take 255"""

_PLAIN = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}


def safe_name(external_id: str) -> str:
    """A file name without folder and suffix for a session id; no two ids share one.

    An id of ASCII letters, digits, `_`, `-` and single inner dots stays as it is, unless it is one of Windows'
    device names or too long. All others are percent-encoded and get `~` and a hash: `~` stands in no plain id.
    """
    is_device = external_id.partition(".")[0].lower() in _DEVICES
    is_plain = len(external_id) <= LONGEST and not is_device and _PLAIN.fullmatch(external_id) is not None
    return external_id if is_plain else _hashed(external_id)


def path_in(folder: Path, external_id: str, suffix: str) -> Path:
    """Where in `folder` the session's file is: where a file system folds case, not on another session's file."""
    path = folder / f"{safe_name(external_id)}{suffix}"
    if not path.exists() or path.name in {entry.name for entry in folder.iterdir()}:
        return path
    return folder / f"{_hashed(external_id)}{suffix}"


def _hashed(external_id: str) -> str:
    data = external_id.encode("utf-8", "surrogatepass")
    safe = "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in data[:LONGEST])
    safe = re.sub(r"%[0-9A-F]?$", "", safe[: LONGEST - 17])
    return f"{safe.lstrip('.')}~{hashlib.sha256(data).hexdigest()[:16]}"
