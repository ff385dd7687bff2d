"""Strings as jsonrepair reads them, and the pieces of text that it writes of what it reads."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from webapp.parsing.edit import Edit, Span

SPACE, SPECIAL = " \n\t\r", "\xa0\u180e\u2000-\u200b\u202f\u205f\u3000\ufeff"
_GAPS = {True: re.compile(f"[{SPACE}{SPECIAL}]+"), False: re.compile(f"[ \t\r{SPECIAL}]+")}
"""white space with line feeds and without"""
_COMMENT = re.compile(r"/(?=\*).*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
DEEPEST = 640  # of our own calls, as 320 lists or 210 objects in one another take; the library's engine has a stack too
_ENTITY = re.compile(r"&(?:(quot|amp|lt|gt|apos)|#[xX]\s*\+?([0-9a-fA-F]+)[^;]*|#\s*\+?([0-9]+)[^;]*);")
_NAMED = {"quot": '"', "amp": "&", "lt": "<", "gt": ">", "apos": "'"}
_URL = re.compile(r"(?:https?|ftp|mailto|file|data|irc):$")
_IN_URL = re.compile(r"[A-Za-z0-9\-._~:/?#@!$&'()*+;=]*")
_SINGLE, _DOUBLE = frozenset("'\u2018\u2019`\xb4"), frozenset('"\u201c\u201d')
QUOTES = _SINGLE | _DOUBLE
_ENDS, _ENDS_BARE = frozenset(",:[]/{}()\n+"), frozenset(",[]/{}\n+")
_OPENERS = {")": "(", "]": "[", "}": "{"}
_CONTROLS = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_AFTER = re.compile(f"[{SPACE}]*([^{SPACE}])")
_RUN = re.compile("[^\"\u201c\u201d'\u2018\u2019`\xb4\\\\&\x00-\x1f,\\[\\]/{}+]+")


class WrittenPiece(NamedTuple):
    """What is written, and the part of the text that it stands for."""

    text: str
    start: int
    end: int


class Unrepairable(Exception):
    """Why the library raises."""


@dataclass
class Tape:
    """`at` is what is read next, `depth` counts our own calls."""

    raw: str
    at: int = 0
    pieces: list[WrittenPiece] = field(default_factory=list)
    depth: int = 0

    def peek(self, ahead: int = 0) -> str:
        """The character that is next; none at the end."""
        return self.raw[self.at + ahead : self.at + ahead + 1]

    def put(self, text: str, start: int) -> None:
        self.pieces.append(WrittenPiece(text, start, min(self.at, len(self.raw))))

    def insert(self, text: str) -> None:
        """Before the white space that is written last."""
        index = len(self.pieces)
        while index and not self.pieces[index - 1].text.strip(SPACE):
            index -= 1
        at = self.pieces[index - 1].end if index else 0
        self.pieces.insert(index, WrittenPiece(text, at, at))

    def strip_last(self, char: str, *, rest: bool = False) -> None:
        """Without the last such character that is written; with `rest` without all behind it too."""
        for index in range(len(self.pieces) - 1, -1, -1):
            before, match, after = self.pieces[index].text.rpartition(char)
            if match:
                self.pieces[index] = self.pieces[index]._replace(text=before + ("" if rest else after))
                if rest:
                    del self.pieces[index + 1 :]
                return

    def take(self, char: str) -> bool:
        if done := self.skip(char):
            self.put(char, self.at - 1)
        return done

    def skip(self, char: str) -> bool:
        is_there = self.peek() == char
        self.at += is_there
        return is_there

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
        pieces = self.pieces[texts[0] : texts[-1] + 1] if texts else [WrittenPiece("", 0, len(self.raw))]
        start, end = pieces[0].start, pieces[-1].end
        edits, new, at = list[Edit](), "", start
        for piece in [*pieces, WrittenPiece("", end, end)]:
            is_unchanged = piece.text == self.raw[piece.start : piece.end]
            if is_unchanged and (new or piece.start > at):
                edits.append(Edit("jsonrepair", Span(at, piece.start), self.raw[at : piece.start], new))
            new, at = ("", piece.end) if is_unchanged else (new + piece.text, at)
        return Span(start, end), edits

    def deeper(self, calls: int) -> None:
        self.depth += calls
        if self.depth > DEEPEST:
            raise RecursionError

    def string(self, *, stop: bool = False, until: int = -1) -> bool:
        """With `stop` one whose end is missing ends at the next delimiter; `until` is where it must end."""
        slashed = self.skip("\\")
        opened, quote = self.entity(), self.peek()
        if slashed and quote not in QUOTES:
            raise Unrepairable(f"Unexpected character {json.dumps(quote)}")
        opened = opened if opened and opened[0] in "\"'" else None
        if quote not in QUOTES and not opened:
            return False
        self.deeper(5)
        ends = frozenset(quote) if quote in ('"', "'") else _SINGLE if quote in _SINGLE else _DOUBLE
        _String(self, self.at, len(self.pieces), ends, opened, stop, until, slashed).read()
        self.depth -= 5
        return True

    def joined(self) -> None:
        """Strings with a + between become one."""
        self.gap()
        while self.skip("+"):
            self.gap()
            self.strip_last('"', rest=True)
            mark = len(self.pieces)
            if self.string():
                self.pieces[mark] = self.pieces[mark]._replace(text=self.pieces[mark].text[1:])
            else:
                self.insert('"')

    def entity(self) -> tuple[str, int] | None:
        """The character of an HTML entity that is next, and the entity's length."""
        match = _ENTITY.match(self.raw, self.at, self.at + 12)
        if not match:
            return None
        code = int(match[2], 16) if match[2] else int(match[3] or 0)
        return (_NAMED[match[1]] if match[1] else chr(code), len(match[0])) if code <= 0x10FFFF else None

    def url(self, start: int) -> str:
        """What is left of an address whose scheme stands since `start`, with its slashes."""
        at = self.at
        if self.raw.startswith("//", at) and _URL.fullmatch(self.raw, start, at):
            self.at = _IN_URL.match(self.raw, at).end()  # type: ignore[union-attr]  # always matches
        return self.raw[at : self.at]


