"""Draws a decoded value as the rows of a tree, each with the raw characters it came from; never recursive."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from webapp.parsing.edit import Edit, Places, places
from webapp.parsing.nodes import Node, nodes
from webapp.parsing.span import Span
from webapp.parsing.words import counted
from webapp.visible import visible

MAX_ROWS = 300
MAX_STRING = 2_000


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One key or item with its value: a scalar's text, or of a container how much it holds.

    `span` are the raw characters of the value, `whole` those of the key too. `kind` is object, array, string,
    number or word; `size` is None for a scalar, -1 for a container whose end is not in the tree.
    """

    depth: int
    key: str | None
    text: str
    kind: str
    span: Span
    whole: Span
    size: int | None = None

    @property
    def folds(self) -> bool:
        return self.size is not None and self.size != 0


@dataclass(frozen=True, slots=True)
class ValueView:
    """At most `MAX_ROWS` rows of a value that is `length` code points long as text; `cut` where there are more."""

    rows: list[ValueRow]
    cut: bool
    length: int


def view(text: str, span: Span, edits: Sequence[Edit]) -> ValueView:
    """The tree of what `text` decodes to, which is what `edits` make of the raw `span`."""
    parsed_nodes, more = nodes(text, MAX_ROWS)
    mapped = places(span, edits)
    in_array: list[bool] = []
    rows = []
    for node in parsed_nodes:
        del in_array[node.depth :]
        rows.append(_row(text, node, mapped, item=bool(in_array) and in_array[-1]))
        in_array.append(node.kind == "array")
    return ValueView(rows, more, len(text))


def _row(text: str, node: Node, mapped: Places, *, item: bool) -> ValueRow:
    end = node.start + 1 if node.end is None else node.end
    span = mapped.raw(node.start, end)
    whole = mapped.raw(node.key.start, end) if node.key else span
    key = _quoted(text[slice(*node.key)]) if node.key else str(node.place) if item else None
    if node.kind in ("object", "array"):
        size = -1 if node.size is None else node.size
        return ValueRow(node.depth, key, _holds(node), node.kind, span, whole, size)
    text_shown = _quoted(text[node.start : end]) if node.kind == "string" else _cut(text[node.start : end])
    return ValueRow(node.depth, key, text_shown, node.kind, span, whole)


def _holds(node: Node) -> str:
    opener, closer, noun = ("{", "}", "key") if node.kind == "object" else ("[", "]", "item")
    if node.size is None:
        return f"{opener}…"
    return f"{opener} {counted(node.size, noun)} {closer}" if node.size else f"{opener}{closer}"


def _quoted(text: str) -> str:
    """A string as JSON writes it, with nothing escaped that can be read as it is."""
    inner = text[1 : 6 * MAX_STRING + 1].removesuffix('"') if len(text) > MAX_STRING else text[1:-1]
    try:
        value = json.loads(f'"{inner}"', strict=False)
    except ValueError:
        value = inner
    return visible(json.dumps(_cut(value), ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_STRING else f"{text[:MAX_STRING]}⟨{len(text) - MAX_STRING:,} more characters⟩"
