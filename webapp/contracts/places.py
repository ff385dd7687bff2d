"""Where the value at a JSON path stands in the text that it was read from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]

_SPACE = re.compile(r"[ \t\n\r]*")
_decode = json.JSONDecoder(strict=False).raw_decode

Span = tuple[int, int]


def value_span(text: str, path: Sequence[str | int]) -> Span:
    """The span of the value at `path`. `text` is JSON; raises `KeyError` where the path does not lead into it."""
    return _followed(text, path)


def key_span(text: str, path: Sequence[str | int], key: str) -> Span:
    """The span of a key of the object at `path`, its quotes included. Raises `KeyError`."""
    start, _ = _followed(text, path)
    return _last(_members(text, start), key)[0]


def closing_span(text: str, path: Sequence[str | int]) -> Span:
    """The span of the bracket that closes the object or list at `path`. Raises `KeyError`."""
    _, end = _followed(text, path)
    return end - 1, end


def _followed(text: str, path: Sequence[str | int]) -> Span:
    start = _skip(text, 0)
    for step in path:
        if isinstance(step, str):
            start = _last(_members(text, start), step)[1][0]
        else:
            start = next((span[0] for index, span in enumerate(_items(text, start)) if index == step), -1)
            if start < 0:
                raise KeyError(step)
    return start, _decode(text, start)[1]


def _last(members: Iterator[tuple[str, Span, Span]], key: str) -> tuple[Span, Span]:
    """Of a key that comes twice, the last counts, as for whoever reads the value."""
    found = [(key_at, value_at) for name, key_at, value_at in members if name == key]
    if not found:
        raise KeyError(key)
    return found[-1]


def _members(text: str, start: int) -> Iterator[tuple[str, Span, Span]]:
    """Each key of the object that begins at `start`, the span of it, and of its value."""
    at = _skip(text, start + 1)
    while text[start] == "{" and text[at] == '"':
        key, after = scanstring(text, at + 1, False)
        begin = _skip(text, _skip(text, after) + 1)
        end = _decode(text, begin)[1]
        yield key, (at, after), (begin, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _items(text: str, start: int) -> Iterator[Span]:
    at = _skip(text, start + 1)
    while text[start] == "[" and text[at] != "]":
        end = _decode(text, at)[1]
        yield at, end
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
