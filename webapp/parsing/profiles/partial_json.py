"""Partial JSON as npm's partial-json and Python's partial-json-parser read it, up to where a text is cut off."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from webapp.parsing.decode import decode, nesting
from webapp.parsing.edit import Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._jiter import CutShort, Walk
from webapp.parsing.profiles._steps import Step, choose_if_ok, rewritten, stepwise, whole
from webapp.parsing.profiles.four_tier import WHITE

DEEPEST = 300  # levels; the libraries read as far as the stack goes
_WORDS = {"null": None, "true": True, "false": False, "Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_STRING = re.compile(r'.(?:[^"\\]|\\.)*+', re.DOTALL)  # a key may begin with any character
_SPACE = re.compile(r"[ \n\r\t]*+")
_BLANK = re.compile(r"\s*+")
_MARK, _MARKS = re.compile(r'["\[\]{}]'), ',"[]{}'
_NUMBER, _SIGNS = re.compile(r"(?!-I)[-0-9][0-9.\-+eE]*"), ".-+eE"
_CUT_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*+(\\(?:u.{0,3}|U.{0,7}|x.?)?)\Z", re.DOTALL)


def _is_too_deep(tracer: Tracer, span: Span) -> bool:
    """Whether a text is not read, which the trace then says."""
    if nesting(span.of(tracer.raw))[0] <= DEEPEST:
        return False
    tracer.exhausted = True
    tracer.fail("completed", span, f"stopped: nested more than {DEEPEST} deep")
    return True


@dataclass
class _Reader:
    """`numbers`: one that may be cut off is kept; `dropped`: a key that an assignment in JavaScript loses."""

    text: str
    numbers: bool
    dropped: str
    at: int = field(default=0, init=False)

    def value(self) -> Any:
        char = self.char()
        if not char:
            raise ValueError(f"Unexpected end of input at position {self.at}")
        if reader := {'"': self.string, "{": self.members, "[": self.items}.get(char):
            return reader()
        rest = self.text[self.at : self.at + 9]
        for word, value in _WORDS.items():
            if rest.startswith(word) or (len(rest) < len(word) and word.startswith(rest) and rest != "-"):
                self.at += len(word)
                return value
        return self.number()

    def char(self) -> str:
        """The next character that is no white space; none at the end."""
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # always matches
        return self.text[self.at : self.at + 1]

    def string(self) -> Any:
        start = self.at
        end = _STRING.match(self.text, start).end()  # type: ignore[union-attr]  # always matches
        if self.text.startswith('"', end):
            self.at = end + 1
            return self.json(start, self.at)
        self.at = len(self.text)
        try:
            return self.json(start, end, '"')
        except ValueError:
            return self.json(start, self.text.rfind("\\"), '"')

    def members(self) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self.at += 1
        self.char()
        try:
            while self.text[self.at : self.at + 1] != "}" and self.char():
                key = self.string()
                self.char()
                self.at += 1
                value = self.value()
                if not key or key != self.dropped:
                    members[key] = value
                if self.char() == ",":
                    self.at += 1
            self.at += 1
        except ValueError:
            pass
        return members

    def items(self) -> list[Any]:
        items: list[Any] = []
        self.at += 1
        try:
            while self.text[self.at : self.at + 1] != "]":
                items.append(self.value())
                if self.char() == ",":
                    self.at += 1
            self.at += 1
        except ValueError:
            pass
        return items

    def number(self) -> Any:
        """As far as a comma or a closer; a text that begins with none of what values begin with, whole."""
        start = self.at
        self.at += start > 0 and self.text[start] == "-"
        while start and self.at < len(self.text) and self.text[self.at] not in ",]}":
            self.at += 1
        if not self.numbers and self.at == len(self.text):
            raise ValueError(f"Unterminated number literal at position {self.at}")
        try:
            return self.json(start, self.at if start else len(self.text))
        except ValueError:
            if not start and not self.numbers:
                raise
            return self.json(start, self.text.rfind("e"))

    def json(self, start: int, end: int, more: str = "") -> Any:
        """JSON.parse of a substring, whose ends JavaScript puts in order."""
        first, last = sorted((max(start, 0), max(end, 0)))
        decoded = decode(self.text[first:last] + more, finite=True)
        if decoded.failure:
            raise ValueError(f"SyntaxError: {decoded.failure.wording} at position {self.at}")
        return decoded.value


def by_partial_json(*, numbers: bool, dropped: str = "") -> Step:
    """The step that gives what the library reads. Linear."""

    def step(tracer: Tracer) -> bool:
        span = stripped(tracer.raw, characters=WHITE)
        library = _Reader(span.of(tracer.raw), numbers, dropped)
        if _is_too_deep(tracer, span):
            return True
        try:
            value = library.value()
        except ValueError as error:
            tracer.fail("completed", span, str(error))
            return True
        tracer.truncated = library.at >= len(library.text) and decode(library.text).failure is not None
        tracer.choose(rewritten(tracer, "derived", span, value, "what the library read; its other text is not seen"))
        return True

    return step


_STEP = by_partial_json(numbers=True, dropped="__proto__")
partial_json = stepwise("partial-json", LIBRARIES, _STEP, original="TypeScript")("""
partial-json (npm): a reader that gives what it has where the text ends, and where it meets anything else.

    1. Reads from the first character on; prose before the JSON is an error. 2. At the end of the text strings are
    closed, true, false and null completed, lists and objects given as far as they go. 3. The same happens at anything
    else that is no JSON: what an object or a list held until there is its value, and reading goes on behind it. Commas
    may be missing, any character stands for a colon. 4. What stands behind the value is ignored. The assignment to a
    key __proto__ is lost.

    Source: partial-json 0.1.7 (npm), dist/index.js, parse. Nested more than 300 deep is not read.
