"""jiter's partial mode, by which Python SDKs read arguments that are still arriving: what is cut off is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from webapp.parsing.decode import Failure
from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.span import Span

DEEPEST = 201  # levels
CLOSERS = {"{": "}", "[": "]"}
_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_HIGH, _LOW, _OTHER = "[dD][89abAB][0-9a-fA-F]{2}", "[dD][c-fC-F][0-9a-fA-F]{2}", "(?![dD][89a-fA-F])[0-9a-fA-F]{4}"
_BODY = rf'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u{_OTHER}|u{_HIGH}\\u{_LOW}))*+'
_CUT_ESCAPE = rf"(?:\\(?:u(?:[\x00-\x7f]{{0,3}}|{_HIGH}(?:\\(?:u[\x00-\x7f]{{0,3}})?)?)?)?)?"
_NUMBER = r"-?(?:0(?![0-9])|[1-9][0-9]*+)(?:\.[0-9]++|(?!\.))(?:[eE][+-]?[0-9]++|(?![eE]))"
_CUT_NUMBER = r"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?)?)?"
_CUT_WORDS = "|".join(word[:end] for word in _WORDS for end in range(1, len(word)))
_TOKEN = re.compile(f'{_BODY}"|{"|".join(_WORDS)}|{_NUMBER}')
_CUT = re.compile(rf"(?:{_BODY}{_CUT_ESCAPE}|{_CUT_NUMBER}|{_CUT_WORDS})\Z")
_CUT_STRING = re.compile(rf"({_BODY}){_CUT_ESCAPE}\Z")
_SPACE = re.compile(r"[ \t\n\r]*+")


class _Stop(Exception):
    """Why reading ends before the value does, in words; none where the text ends."""


@dataclass
class _Walk:
    """`sound` is the end of what is kept so far, `closers` what is open there.

    With `strings`, a string at the cut end is kept as far as its last whole character: jiter's "trailing-strings".
    """

    raw: str
    strings: bool = False
    at: int = 0
    sound: int = 0
    closers: list[str] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def problem(self) -> str | None:
        """Why jiter refuses the text; empty where that is cut off, None where the value is whole. Linear."""
        try:
            self.raw.encode()
            self.document()
        except UnicodeEncodeError as error:
            self.at = error.start
            return "surrogates not allowed"
        except _Stop as stop:
            return str(stop) or ("" if self.sound else "EOF while parsing a value")
        return None

    def document(self) -> None:
        """To the end of the first value. Raises `_Stop`."""
        self.item(fresh=True)
        while self.closers:
            char = self.char()
            if char == ",":
                self.at += 1
                self.item()
                continue
            if char == self.closers[-1]:
                self.at += 1
            else:
                self.edits.append(Edit("missing_closer", Span(self.at, self.at), "", self.closers[-1]))
            self.closers.pop()
            self.sound = self.at

    def item(self, *, fresh: bool = False) -> None:
        """A value and what it opens with, or its first token; with its key where an object is open."""
        while (char := self.char()) not in self.closers[-1:]:
            if self.closers[-1:] == ["}"]:
                char = self.key(char)
            self.at = self.sound = self.at + 1 if char in CLOSERS else self.value_end()
            if char not in CLOSERS:
                return
            self.closers.append(CLOSERS[char])
            if len(self.closers) > DEEPEST:
                raise _Stop("recursion limit exceeded")
            fresh = True
        if not fresh:
            raise _Stop("trailing comma")

    def key(self, char: str) -> str:
        """The character behind a key and its colon."""
        if char != '"':
            raise _Stop("key must be a string")
        self.at = self.token()
        if self.char() != ":":
            raise _Stop("expected `:`")
        self.at += 1
        return self.char()

    def char(self) -> str:
        """The next character that is no white space."""
        self.at = _SPACE.match(self.raw, self.at).end()  # type: ignore[union-attr]  # always matches
        if self.at == len(self.raw):
            raise _Stop
        return self.raw[self.at]

    def value_end(self) -> int:
        """As `token`, of a value."""
        if self.strings and not _TOKEN.match(self.raw, self.at) and (cut := _CUT_STRING.match(self.raw, self.at)):
            self.sound = cut.end(1)
            self.closers.append('"')
            raise _Stop
        return self.token()

    def token(self) -> int:
        """The end of the string, number or word that begins here."""
        if match := _TOKEN.match(self.raw, self.at):
            return match.end()
        raise _Stop("" if _CUT.match(self.raw, self.at) else "expected value, or invalid number or string")


def partial(tracer: Tracer, *, strings: bool = False) -> bool:
    """The step that decodes what jiter keeps of a text; what stands behind the value is ignored."""
    walk = _Walk(tracer.raw, strings)
    problem, end = walk.problem(), walk.sound
    if problem:
        tracer.fault("whole", whole(tracer.raw), (), Failure("ValueError", problem, walk.at, problem))
        return True
    if problem is not None:
        tracer.truncated = True
        rest, closers, end = tracer.raw[end:], "".join(reversed(walk.closers)), len(tracer.raw)
        walk.edits.append(Edit("truncation" if rest else "missing_closer", Span(walk.sound, end), rest, closers))
    return choose_if_ok(tracer, tracer.attempt("whole", Span(0, end), walk.edits))


def refusal(text: str) -> str:
    """Why jiter refuses a text that `json.loads` reads: lone surrogates or too many levels; empty where it does not."""
    return f"ValueError: {problem}" if (problem := _Walk(text).problem()) else ""
