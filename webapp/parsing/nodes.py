"""Where each key and value of a JSON text stands: a span-tracking scanner for display, linear and never recursive."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from webapp.parsing.patterns import later
from webapp.parsing.span import Span

Kind = Literal["object", "array", "string", "number", "word"]

_token = later(
    r'[ \t\n\r]*+(?:("(?:[^"\\]++|\\[\s\S])*+")|([{\[])|([}\]])|([,:])'
    r"|(-?[0-9][0-9.eE+-]*+)|(true|false|null|NaN|-?Infinity))"
)
_STRING, _OPEN, _CLOSE, _MARK, _NUMBER = range(1, 6)


@dataclass(slots=True)
class Node:
    """One value of the text; `key` spans its key with the quotes, `place` counts its elder siblings.

    `end` and `size` (the number of children) are None for a container whose end was not reached.
    """

    depth: int
    kind: Kind
    start: int
    end: int | None
    key: Span | None = None
    place: int = 0
    size: int | None = None


@dataclass(slots=True)
class _Scan:
    text: str
    nodes: list[Node] = field(default_factory=list)
    open: list[Node] = field(default_factory=list)
    counts: list[int] = field(default_factory=lambda: [0])
    key: Span | None = None
    key_next: bool = False

    def add(self, kind: Kind, start: int, end: int | None) -> None:
        self.nodes.append(Node(len(self.open), kind, start, end, self.key, self.counts[-1]))
        self.counts[-1] += 1
        self.key = None

    def opened(self, at: int, kind: Kind) -> None:
        self.add(kind, at, None)
        self.open.append(self.nodes[-1])
        self.counts.append(0)
        self.key_next = kind == "object"

    def closed(self, end: int) -> None:
        if self.open:
            node = self.open.pop()
            node.end, node.size = end, self.counts.pop()
        self.key_next = False

    def mark(self, character: str) -> None:
        self.key_next = character == "," and bool(self.open) and self.open[-1].kind == "object"


def nodes(text: str, limit: int) -> tuple[list[Node], bool]:
    """The first `limit` values of a text that decodes, in its order, and whether there are more.

    Of a text that does not decode, what stands before the first character that is no JSON.
    """
    scan = _Scan(text)
    at = 0
    while match := _token.match(text, at):
        at = match.end()
        group = match.lastindex or 0
        start = match.start(group)
        if group == _STRING and scan.key_next:
            scan.key, scan.key_next = Span(start, at), False
        elif group == _MARK:
            scan.mark(match[group])
        elif group == _CLOSE:
            scan.closed(at)
        elif len(scan.nodes) == limit:
            return scan.nodes, True
        elif group == _OPEN:
            scan.opened(start, "object" if match[group] == "{" else "array")
        else:
            scan.add("string" if group == _STRING else "number" if group == _NUMBER else "word", start, at)
    return scan.nodes, False
