"""The version of a parser: a digest of the code and the files that decide what it gives."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

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


class NoSuchFile(ValueError):
    """A file or folder that a version is to cover is not there."""


def digest(parts: Mapping[str, str]) -> str:
    lines = "".join(f"{name}\0{part}\0" for name, part in sorted(parts.items()))
    return f"code-{hashlib.sha256(lines.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def named(folder: Path, words: Iterable[str]) -> dict[str, str]:
    """Digests of those of a command's words that name a file, also as `--config=FILE`."""
    paths = {word: folder / word.rpartition("=")[2] for word in words}
    return {word: _of_file(path) for word, path in paths.items() if path.is_file()}


def depends(folder: Path, paths: Iterable[str]) -> dict[str, str]:
    """Digests of files, and of all files in folders but hidden and compiled ones. Raises `NoSuchFile`."""
    found = {}
    for text in paths:
        path = folder / text
        if not path.exists():
            raise NoSuchFile(f"--depends names {text}, which is not in {folder}")
        inside = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
        for file in inside:
            name = file.relative_to(path)
            if not any(part.startswith((".", "__pycache__")) for part in name.parts):
                found[f"{text} {name.as_posix()}"] = _of_file(file)
    return found


def _of_file(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
