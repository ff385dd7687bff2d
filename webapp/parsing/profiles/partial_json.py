"""Partial JSON as partial-json, partial-json-parser and the Vercel AI SDK read it, up to where a text is cut off."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from webapp.parsing.decode import decode, nesting
from webapp.parsing.edit import Edit, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._steps import LONGEST, WHITE, Step, checked, choose_if_ok, completed, rewritten, whole

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


_AFTER = {"root": "end", "object_value": "object_after", "list_start": "list_after", "list_comma": "list_after"}
"""The states in which a value may begin, each with the one behind it."""
_NEXT = {
    ("object_start", '"'): "key",
    ("object_comma", '"'): "key",
    ("key", '"'): "object_colon",
    ("object_colon", ":"): "object_value",
    ("object_after", ","): "object_comma",
    ("list_after", ","): "list_comma",
    **dict.fromkeys((("object_start", "}"), ("object_after", "}"), ("list_start", "]"), ("list_after", "]")), ""),
}
"""The state that a character makes of another one; none where it ends there."""
_CONTAINERS = {"{": "object_start", "[": "list_start"}
_CLOSERS = {"object": "}", "key": "}", "list": "]"}
_WHOLE_WORDS = {"f": "false", "t": "true", "n": "null"}
_SCALAR = re.compile(
    r'"(?:[^"\\]|\\(?:[^u]|u(?:[^0-9a-fA-F]*+[0-9a-fA-F]){4}))*+(?P<closed>")?'
    r"|[-0-9][-0-9.eE]*|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
)


def no_prototype(value: Any) -> str:
    """What the Vercel AI SDK refuses: a key that would reach an object's prototype in JavaScript, at any depth."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            constructor = node.get("constructor")
            if "__proto__" in node or (isinstance(constructor, dict) and "prototype" in constructor):
                return "SyntaxError: Object contains forbidden prototype property"
            stack += node.values()
        elif isinstance(node, list):
            stack += node
    return ""


def by_completion(tracer: Tracer) -> bool:
    """The step of the Vercel AI SDK that decodes what its walk keeps of a text, with what completes it."""
    attempt = tracer.attempt("whole", whole(tracer.raw), _Walk(tracer.raw).completion(), finite=True)
    tracer.truncated = attempt.ok and checked(tracer, attempt, no_prototype)
    return tracer.truncated


@dataclass
class _Walk:
    """`stack` names the states of what is open, `sound` is where a cut is sound, `tail` completes a value there.

    What has no place in a state is passed over: what comes behind it decides whether it is kept.
    """

    raw: str
    stack: list[str] = field(default_factory=lambda: ["root"])
    at: int = 0
    sound: int = 0
    tail: str = ""

    def completion(self) -> list[Edit]:
        """What completes a cut tail: what is behind the last sound character goes, closers come."""
        while self.at < len(self.raw) and self.stack[-1] != "end":
            self.step()
        closers = "".join(_CLOSERS.get(state.partition("_")[0], "") for state in reversed(self.stack))
        return completed(self.raw, self.sound, self.tail + closers)

    def step(self) -> None:
        state, char = self.stack[-1], self.raw[self.at]
        self.at += 1
        if after := _NEXT.get((state, char)):
            self.stack[-1] = after
        elif after == "":
            self.stack.pop()
            self.sound = self.at
        elif state == "list_after":
            self.sound = self.at
        elif state in _AFTER and char in _CONTAINERS:
            self.stack[-1:] = _AFTER[state], _CONTAINERS[char]
            self.sound = self.at
        elif state in _AFTER and (match := _SCALAR.match(self.raw, self.at - 1)):
            self.stack[-1] = _AFTER[state]
            self.scalar(char, match)

    def scalar(self, char: str, match: re.Match[str]) -> None:
        """A string, a number or a word; what ends one of the latter may end what holds it too, or is passed over."""
        self.at = match.end()
        is_last = self.at == len(self.raw)
        if char == '"':
            self.sound = self.at
            if not match["closed"]:
                self.tail, self.at = '"', len(self.raw)  # what is left is an escape that is cut off
            return
        if char in _WHOLE_WORDS:
            self.sound = self.at
            self.tail = _WHOLE_WORDS[char][len(match[0]) :] if is_last else ""
        elif number := match[0].rstrip("-.eE"):
            self.sound = match.start() + len(number)
        if not is_last and (self.stack[-1], self.raw[self.at]) not in _NEXT:
            self.at += 1


plugins = (partial_json_parser,)
