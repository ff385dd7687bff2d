"""Text was decoded with the wrong encoding."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

from webapp.findings.rule import EVERY_KIND, Detail, Observer, Rule, RuleContext, TurnView, code, number
from webapp.visible import beyond_ascii

_LOOKED_AT = 100_000


@dataclass(frozen=True, slots=True)
class _Misreading:
    """An encoding that UTF-8 is often taken for. `hints` are characters without which nothing is looked at.

    A sequence of two bytes may come about by chance; `pairs` different ones do not. One of three or four is enough.
    `byte_of` is the byte that each character was, `pattern` a head byte and what may follow it.
    """

    name: str
    hints: str
    pairs: int
    byte_of: dict[str, int]
    pattern: re.Pattern[str]


def _misreading(name: str, codecs: tuple[str, ...], hints: str, pairs: int) -> _Misreading:
    byte_of: dict[str, int] = {}
    for codec in codecs:
        for byte in range(0x80, 0x100):  # bytes that Windows leaves undefined stay control characters
            byte_of.setdefault(bytes([byte]).decode(codec, "replace").replace("\ufffd", chr(byte)), byte)
    heads = "".join(re.escape(character) for character, byte in byte_of.items() if 0xC2 <= byte < 0xF5)
    tails = "".join(re.escape(character) for character, byte in byte_of.items() if byte < 0xC0)
    return _Misreading(name, hints, pairs, byte_of, re.compile(f"[{heads}][{tails}]{{1,3}}"))


_misreadings = (
    _misreading("Windows-1252", ("cp1252", "latin-1", "cp1254"), "âÃÂðğÐÑãäåæçèé", 2),
    _misreading("Mac Roman", ("mac_roman",), "‚√\uf8ff", 2),
    _misreading("Windows-1251", ("cp1251",), "Рв", 6),
    _misreading("code page 437", ("cp437",), "Γ├≡", 2),
)
_HINT = re.compile("|".join(hint for misread in _misreadings for hint in misread.hints).encode())


class GarbledTexts(Observer):
    def __init__(self, context: RuleContext) -> None:
        super().__init__(context)
        self.first: Detail = {}

    def see(self, turn: TurnView) -> None:
        raw = turn.raw
        if raw is None or not _HINT.search(beyond_ascii(raw)):
            return
        explained = set(raw[:_LOOKED_AT]) if turn.kind == "response" else set[str]()  # it shows what that stands for
        example = garbled(raw[:_LOOKED_AT], explained)
        if example is not None:
            self.marked.add(turn.position)
            self.first = self.first or dict(zip(("encoding", "seen", "meant"), example, strict=True))

    def detail(self) -> Detail:
        return {**self.first, "texts": self.marked.count}


def garbled(text: str, explained: Set[str]) -> tuple[str, str, str] | None:
    """The encoding that UTF-8 was taken for, a piece as it reads, and what it was meant to be; None for sound text.

    What is meant to be one of the characters `explained` does not count.
    """
    for misread in _misreadings:
        if not any(hint in text for hint in misread.hints):
            continue
        meanings: dict[str, str] = {}
        for match in misread.pattern.finditer(text):
            piece = _meant(match[0], misread.byte_of)
            if piece is not None and piece[1] not in explained:
                meanings.setdefault(*piece)
            if len(meanings) >= misread.pairs or any(len(sequence) > 2 for sequence in meanings):
                longest = max(meanings, key=len)
                return misread.name, longest, meanings[longest]
    return None


def _meant(garble: str, byte_of: dict[str, int]) -> tuple[str, str] | None:
    """A sequence and what it says when its characters are bytes of UTF-8; None where nobody writes that."""
    head = byte_of[garble[0]]
    sequence = garble[: 2 if head < 0xE0 else 3 if head < 0xF0 else 4]
    try:
        meant = bytes(byte_of[character] for character in sequence).decode("utf-8")
    except UnicodeDecodeError:
        return None
    return (sequence, meant) if meant.isprintable() or meant in "\u00a0\ufeff\u200b\u200d" else None


def says(detail: Detail) -> str:
    texts = number(detail["texts"], "text")
    were = "was" if detail["texts"] == 1 else "were"
    example = f"{code(detail['seen'])} was meant to be {code(detail['meant'])}"
    return f"{texts} {were} decoded as {detail['encoding']} and not as UTF-8: {example}"


plugin = Rule("mojibake", "medium", 90, EVERY_KIND, GarbledTexts, says)
