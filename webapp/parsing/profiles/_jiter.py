"""jiter's partial mode, by which Python SDKs read arguments that are still arriving: what is cut off is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from webapp.parsing.decode import Failure
from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._arguments import checked
from webapp.parsing.span import Span, place

DEEPEST = 201  # levels
_BODY = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u(?!d[89a-f])[0-9a-f]{4}|ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}))*+'
_TAIL = r"(?:\\(?:u(?:[\x00-\x7f]{0,3}|d[89ab][0-9a-f]{2}(?:\\(?:u[\x00-\x7f]{0,3})?)?)?)?)?\Z"
_NUMBER = r"-?(?:0(?![0-9])|[1-9][0-9]*+)(?:\.[0-9]++|(?!\.))(?:e[+-]?[0-9]++|(?!e))"
_CUT_NUMBER = r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:e[+-]?)?)?\Z"
_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_STRING = re.compile(f'{_BODY}"', re.IGNORECASE)
_CUT_STRING = re.compile(f"{_BODY}{_TAIL}", re.IGNORECASE)
_SCALAR = re.compile(f"(?:{'|'.join(_WORDS)})|(?i:{_NUMBER})")
_CUT_SCALAR = re.compile(f"(?i:{_CUT_NUMBER})")
_SPACE = re.compile(r"[ \t\n\r]*+")
_CLOSERS = {"{": "}", "[": "]"}


class Refused(ValueError):
    """What jiter does not take for a cut end; `at` is where."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class Cut(Exception):
    """The text ends here."""


@dataclass
class _Walk:
    """`sound` is the end of what is kept so far, `closers` what is open there."""

    raw: str
    at: int = 0
    sound: int = 0
    closers: list[str] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def char(self) -> str:
        """The next character that is no white space. Raises `Cut`."""
        self.at = _SPACE.match(self.raw, self.at).end()  # type: ignore[union-attr]  # always matches
        if self.at == len(self.raw):
            raise Cut
        return self.raw[self.at]

    def document(self) -> None:
        """To the end of the first value, or of the text. Raises `Cut`, `Refused`."""
        self.value(self.char())
        while self.closers:
            char = self.char()
            if char == self.closers[-1]:
                self.kept(self.at + 1)
                self.closers.pop()
            elif char == ",":
                self.at += 1
                self.item(self.char())
            else:
                self.edits.append(Edit("missing_closer", Span(self.at, self.at), "", self.closers.pop()))
                self.sound = self.at

    def item(self, char: str) -> None:
        """A value, with its key where an object is open; behind a comma, or as the first."""
        if char == self.closers[-1]:
            raise Refused("trailing comma", self.at)
        if self.closers[-1] == "}":
            if char != '"':
                raise Refused("key must be a string", self.at)
            self.at = self.string()
            if self.char() != ":":
                raise Refused("expected `:`", self.at)
            self.at += 1
            char = self.char()
        self.value(char)

    def value(self, char: str) -> None:
        while char in _CLOSERS:
            self.kept(self.at + 1)
            self.closers.append(_CLOSERS[char])
            if len(self.closers) > DEEPEST:
                raise Refused("recursion limit exceeded", self.at)
            if (char := self.char()) == self.closers[-1]:
                self.closers.pop()
                return self.kept(self.at + 1)
            if self.closers[-1] == "}":
                return self.item(char)
        return self.kept(self.string() if char == '"' else self.scalar())

    def kept(self, end: int) -> None:
        self.at = self.sound = end

    def string(self) -> int:
        """The end of the string that begins here. Raises `Cut`, `Refused`."""
        if match := _STRING.match(self.raw, self.at):
            return match.end()
        if _CUT_STRING.match(self.raw, self.at):
            raise Cut
        raise Refused("invalid escape, surrogate or control character in a string", self.at)

    def scalar(self) -> int:
        if match := _SCALAR.match(self.raw, self.at):
            return match.end()
        rest = self.raw[self.at : self.at + 9]
        if any(word.startswith(rest) for word in _WORDS) or _CUT_SCALAR.match(self.raw, self.at):
            raise Cut
        raise Refused("expected value", self.at)


def partial(tracer: Tracer) -> bool:
    """The step that decodes what jiter keeps of a text; what stands behind the value is ignored. Linear."""
    walk = _Walk(tracer.raw)
    try:
        tracer.raw.encode()
        walk.document()
    except Cut:
        if not walk.sound:
            return _refused(tracer, "EOF while parsing a value", walk.at)
        tracer.truncated = True
        return _decoded(tracer, len(tracer.raw), [*walk.edits, _ended(walk)])
    except UnicodeEncodeError as error:
        return _refused(tracer, "surrogates not allowed", error.start)
    except Refused as error:
        return _refused(tracer, str(error), error.at)
    return _decoded(tracer, walk.sound, walk.edits)


def refusal(text: str) -> str:
    """Why jiter refuses a text that `json.loads` reads: lone surrogates or too many levels; empty where it does not."""
    try:
        text.encode()
        _Walk(text).document()
    except (UnicodeEncodeError, Refused) as error:
        return f"ValueError: {error}"
    return ""


def _ended(walk: _Walk) -> Edit:
    """The edit that drops what was cut off and closes what is open."""
    rest, closers = walk.raw[walk.sound :], "".join(reversed(walk.closers))
    return Edit("truncation" if rest else "missing_closer", Span(walk.sound, len(walk.raw)), rest, closers)


def _decoded(tracer: Tracer, end: int, edits: list[Edit]) -> bool:
    attempt = tracer.attempt("whole", Span(0, end), edits)
    return attempt.ok and checked(tracer, attempt, ())


def _refused(tracer: Tracer, message: str, at: int) -> bool:
    line, column = place(tracer.raw, at)
    wording = f"{message} at line {line} column {column}"
    tracer.fault("whole", Span(0, len(tracer.raw)), (), Failure("ValueError", message, at, wording))
    return True
