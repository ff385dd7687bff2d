"""The code that decides what a parser gives, as digests; standard library only, Python 3.9 to 3.14.

The child imports this file under a name of its own, beside packages that may be called like ours: hence `from .`.
"""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path

STANDARD_FOLDERS = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
FILE_MODULE = "fencepost_parser"  # what a parser's file is called among the modules
_OURS = str(Path(__file__).parent) + os.sep


def loaded() -> dict[str, str]:
    """By module the digest of its file, and by distribution its release, of all that this process has imported.

    Modules of the standard library stand as the interpreter's version. The same code gives the same digests wherever it
    lies.
    """
    code = {"python": ".".join(map(str, sys.version_info[:2]))}
    for name, module in sorted(sys.modules.items()):
        path = getattr(module, "__file__", None) or ""
        if not path or path.startswith(_OURS) or (path.startswith(STANDARD_FOLDERS) and "site-packages" not in path):
            continue
        release = _release(name.partition(".")[0]) if "-packages" in path else None
        code.update([release or (name, _of_module(path))])
    return code


def _of_file(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@cache
def _of_module(path: str) -> str:
    return _of_file(Path(path))


@cache
def _release(package: str) -> tuple[str, str] | None:
    """The installed distribution that has a package, and its version; None where none says so."""
    for name, version, files in _distributions():
        if any(f"\n{package}{end}" in files for end in ("/", ".py", ".cpython", ".abi3", "\n")):
            return f"release {name}", version
    return None


@lru_cache(maxsize=1)
def _distributions() -> list[tuple[str, str, str]]:
    """Name, version and the names of files or packages of each that is installed."""
    distributions = []
    for distribution in metadata.distributions():
        files = distribution.read_text("RECORD") or distribution.read_text("top_level.txt") or ""
        distributions.append((distribution.metadata["Name"] or "", distribution.version, f"\n{files}\n"))
    return distributions


SAMPLE = (
    '{"a": 1}',
    'Sure!\n```json\n{"tool": "search", "arguments": {"q": "x"}}\n```\nDone.',
    "{'a': True, 'b': [1, 2,],} // and so on",
    '<tool_call>\n{"name": "search", "arguments": {"q": "x"}}\n</tool_call>',
    '[{"a": "b", }',
    "Sorry, I cannot help with that.",
)
"""texts that a parser is run over, so that what it imports within a call is loaded too"""
SAMPLE_SECONDS = 2.0


def digest(parts: Mapping[str, str]) -> str:
    lines = "".join(f"{name}\0{part}\0" for name, part in sorted(parts.items()))
    return f"code-{hashlib.sha256(lines.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def named(folder: Path, words: Iterable[str]) -> dict[str, str]:
    """Digests of those of a command's words that name a file, also as `--config=FILE`."""
    paths = {word: folder / word.rpartition("=")[2] for word in words}
    return {word: _of_file(path) for word, path in paths.items() if path.is_file()}


def depends(folder: Path, paths: Iterable[str]) -> dict[str, str]:
    """Digests of files, and of all files in folders but hidden and compiled ones. Raises `FileNotFoundError`."""
    files = {}
    for text in paths:
        path = folder / text
        if not path.exists():
            raise FileNotFoundError(f"--depends names {text}, which is not in {folder}")
        inside = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        for file in inside:
            name = file.relative_to(path)
            if not any(part.startswith((".", "__pycache__")) for part in name.parts):
                files[f"{text} {name.as_posix()}"] = _of_file(file)
    return files
