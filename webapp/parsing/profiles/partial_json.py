"""Partial JSON as npm's partial-json and Python's partial-json-parser read it, up to where a text is cut off."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from webapp.parsing.decode import decode, nesting
from webapp.parsing.edit import stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._steps import LONGEST, Step, choose_if_ok, completed, rewritten, stepwise, whole
from webapp.parsing.profiles.four_tier import WHITE

DEEPEST = 300  # levels; the libraries read as far as the stack goes
_WORDS = {"null": None, "true": True, "false": False, "Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_STRING = re.compile(r'.(?:[^"\\]|\\.)*+', re.DOTALL)  # a key may begin with any character
_SPACE = re.compile(r"[ \n\r\t]*+")


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
        if nesting(library.text)[0] > DEEPEST:
            tracer.exhausted = True
            tracer.fail("completed", span, f"stopped: nested more than {DEEPEST} deep")
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


@described("partial-json-parser", LIBRARIES, revision=4, calls=("partial-json-parser",))
def partial_json_parser(tracer: Tracer) -> None:
    """partial-json-parser (Python): what is open where the text ends is closed, and json.loads.

    1. A string at the cut end is closed, an escape in it that is cut off goes; a number loses a sign, dot or e at its
    end; true, false, null, NaN and Infinity are completed. 2. A key without a value and a comma at the end go, lists
    and objects are closed. 3. json.loads. Text before the JSON is an error; behind it too, but for strings and plain
    values.

    Source: partial-json-parser 0.2.1.1.post7, partial_json_parser/core/myelin.py, fix_fast with Allow.ALL.
    """
    raw, everything = tracer.raw, whole(tracer.raw)
    if len(raw) > LONGEST:
        tracer.exhausted = True
        tracer.fail("completed", everything, f"stopped: longer than {LONGEST:,} characters")
        return
    head, tail = _completed(raw)
    attempt = tracer.attempt("completed", everything, completed(raw, len(head), tail))
    tracer.truncated = choose_if_ok(tracer, attempt) and tail != ""


def _completed(raw: str) -> tuple[str, str]:
    """What the library keeps of a text, and what it puts behind; all of one at which it raises, which is no JSON."""
    try:
        head, tail = import_module("partial_json_parser.core.myelin").fix_fast(raw)
    except Exception:  # noqa: BLE001 — whatever it raises, json.loads says where
        return raw, ""
    return (head if raw.startswith(head) else head.rstrip()), tail


plugins = (partial_json, partial_json_parser)
