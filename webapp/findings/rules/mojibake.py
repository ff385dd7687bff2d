"""Text was decoded with the wrong encoding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from webapp.findings.base import About, Detail, Marks, Rule, Seen
from webapp.findings.words import code, number

_LOOKED_AT = 100_000


@dataclass(frozen=True, slots=True)
class _Misread:
    """An encoding that UTF-8 is often taken for. `hints` are characters without which nothing is looked at.

    A sequence of two bytes may come about by chance; `pairs` different ones do not. One of three or four is enough.
    """

    name: str
    codecs: tuple[str, ...]
    hints: str
    pairs: int

    def bytes_of(self) -> dict[str, int]:
        """The byte that each character was; bytes that Windows leaves undefined stay control characters."""
        known: dict[str, int] = {}
        for codec in self.codecs:
            for byte in range(0x80, 0x100):
                known.setdefault(bytes([byte]).decode(codec, "replace").replace("\ufffd", chr(byte)), byte)
        return known


_misreadings = (
    _Misread("Windows-1252", ("cp1252", "latin-1", "cp1254"), "âÃÂðğÐÑãäåæçèé", 2),
    _Misread("Mac Roman", ("mac_roman",), "‚√\uf8ff", 2),
    _Misread("Windows-1251", ("cp1251",), "Рв", 6),
    _Misread("code page 437", ("cp437",), "Γ├≡", 2),
)
_bytes = {misread.name: misread.bytes_of() for misread in _misreadings}


def _pattern(misread: _Misread) -> re.Pattern[str]:
    """A head byte and what may follow it; how many must follow is told by the head."""
    known = _bytes[misread.name]
    heads = "".join(re.escape(character) for character, byte in known.items() if 0xC2 <= byte < 0xF5)
    tails = "".join(re.escape(character) for character, byte in known.items() if byte < 0xC0)
    return re.compile(f"[{heads}][{tails}]{{1,3}}")


_patterns = {misread.name: _pattern(misread) for misread in _misreadings}


class Watch:
    def __init__(self, about: About) -> None:
        self.marks = Marks()
        self.first: Detail = {}

    def see(self, turn: Seen) -> None:
        raw = turn.raw
        if raw is None or raw.isascii():
            return
        found = garbled(raw[:_LOOKED_AT])
        if found is not None:
            self.marks.add(turn.position)
            self.first = self.first or dict(zip(("encoding", "seen", "meant"), found, strict=True))

    def end(self) -> Iterator[tuple[Marks, Detail]]:
        if self.marks:
            yield self.marks, {**self.first, "texts": self.marks.count}


def garbled(text: str) -> tuple[str, str, str] | None:
    """The encoding that UTF-8 was taken for, a piece as it reads, and what it was meant to be; None for sound text."""
    for misread in _misreadings:
        if not any(hint in text for hint in misread.hints):
            continue
        known: dict[str, str] = {}
        for match in _patterns[misread.name].finditer(text):
            piece = _meant(match[0], _bytes[misread.name])
            if piece is not None:
                known.setdefault(*piece)
            if len(known) >= misread.pairs or any(len(seen) > 2 for seen in known):
                seen = max(known, key=len)
                return misread.name, seen, known[seen]
    return None


def _meant(seen: str, known: dict[str, int]) -> tuple[str, str] | None:
    """A sequence and what it says when its characters are bytes of UTF-8; None where nobody writes that."""
    head = known[seen[0]]
    sequence = seen[: 2 if head < 0xE0 else 3 if head < 0xF0 else 4]
    try:
        meant = bytes(known[character] for character in sequence).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return (sequence, meant) if meant.isprintable() or meant in "\u00a0\ufeff\u200b\u200d" else None


def says(detail: Detail) -> str:
    texts = number(detail["texts"], "text")
    were = "was" if detail["texts"] == 1 else "were"
    example = f"{code(detail['seen'])} was meant to be {code(detail['meant'])}"
    return f"{texts} {were} decoded as {detail['encoding']} and not as UTF-8: {example}"


plugin = Rule(
    "mojibake", "medium", 90, ("response", "tool_call", "tool_result", "prompt", "error", "event"), Watch, says
)