""")


@dataclass
class _Completing(Walk):
    """As the library completes a text without white space at its end; `last_mark` is where its last one stands."""

    deepest: int = DEEPEST
    last_mark: int = -1

    def document(self) -> None:
        """Of a text that begins as a string, a number or a word, what stands behind that is dropped."""
        if self.last_mark < 0:
            self.char()
            self.kept(self.value_end(), "")
        super().document()

    def char(self) -> str:
        self.at = _BLANK.match(self.raw, self.at).end()  # type: ignore[union-attr]  # always matches
        last = len(self.raw) - 1
        if self.at > last or (self.at == last and self.raw[last] == "," and self.is_first()):
            raise CutShort
        return self.raw[self.at]

    def key(self, char: str) -> str:
        if char == '"' and not self.raw.startswith('"', self.string_end()):
            self.sound = self.at if self.is_first() else self.sound
            raise CutShort
        return super().key(char)

    def is_first(self) -> bool:
        """Whether a list or an object has been opened, and nothing of it is read."""
        return self.raw[max(0, self.sound - 1) : self.at].strip() in ("[", "{")

    def unexpected(self, char: str) -> None:
        """A string that the end cuts off goes where it stands right behind another in an object."""
        cut = char == '"' and not self.raw.startswith('"', self.string_end())
        raise CutShort(
            "" if cut and self.closers[-1] == "}" and self.raw[self.sound - 1] == '"' else "expected a comma"
        )

    def string_end(self) -> int:
        """Where the quote should stand that closes the string which begins here."""
        return _STRING.match(self.raw, self.at).end()  # type: ignore[union-attr]  # always matches

    def value_end(self) -> int:
        return self.token()

    def token(self) -> int:
        rest = self.raw[self.at : self.at + 10]
        if rest[0] == '"':
            end = self.string_end()
            if self.raw.startswith('"', end):
                return end + 1
            cut = _CUT_ESCAPE.search(self.raw, max(self.at, end - 9), end)
            self.kept(cut.start(1) if cut else end, '"')
        for word in _WORDS:
            if rest.startswith(word):
                return self.at + len(word)
            if word.startswith(rest) and rest != "-":
                self.kept(self.at, word)
        return self.number_end()

    def number_end(self) -> int:
        """The last number, behind which nothing but words may stand, loses signs at its end, and these words.

        One that is signs alone goes with the comma right before it.
        """
        match = _NUMBER.match(self.raw, self.at)
        if not match:
            raise CutShort("unexpected character")
        end, sound = match.end(), self.at + len(match[0].rstrip(_SIGNS))
        is_last = end > self.last_mark
        if sound == self.at:
            if end < len(self.raw) and (not is_last or self.raw[-1] in _SIGNS):
                raise CutShort("a number without digits")
            if end == len(self.raw) or self.raw[self.at - 1] == ",":
                raise CutShort
        if is_last and (sound < end or end == len(self.raw)):
            self.kept(sound, "")
        return end


@described("partial-json-parser", LIBRARIES, revision=3)
def partial_json_parser(tracer: Tracer) -> None:
    """partial-json-parser (Python): what is open where the text ends is closed, and json.loads.

    1. A string at the cut end is closed, an escape in it that is cut off goes; a number loses a sign, dot or e at its
    end; true, false, null, NaN and Infinity are completed. 2. A key without a value and a comma at the end go, lists
    and objects are closed. 3. json.loads. Text before the JSON is an error; behind it too, but for strings and plain
    values.

    Source: partial-json-parser 0.2.1.1.post7, partial_json_parser/core/myelin.py, fix_fast with Allow.ALL. Nested more
    than 300 deep is not read.
    """
    raw, everything = tracer.raw, whole(tracer.raw)
    if _is_too_deep(tracer, everything):
        return
    first = _MARK.search(raw)
    if first and first[0] != '"':
        walk = _Completing(raw.rstrip(), last_mark=max(map(raw.rfind, _MARKS)))
    else:
        walk = _Completing(raw.strip())  # where what is kept of it ends, the library cuts the text that is not stripped
    edits = [] if (problem := walk.problem()) or problem is None else walk.completion(raw)
    if problem and "EOF" in problem:
        tracer.fail("completed", everything, "nothing of it can be completed")
        return
    tracer.truncated = choose_if_ok(tracer, tracer.attempt("completed", everything, edits)) and any(walk.closers)


plugins = (partial_json, partial_json_parser)
