"""Writes the state of a reading or of a fold as bytes, and reads them again: data of our own classes, and nothing else.

Bytes that name any other class or function are refused, whoever wrote them; so are those that other code wrote.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

_PACKAGES = ("webapp.dumps.", "webapp.findings.", "webapp.parsing.", "webapp.store.write.")
_PLAIN = {
    "array": ("array", "_array_reconstructor"),
    "builtins": ("bytearray", "set", "frozenset"),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "datetime": ("date", "datetime", "timedelta", "timezone"),
}
_SOURCES = (
    *("dumps/**/*.py", "findings/**/*.py", "parsing/**/*.py", "store/write/*.py"),
    *("saved_state.py", "text_hash.py"),
)


class NotSaved(ValueError):
    """A value is none that can be saved, or bytes are none that this code wrote."""


def saved(value: Any) -> bytes:
    """`value` as bytes. Raises `NotSaved`."""
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError, ValueError) as error:
        raise NotSaved(f"it cannot be saved: {error}") from error


def restored(data: bytes) -> Any:
    """What `saved` was given. Raises `NotSaved`."""
    return read(io.BytesIO(data))


def read(file: BinaryIO) -> Any:
    """As `restored`, of what stands next in a file."""
    try:
        return _Reader(file).load()
    except Exception as error:  # whatever damaged bytes make pickle raise
        raise NotSaved(f"it cannot be read: {error}") from error


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        if module.startswith(_PACKAGES):
            kind = super().find_class(module, name)
            if isinstance(kind, type) and kind.__module__.startswith(_PACKAGES) and _holds_data(kind):
                return kind
        raise NotSaved(f"{module}.{name} is no class of a state")


def _holds_data(kind: type) -> bool:
    return (
        is_dataclass(kind) or getattr(kind, "is_saved", False) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))
    )


@cache
def made_by() -> str:
    """What changes with the code that makes states: those of any other are not read."""
    folder = Path(__file__).parent
    digest = hashlib.sha256(repr((sys.version_info[:2], sys.byteorder)).encode())
    for pattern in _SOURCES:
        for path in sorted(folder.glob(pattern)):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
