"""Draws a decoded value as rows of indented JSON; never recursive, so that no depth can break it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webapp import jsontext
from webapp.web.glyphs import visible

MAX_ROWS = 400
MAX_STRING = 2_000


@dataclass(frozen=True, slots=True)
class Row:
    """One line: `text` is punctuation or a scalar, `kind` says which (open, close, string, number, word)."""

    depth: int
    key: str | None
    text: str
    kind: str
    comma: bool = False


@dataclass(frozen=True, slots=True)
class ValueView:
    rows: list[Row]
    cut: bool


def view(value: Any) -> ValueView:
    """At most `MAX_ROWS` rows of `value`; `cut` says whether there were more."""
    rows: list[Row] = []
    for row in _rows(value):
        if len(rows) == MAX_ROWS:
            return ValueView(rows, True)
        rows.append(row)
    return ValueView(rows, False)


_CLOSE = object()


def _rows(value: Any) -> Iterator[Row]:
    stack: list[tuple[int, str | None, Any, bool]] = [(0, None, value, True)]
    while stack:
        depth, key, item, last = stack.pop()
        if isinstance(item, tuple) and item and item[0] is _CLOSE:
            yield Row(depth, None, item[1], "close", not last)
        elif isinstance(item, dict | list) and item:
            pair = "{}" if isinstance(item, dict) else "[]"
            yield Row(depth, key, pair[0], "open")
            stack.append((depth, None, (_CLOSE, pair[1]), last))
            stack.extend(reversed(list(_children(item, depth + 1))))
        else:
            yield _scalar(depth, key, item, last)


def _children(item: dict[str, Any] | list[Any], depth: int) -> Iterator[tuple[int, str | None, Any, bool]]:
    final = len(item) - 1
    if isinstance(item, dict):
        for index, (key, child) in enumerate(item.items()):
            yield depth, _quoted(key), child, index == final
    else:
        for index, child in enumerate(item):
            yield depth, None, child, index == final


def _scalar(depth: int, key: str | None, item: Any, last: bool) -> Row:
    if isinstance(item, str):
        return Row(depth, key, _quoted(item), "string", not last)
    if isinstance(item, dict | list):
        return Row(depth, key, "{}" if isinstance(item, dict) else "[]", "word", not last)
    kind = "word" if item is None or isinstance(item, bool) else "number"
    return Row(depth, key, scalar(item), kind, not last)


def scalar(item: Any) -> str:
    """A number or word as JSON writes it, an integer too long for Python to print as a note on its size."""
    try:
        return jsontext.dumps(item)
    except ValueError:
        return f"⟨integer of {item.bit_length():,} bits⟩"


def _quoted(text: str) -> str:
    cut = text[:MAX_STRING]
    tail = f"⟨{len(text) - MAX_STRING:,} more⟩" if len(text) > MAX_STRING else ""
    escaped = (
        cut.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    )
    return f'"{visible(escaped)}{tail}"'