@dataclass
class _String:
    """A string that is read: it begins at `start`, and `mark` pieces are written before it."""

    mender: Tape
    start: int
    mark: int
    ends: frozenset[str]
    opened: tuple[str, int] | None
    stop: bool
    until: int
    slashed: bool
    text: str = '"'

    def read(self) -> None:
        mender, raw = self.mender, self.mender.raw
        mender.at += self.opened[1] if self.opened else 1
        while mender.at < len(raw) and mender.at != self.until:
            entity = mender.entity() if self.opened else None
            if (self.opened and entity and entity[0] == self.opened[0]) or (not entity and mender.peek() in self.ends):
                if self.quote(entity[1] if entity else 1):
                    return
            elif self.stop and mender.peek() in _ENDS_BARE:
                self.text += mender.url(self.start + 1)
                self.close()
                mender.joined()
                return
            else:
                self.text += self.content(entity)
            if self.slashed:
                mender.skip("\\")
        last = self.before(mender.at - 1)
        if mender.at != self.until and not self.stop and (last >= len(raw) or raw[last] in _ENDS):
            self.again(stop=True)
        else:
            self.close()

    def before(self, at: int) -> int:
        """The place of the last character up to `at` that is no white space."""
        while at > 0 and self.mender.raw[at : at + 1] in tuple(SPACE):
            at -= 1
        return at

    def again(self, *, stop: bool = False, until: int = -1) -> None:
        self.mender.at = self.start
        del self.mender.pieces[self.mark :]
        self.mender.string(stop=stop, until=until)

    def close(self) -> None:
        """Put the quote that is missing before the white space at the end."""
        mender, text = self.mender, self.text.rstrip(SPACE)
        end = min(mender.at, len(mender.raw))
        spaces = len(self.text) - len(text)
        mender.pieces.append(WrittenPiece(f'{text}"', self.start, end - spaces))
        mender.pieces.append(WrittenPiece(" " * spaces, end - spaces, end))

    def quote(self, length: int) -> bool:
        """A quote that may end the string; whether the string is read. One inside of it is escaped."""
        mender, raw, at = self.mender, self.mender.raw, self.mender.at
        mender.at += length
        mender.put(f'{self.text}"', self.start)
        mender.gap(lines=False)
        char = mender.peek()
        if self.stop or not char or self.ends_before(char):
            mender.joined()
            return True
        if char == "\\":
            raise Unrepairable('Unexpected character "\\\\"')
        last = self.before(at - 1)
        if raw[last] in _ENDS:
            self.again(stop=raw[last] != ",", until=last if raw[last] == "," else -1)
            return True
        del mender.pieces[self.mark :]
        mender.at = at + length
        self.text += '\\"'
        return False

    def ends_before(self, char: str) -> bool:
        """Whether a string may end where this character follows its quote."""
        if char in _ENDS:
            opener = _OPENERS.get(char)
            return opener is None or self.text.count(opener) <= self.text.count(char)
        if char in QUOTES:
            after = _AFTER.match(self.mender.raw, self.mender.at + 1)
            return after is not None and after[1] not in _ENDS
        return "0" <= char <= "9"

    def content(self, entity: tuple[str, int] | None) -> str:
        """What the next characters are in JSON."""
        mender, char = self.mender, entity[0] if entity else self.mender.peek()
        if entity:
            mender.at += entity[1]
            return '\\"' if char == '"' else _CONTROLS.get(char, char)
        if char == "\\":
            return self.escape()
        end = self.until if self.until > mender.at else len(mender.raw)
        if not self.slashed and (run := _RUN.match(mender.raw, mender.at, end)):
            mender.at = run.end()
            return run[0]
        if char == '"' and mender.peek(-1) != "\\":
            char = '\\"'
        elif char < " " and char not in _CONTROLS:
            raise Unrepairable(f"Invalid character {json.dumps(char)}")
        mender.at += 1
        return _CONTROLS.get(char, char)

    def escape(self) -> str:
        mender = self.mender
        start, char = mender.at, mender.peek(1)
        if char != "u":
            mender.at += 2
            return "\\n" if char == "\n" else f"\\{char}" if char and char in '"\\/bfnrt' else char
        mender.at += 2
        while mender.at < start + 6 and re.match("[0-9a-fA-F]", mender.peek()):
            mender.at += 1
        if mender.at < start + 6 and mender.peek():
            mender.at = start
            raise Unrepairable(f"Invalid unicode character {json.dumps(mender.raw[start : start + 6])}")
        return mender.raw[start : mender.at] if mender.at == start + 6 else ""
