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
        path, left, right = stack.pop()
        if left is _MISSING or right is _MISSING:
            side = "a" if left is _MISSING else "b"
            values = (None if left is _MISSING else left, None if right is _MISSING else right)
            return Difference(path, *values, missing=side)
        if isinstance(left, list | tuple) and isinstance(right, list | tuple):
            stack.extend(reversed(list(_items(path, left, right))))
        elif isinstance(left, dict) and isinstance(right, dict):
            stack.extend(reversed(list(_members(path, left, right))))
        elif not _same(left, right):
            return Difference(path, left, right, _character(left, right))
    return None


def _items(path: Path, left: Sequence[Any], right: Sequence[Any]) -> Iterator[tuple[Path, Any, Any]]:
    for index in range(max(len(left), len(right))):
        here, there = (side[index] if index < len(side) else _MISSING for side in (left, right))
        yield (*path, index), here, there


def _members(path: Path, left: dict[str, Any], right: dict[str, Any]) -> Iterator[tuple[Path, Any, Any]]:
    for key in dict.fromkeys((*left, *right)):
        yield (*path, key), left.get(key, _MISSING), right.get(key, _MISSING)


def _same(left: Any, right: Any) -> bool:
    """As JSON has it: 1 is 1.0, true is not 1; NaN is itself."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right or (left != left and right != right))


def _character(left: Any, right: Any) -> int | None:
    if not isinstance(left, str) or not isinstance(right, str):
        return None
    shorter = min(len(left), len(right))
    return next((at for at in range(shorter) if left[at] != right[at]), shorter)
