"""This copy of Fencepost, a checkout or an installed wheel: where its files are, how an optional library gets into it.

Fencepost is on no package index, so no command may ask one for `fencepost[…]`.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from webapp.refusals import NotPossible

_PACKAGE = Path(__file__).resolve().parent
_PACKAGED = _PACKAGE / "_packaged"


class MissingLibrary(NotPossible):
    """What is asked for needs a library that is not installed; the message says what to install."""


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


_OF_EXTRA = re.compile(r"""^([^;]+?)\s*;.*\bextra\s*==\s*['"]([\w-]+)['"]""")


def install_extra(extra: str) -> str:
    """The command that installs the libraries of one extra: `make extras EXTRAS=redact`."""
    if is_checkout():
        return f"make extras EXTRAS={extra}"
    return install_command(*_requirements(extra))


def install_command(*distributions: str) -> str:
    """The command that installs packages beside this Fencepost."""
    names = shlex.join(distributions)
    if {"pipx", "venvs"} <= set(Path(sys.prefix).parts):
        return f"pipx inject {shlex.quote(Path(sys.prefix).name)} {names}"
    python = shlex.quote(_python())
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {names}"
    return f"{python} -m pip install {names}"


def _requirements(extra: str) -> list[str]:
    """What the extra requires, as the installed wheel's metadata says: `pyarrow>=18`."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires("fencepost") or []
    except PackageNotFoundError:
        lines = []
    matches = (_OF_EXTRA.match(line) for line in lines)
    return [match[1].strip() for match in matches if match and match[2] == extra]


def _python() -> str:
    """This Python, as short as it can be typed here."""
    executable, here = Path(sys.executable), Path.cwd()
    return str(executable.relative_to(here) if executable.is_relative_to(here) else executable)
