"""The Vercel AI SDK's `parsePartialJson`: JSON.parse, and again after completing a cut end."""

from __future__ import annotations

from dataclasses import dataclass, field
from string import digits, hexdigits

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles._about import described
from webapp.parsing.profiles._steps import checked, no_prototype, whole
from webapp.parsing.span import Span

_WORDS = ("false", "true", "null")
_BEGINS = {'"': "string", "{": "object_start", "[": "list_start", "-": "number"} | dict.fromkeys(digits, "number")
_BEGINS |= dict.fromkeys("ftn", "literal")
_AFTER_VALUE = {
    "root": "finished",
    "object_value": "object_after",
    "list_start": "list_after",
    "list_comma": "list_after",
}
"""The states in which a value may begin, each with the one behind it."""
_NEXT = {
    ("object_start", '"'): "key",
    ("object_comma", '"'): "key",
    ("key", '"'): "object_colon",
    ("object_colon", ":"): "object_value",
    ("object_after", ","): "object_comma",
    ("list_after", ","): "list_comma",
    **dict.fromkeys((("object_start", "}"), ("object_after", "}"), ("list_start", "]"), ("list_after", "]")), ""),
    ("string", '"'): "",
}
"""The state that a character makes of another one; none where it ends there."""


@described("vercel-ai", LIBRARIES, version="restated-7.0.173", original="TypeScript")
def plugin(tracer: Tracer) -> None:
    """The Vercel AI SDK's `parsePartialJson`: JSON.parse, and again after completing a cut end.

    1. JSON.parse of the whole response. 2. If that fails, a walk through it that keeps what could begin a JSON value,
    drops the text after the last valid character, completes true, false and null, closes strings, objects and lists,
    and JSON.parse once more. A key __proto__, or constructor with prototype in it, is refused. Prose before the JSON
    ends it; prose after it is not removed.

    Source: ai 7.0.173, src/util/parse-partial-json.ts and fix-json.ts. The original is TypeScript: here Python's
    decoder words the errors, and large integers stay exact.
    """
    everything = whole(tracer.raw)
    first = tracer.attempt("whole", everything, finite=True)
    if not first.ok or not checked(tracer, first, (no_prototype,)):
        second = tracer.attempt("whole", everything, completed(tracer.raw), finite=True)
        tracer.truncated = second.ok and checked(tracer, second, (no_prototype,))


def completed(raw: str) -> list[Edit]:
    """The edits that complete a cut tail: what is behind the last sound character goes, closers come."""
    walk = _Walk(raw)
    for at, char in enumerate(raw):
        if walk.stack[-1] == "finished":
            break
        walk.step(char, at)
    end, closers = walk.sound + 1, "".join(map(walk.closer, reversed(walk.stack)))
    if end < len(raw):
        return [Edit("truncation", Span(end, len(raw)), raw[end:], closers)]
    return [Edit("missing_closer", Span(end, end), "", closers)] if closers else []


@dataclass
class _Walk:
    """The state of the walk: `stack` names what is open, `sound` is the last character after which a cut is sound."""

    raw: str
    stack: list[str] = field(default_factory=lambda: ["root"])
    sound: int = -1
    literal: int = 0

    def step(self, char: str, at: int) -> None:
        state = self.stack[-1]
        if state == "string" and char not in '"\\':
            self.sound = at
        elif state in ("number", "literal"):
            self._scalar(state, char, at)
        elif state in ("escape", "hex"):
            self._escape(state, char, at)
        else:
            self._structure(state, char, at)

    def _structure(self, state: str, char: str, at: int) -> None:
        after = _NEXT.get((state, char))
        if after == "":
            self.sound = at
            self.stack.pop()
        elif after:
            self.stack[-1] = after
        elif state == "string":
            self.stack.append("escape")
        elif state == "list_after":
            self.sound = at
        elif state in _AFTER_VALUE:
            self._value(state, char, at)

    def _value(self, state: str, char: str, at: int) -> None:
        """A value begins at this character, or nothing does."""
        begins = _BEGINS.get(char)
        if begins:
            self.stack[-1:] = _AFTER_VALUE[state], begins
        if begins == "literal":
            self.literal = at
        if begins and char != "-":
            self.sound = at

    def _escape(self, state: str, char: str, at: int) -> None:
        """A backslash and a letter; behind a u, four digits."""
        if state == "hex" and char not in hexdigits:
            return
        self.stack.pop()
        if char == "u":
            self.stack += ["hex"] * 4
        elif self.stack[-1] == "string":
            self.sound = at

    def _scalar(self, state: str, char: str, at: int) -> None:
        """What ends a number or a word may end what holds it too."""
        if state == "number" and char in "eE-.":
            return
        if char in digits if state == "number" else self._words(at + 1):
            self.sound = at
            return
        self.stack.pop()
        if (self.stack[-1], char) in _NEXT:
            self._structure(self.stack[-1], char, at)

    def _words(self, end: int) -> list[str]:
        """The words that begin as the text does from the literal on."""
        return [word for word in _WORDS if word.startswith(self.raw[self.literal : end])]

    def closer(self, state: str) -> str:
        if state == "literal":
            begun = len(self.raw) - self.literal
            return next((word[begun:] for word in self._words(len(self.raw))), "")
        if state == "string":
            return '"'
        return {"object": "}", "key": "}", "list": "]"}.get(state.partition("_")[0], "")
