"""The first difference between two values, by its path: `[0].arguments.code`, character 12."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MISSING = object()
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """`path` leads to the first place where two values differ; `at` is the character, where both are texts there.
    `missing` says on which side there is nothing at all: "a", "b" or None."""

    path: Path
    a: Any
    b: Any
    at: int | None = None
    missing: str | None = None

    @property
    def where(self) -> str:
        """In words: `at .arguments.code, character 12`."""
        place = f"at {path_text(self.path)}" if self.path else "at the top"
        return place + (f", character {self.at + 1:,}" if self.at is not None else "")


def path_text(path: Sequence[str | int]) -> str:
    """`[0].tool`, `["a key"][2]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else _key(step) for step in path)


def _key(name: str) -> str:
    return f".{name}" if _NAME.fullmatch(name) else f"[{name!r}]"


def first(a: Sequence[Any], b: Sequence[Any]) -> Difference | None:
    """The first difference of two lists of values, keys in the order of `a`; None where they are the same JSON."""
    stack: list[tuple[Path, Any, Any]] = [((), list(a), list(b))]
    while stack:
        path, before, after = stack.pop()
        if before is _MISSING or after is _MISSING:
            side = "a" if before is _MISSING else "b"
            values = (None if before is _MISSING else before, None if after is _MISSING else after)
            return Difference(path, *values, missing=side)
        if isinstance(before, list | tuple) and isinstance(after, list | tuple):
            stack.extend(reversed(list(_items(path, before, after))))
        elif isinstance(before, dict) and isinstance(after, dict):
            stack.extend(reversed(list(_members(path, before, after))))
        elif not _same(before, after):
            return Difference(path, before, after, _character(before, after))
    return None


def _items(path: Path, before: Sequence[Any], after: Sequence[Any]) -> Iterator[tuple[Path, Any, Any]]:
    for index in range(max(len(before), len(after))):
        before_item, after_item = (side[index] if index < len(side) else _MISSING for side in (before, after))
        yield (*path, index), before_item, after_item


def _members(path: Path, before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    for key in dict.fromkeys((*before, *after)):
        yield (*path, key), before.get(key, _MISSING), after.get(key, _MISSING)


def _same(before: Any, after: Any) -> bool:
    """As JSON has it: 1 is 1.0, true is not 1; NaN is itself."""
    if isinstance(before, bool) or isinstance(after, bool):
        return before is after
    return bool(before == after or (before != before and after != after))


def _character(before: Any, after: Any) -> int | None:
    if not isinstance(before, str) or not isinstance(after, str):
        return None
    shorter = min(len(before), len(after))
    return next((at for at in range(shorter) if before[at] != after[at]), shorter)
