"""Finds the files that ship beside the code, in a checkout and in an installed wheel alike."""

from __future__ import annotations

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_PACKAGED = _PACKAGE / "_packaged"


def resource(name: str) -> Path:
    """The folder `templates`, `static`, `migrations`, `examples` or `docs`: packaged, or else of the checkout."""
    packaged = _PACKAGED / name
    return packaged if packaged.is_dir() else _PACKAGE.parent / name


def is_checkout() -> bool:
    """Whether this code runs in a checkout, with its Makefile beside it, and was not installed from a wheel."""
    return (_PACKAGE.parent / "pyproject.toml").is_file()


def default_data() -> Path:
    """Where data goes unless `FENCEPOST_DATA` says otherwise: the checkout's `data`, or the user's data folder."""
    if is_checkout():
        return _PACKAGE.parent / "data"
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "fencepost"
