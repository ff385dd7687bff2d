"""The text that an attempt decoded, as its edits made it, and the value that it decodes to as a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from webapp.parsing.drawing import Node, nodes
from webapp.parsing.edit import Edit, Places, Span, places
from webapp.parsing.words import counted
from webapp.visible import TextRun, line_runs, runs, visible
from webapp.web.rawview import DrawnText

WHOLE_LENGTH = 8_000
"""Code points of decoded text shown in one piece."""
MARGIN = 300
"""Of a longer text, what is shown of each stretch beside an edit."""
MAX_EDITS = 200


def view(raw: str, span: Span, edits: Sequence[Edit], length: int) -> dict[str, Any]:
    """The decoded text of `length` code points, with every insertion marked and every removal noted by a caret;
    `edits_left` edits come after the last one drawn."""
    drawn_edits = edits[:MAX_EDITS]
    margin = WHOLE_LENGTH if length <= WHOLE_LENGTH else MARGIN
    bits = list(_pieces(raw, span, drawn_edits, margin))
    return {"bits": bits, "length": length, "edits_left": len(edits) - len(drawn_edits)}


def _pieces(raw: str, span: Span, edits: Sequence[Edit], margin: int) -> Iterator[DrawnText]:
    at = span.start
    for number, edit in enumerate(edits, 1):
        yield from _plain(raw, at, edit.span.start, margin)
        yield DrawnText("ins", tuple(_lines(edit.new)) or (TextRun("‸"),), title=edit.repair, edit=number)
        at = edit.span.end
    yield from _plain(raw, at, span.end, margin)


def _plain(raw: str, start: int, end: int, margin: int) -> Iterator[DrawnText]:
    hidden = end - start - 2 * margin
    if hidden > 0:
        yield DrawnText("text", tuple(runs(raw[start : start + margin])))
        yield DrawnText("gap", hidden=hidden)
        start = end - margin
    if start < end:
        yield DrawnText("text", tuple(runs(raw[start:end])))


def _lines(text: str) -> Iterator[TextRun]:
    """Runs of a changed text, of a long one its beginning; its line feeds as glyphs, since they are what changed."""
    cut = text[: 2 * MARGIN]
    yield from line_runs(cut)
    if len(text) > len(cut):
        yield TextRun(f"⟨{len(text) - len(cut):,} more characters⟩")


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


def value_view(text: str, span: Span, edits: Sequence[Edit]) -> dict[str, Any]:
    """The tree of what `text` decodes to, which is what `edits` make of the raw `span`; `cut` at `MAX_ROWS` rows."""
    parsed_nodes, more = nodes(text, MAX_ROWS)
    mapped = places(span, edits)
    return {"rows": [_row(text, node, mapped) for node in parsed_nodes], "cut": more, "length": len(text)}


def _row(text: str, node: Node, mapped: Places) -> ValueRow:
    end = node.start + 1 if node.end is None else node.end
    span = mapped.raw(node.start, end)
    whole = mapped.raw(node.key.start, end) if node.key else span
    key = _quoted(text[slice(*node.key)]) if node.key else str(node.place) if node.is_item else None
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
