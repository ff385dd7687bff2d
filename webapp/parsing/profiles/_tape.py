"""A text that is read from the left, and the pieces of another one that is written of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from webapp.parsing.edit import Edit
from webapp.parsing.span import Span

SPACE, SPECIAL = " \n\t\r", "\xa0\u180e\u2000-\u200b\u202f\u205f\u3000\ufeff"
_GAPS = {True: re.compile(f"[{SPACE}{SPECIAL}]+"), False: re.compile(f"[ \t\r{SPECIAL}]+")}
"""white space with line feeds and without"""
_COMMENT = re.compile(r"/(?=\*).*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)


class Piece(NamedTuple):
    """What is written, and the part of the text that it stands for."""

    text: str
    start: int
    end: int


@dataclass
class Tape:
    """`at` is what is read next."""

    raw: str
    at: int = 0
    pieces: list[Piece] = field(default_factory=list)

    def peek(self, ahead: int = 0) -> str:
        """The character that is next; none at the end."""
        return self.raw[self.at + ahead : self.at + ahead + 1]

    def put(self, text: str, start: int) -> None:
        self.pieces.append(Piece(text, start, min(self.at, len(self.raw))))

    def insert(self, text: str) -> None:
        """Before the white space that is written last."""
        index = len(self.pieces)
        while index and not self.pieces[index - 1].text.strip(SPACE):
            index -= 1
        at = self.pieces[index - 1].end if index else 0
        self.pieces.insert(index, Piece(text, at, at))

    def strip_last(self, char: str, *, rest: bool = False) -> None:
        """Without the last such character that is written; with `rest` without all behind it too."""
        for index in range(len(self.pieces) - 1, -1, -1):
            before, found, after = self.pieces[index].text.rpartition(char)
            if found:
                self.pieces[index] = self.pieces[index]._replace(text=before + ("" if rest else after))
                if rest:
                    del self.pieces[index + 1 :]
                return

    def take(self, char: str) -> bool:
        if done := self.skip(char):
            self.put(char, self.at - 1)
        return done

    def skip(self, char: str) -> bool:
        found = self.peek() == char
        self.at += found
        return found

    def gap(self, *, lines: bool = True) -> None:
        """White space, which is kept, and comments with white space behind them, of which the last one needs none."""
        self.space(lines=lines)
        while comment := _COMMENT.match(self.raw, self.at):
            self.at = comment.end()
            if not self.space(lines=lines):
                return

    def space(self, *, lines: bool) -> bool:
        space = _GAPS[lines].match(self.raw, self.at)
        if space:
            self.at = space.end()
            self.put("".join(char if char in SPACE else " " for char in space[0]), space.start())
        return space is not None

    def edits(self) -> tuple[Span, list[Edit]]:
        """Where what is written stands, without white space round it, and what was changed there."""
        texts = [index for index, piece in enumerate(self.pieces) if piece.text.strip(SPACE)]
        pieces = self.pieces[texts[0] : texts[-1] + 1] if texts else [Piece("", 0, len(self.raw))]
        start, end = pieces[0].start, pieces[-1].end
        edits, new, at = list[Edit](), "", start
        for piece in [*pieces, Piece("", end, end)]:
            kept = piece.text == self.raw[piece.start : piece.end]
            if kept and (new or piece.start > at):
                edits.append(Edit("jsonrepair", Span(at, piece.start), self.raw[at : piece.start], new))
            new, at = ("", piece.end) if kept else (new + piece.text, at)
        return Span(start, end), edits
