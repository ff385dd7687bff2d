"""jsonrepair (npm): reads what stands there from the left, mends what it meets, and writes JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from webapp.parsing.decode import CLOSERS, Failure
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._jsonrepair_strings import QUOTES, SPACE, Tape, Unrepairable, WrittenPiece
from webapp.parsing.profiles._steps import choose_if_ok, whole

LONGEST = 100_000  # characters; on some texts the library's time grows with the square of the length
_NUMBER = re.compile(
    r"(?=[-.0-9])(?>(-?)([0-9]*)(?:(\.)([0-9]*))?(?:([eE][+-]?)([0-9]*))?)(?=[,:\[\]/{}()\n+ \t\r]|\Z)"
)
_WORDS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_WORD = re.compile(rf"(?:{'|'.join(_WORDS)})(?![a-zA-Z0-9_$])")
_NAME = re.compile(r"[a-zA-Z_$][a-zA-Z0-9_$]*+")
_CALL = re.compile(rf"{_NAME.pattern}([{SPACE}]*+)\(")
_BARE = {key: re.compile(f"[^,\\[\\]/{{}}\n+\"\u201c\u201d'\u2018\u2019`\xb4{':' * key}]*") for key in (True, False)}
_PATTERN = re.compile(r"/(?:[^/]|(?<=\\)/)*+/?")
_STARTS = re.compile(r"[\[{\w\-]", re.ASCII)


def _number(match: re.Match[str]) -> str:
    """With the digits that JSON wants; a text where it has other ones than JSON allows."""
    sign, digits, dot, decimals, exponent, power = (part or "" for part in match.groups())
    digits = digits or "0" * bool(dot or not exponent)
    if not digits or (digits[0] == "0" and len(digits) > 1):
        return f'"{match[0]}"'
    return sign + digits + (dot and dot + (decimals or "0")) + (exponent and exponent + (power or "0"))


_TOKENS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_NUMBER, _number),
    (_WORD, lambda match: _WORDS[match[0]]),
    (_PATTERN, lambda match: json.dumps(match[0], ensure_ascii=False)),
)


@dataclass
class Mender(Tape):
    """Reads values."""

    def document(self) -> None:
        """Write the whole. Raises `Unrepairable`."""
        self.fence("```", "[```", "{```")
        if not self.value():
            raise Unrepairable("Unexpected end of json string")
        self.fence("```", "```]", "```}")
        comma = self.take(",")
        if comma:
            self.gap()
        if self.starts_value() and re.search(r"[,\n][ \t\r]*\Z", "".join(piece.text for piece in self.pieces)):
            if not comma:
                self.insert(",")
            self.lines()
        elif comma:
            self.strip_last(",")
        while self.skip("}") or self.skip("]"):
            self.gap()
        if self.at < len(self.raw):
            raise Unrepairable(f"Unexpected character {json.dumps(self.peek())}")

    def lines(self) -> None:
        """Values behind one another, made a list."""
        while self.value():
            if not self.take(","):
                self.insert(",")
        self.strip_last(",")
        self.pieces.insert(0, WrittenPiece("[\n", self.pieces[0].start, self.pieces[0].start))
        self.put("\n]", self.at)

    def value(self) -> bool:
        self.deeper(2)
        self.gap()
        done = self.bracket() or self.string() or self.token() or self.bare()
        self.gap()
        self.depth -= 2
        return done

    def fence(self, *openers: str) -> None:
        self.space(lines=True)
        opener = next((opener for opener in openers if self.raw.startswith(opener, self.at)), None)
        if opener:
            self.at += len(opener)
            name = _NAME.match(self.raw, self.at)
            self.at = name.end() if name else self.at
            self.gap()

    def bracket(self) -> bool:
        """An object or a list."""
        opener = self.peek()
        if opener not in CLOSERS:
            return False
        closer, first = CLOSERS[opener], True
        self.take(opener)
        self.gap()
        if self.skip(","):
            self.gap()
        while self.at < len(self.raw) and self.peek() != closer:
            if not first and not self.take(","):
                self.insert(",")
            self.ellipsis()
            if not (self.member() if opener == "{" else self.value()):
                if not first:
                    self.strip_last(",")
                break
            first = False
        if not self.take(closer):
            self.insert(closer)
        return True

    def ellipsis(self) -> None:
        self.gap()
        if self.raw.startswith("...", self.at):
            self.at += 3
            self.gap()
            self.skip(",")

    def member(self) -> bool:
        """A key with its value; False where the object ends instead."""
        if not (self.string() or self.bare(key=True)):
            if self.peek() in ("}", "{", "]", "[", ""):
                return False
            raise Unrepairable("Object key expected")
        self.gap()
        colon = self.take(":")
        cut = self.at >= len(self.raw)
        if not colon:
            if not cut and not self.starts_value():
                raise Unrepairable("Colon expected")
            self.insert(":")
        self.deeper(1)
        if not self.value():
            if not (colon or cut):
                raise Unrepairable("Colon expected")
            self.put("null", self.at)
        self.depth -= 1
        return True

    def starts_value(self) -> bool:
        return self.peek() in QUOTES or _STARTS.match(self.raw, self.at) is not None

    def token(self) -> bool:
        """A number, a word, or a pattern between slashes, which becomes a text."""
        for pattern, written in _TOKENS:
            if match := pattern.match(self.raw, self.at):
                self.at = match.end()
                self.put(written(match), match.start())
                return True
        return False

    def bare(self, *, key: bool = False) -> bool:
        """Text without quotes, or a call, of which the first value counts."""
        start = self.at
        if call := _CALL.match(self.raw, start):
            self.at = call.end()
            self.value()
            if self.skip(")"):
                self.skip(";")
            return True
        if start >= len(self.raw):
            return False
        self.at = _BARE[key].match(self.raw, start).end()  # type: ignore[union-attr]  # always matches
        self.url(start)
        if self.at == start:
            return False
        self.at = start + len(self.raw[start : self.at].rstrip(SPACE))
        text = self.raw[start : self.at]
        self.put("null" if text == "undefined" else json.dumps(text, ensure_ascii=False), start)
        self.skip('"')
        return True


@described("jsonrepair", LIBRARIES, original="TypeScript")
def plugin(tracer: Tracer) -> None:
    """jsonrepair (npm): reads what stands there from the left, mends what it meets, and writes JSON.

    1. A fence round the whole goes, with the word behind it. 2. Quotes of any kind, also HTML's, become double ones;
    bare texts get quotes, True, False and None their names in JSON; comments, ellipses, a second comma and names of
    functions go; strings with + between are joined. 3. Commas, colons, quotes and closers that are missing are put in,
    also at a cut end. 4. Values behind one another on lines become a list. 5. Surplus closers at the end go; anything
    else behind the value is an error, so that JSON with prose round it fails or becomes a text. 6. JSON.parse.

    Source: jsonrepair 3.15.0 (npm), lib/esm/regular/jsonrepair.js. Nested more than 210 deep, and longer than 100,000
    characters, may not be read.
    """
    raw, everything = tracer.raw, whole(tracer.raw)
    mender = Mender(raw)
    try:
        if len(raw) > LONGEST:
            raise RecursionError
        mender.document()
    except Unrepairable as error:
        tracer.fault(
            "whole", everything, (), Failure("JSONRepairError", str(error), min(mender.at, len(raw)), str(error))
        )
    except RecursionError:
        tracer.exhausted = True
        tracer.fail("whole", everything, f"stopped: longer than {LONGEST:,} characters, or nested too deep")
    else:
        span, edits = mender.edits()
        choose_if_ok(tracer, tracer.attempt("derived", span, edits, finite=True))
