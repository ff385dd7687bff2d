"""The Vercel AI SDK's `parsePartialJson`: JSON.parse, and again after completing a cut end."""

from __future__ import annotations

from dataclasses import dataclass, field

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._cutting import inserted, whole
from webapp.parsing.span import Span

_WORDS = ("false", "true", "null")


@dataclass(frozen=True)
class VercelAI(Described):
    name: str = "vercel-ai"
    group: str = LIBRARIES
    version: str = "restated-6.0.326"
    about: str = (
        "1. JSON.parse of the whole response. 2. If that fails, a walk through it that keeps what could begin a "
        "JSON value, drops the text after the last valid character, completes true, false and null, closes strings, "
        "objects and lists, and JSON.parse once more. Prose before the JSON ends it; prose after it is not removed.\n"
        "Source: ai 6.0.326, src/util/parse-partial-json.ts and fix-json.ts. The original is TypeScript: here Python's "
        "decoder words the errors, and large integers stay exact."
    )

    def run(self, tracer: Tracer) -> None:
        everything = whole(tracer.raw)
        first = tracer.attempt("whole", everything, finite=True)
        if not first.ok:
            first = tracer.attempt("whole", everything, completed(tracer.raw), finite=True)
            tracer.truncated = first.ok
        if first.ok:
            tracer.choose(first)


plugin = VercelAI()


def completed(raw: str) -> list[Edit]:
    """The edits that complete a cut tail: what is behind the last sound character goes, closers come."""
    walk = _Walk(raw)
    for at, char in enumerate(raw):
        getattr(walk, "in_" + walk.stack[-1])(char, at)
    end, closers = walk.sound + 1, walk.closers()
    if end < len(raw):
        return [Edit("truncation", Span(end, len(raw)), raw[end:], closers)]
    return [inserted("missing_closer", end, closers)] if closers else []


@dataclass
class _Walk:
    """The state of the walk: `stack` names what is open, `sound` is the last character after which a cut is sound."""

    raw: str
    stack: list[str] = field(default_factory=lambda: ["root"])
    sound: int = -1
    literal: int = 0
    digits: int = 0

    def replace(self, *states: str) -> None:
        self.stack[-1:] = states

    def value(self, char: str, at: int, after: str) -> None:
        """A value begins at this character, or nothing does."""
        state = {'"': "string", "{": "object_start", "[": "list_start", "-": "number"}.get(char)
        if char in "ftn":
            state, self.literal = "literal", at
        elif char in "0123456789":
            state = "number"
        if state:
            self.replace(after, state)
            self.sound = at if char != "-" else self.sound

    def close(self, at: int) -> None:
        self.sound = at
        self.stack.pop()

    def in_root(self, char: str, at: int) -> None:
        self.value(char, at, "finished")

    def in_finished(self, char: str, at: int) -> None:
        pass

    def in_object_start(self, char: str, at: int) -> None:
        if char == '"':
            self.replace("key")
        elif char == "}":
            self.close(at)

    def in_object_comma(self, char: str, at: int) -> None:
        if char == '"':
            self.replace("key")

    def in_key(self, char: str, at: int) -> None:
        if char == '"':
            self.replace("object_colon")

    def in_object_colon(self, char: str, at: int) -> None:
        if char == ":":
            self.replace("object_value")

    def in_object_value(self, char: str, at: int) -> None:
        self.value(char, at, "object_after")

    def in_object_after(self, char: str, at: int) -> None:
        if char == ",":
            self.replace("object_comma")
        elif char == "}":
            self.close(at)

    def in_list_start(self, char: str, at: int) -> None:
        if char == "]":
            self.close(at)
        else:
            self.sound = at
            self.value(char, at, "list_after")

    def in_list_comma(self, char: str, at: int) -> None:
        self.value(char, at, "list_after")

    def in_list_after(self, char: str, at: int) -> None:
        if char == ",":
            self.replace("list_comma")
        elif char == "]":
            self.close(at)
        else:
            self.sound = at

    def in_string(self, char: str, at: int) -> None:
        if char == "\\":
            self.stack.append("escape")
        elif char == '"':
            self.close(at)
        else:
            self.sound = at

    def in_escape(self, char: str, at: int) -> None:
        self.stack.pop()
        if char == "u":
            self.digits = 0
            self.stack.append("unicode_escape")
        else:
            self.sound = at

    def in_unicode_escape(self, char: str, at: int) -> None:
        if char in "0123456789abcdefABCDEF":
            self.digits += 1
            if self.digits == 4:
                self.close(at)

    def in_number(self, char: str, at: int) -> None:
        if char in "0123456789":
            self.sound = at
        elif char not in "eE-.":
            self.stack.pop()
            self.after_scalar(char, at)

    def after_scalar(self, char: str, at: int) -> None:
        """What ends a number or a word may end what holds it too."""
        state = self.stack[-1]
        if state == "list_after" and char in ",]":
            self.in_list_after(char, at)
        elif state == "object_after":
            self.in_object_after(char, at)

    def in_literal(self, char: str, at: int) -> None:
        part = self.raw[self.literal : at + 1]
        if any(word.startswith(part) for word in _WORDS):
            self.sound = at
        else:
            self.stack.pop()
            self.after_scalar(char, at)

    def closers(self) -> str:
        return "".join(self.closer(state) for state in reversed(self.stack))

    def closer(self, state: str) -> str:
        if state == "literal":
            part = self.raw[self.literal :]
            return next((word[len(part) :] for word in ("true", "false", "null") if word.startswith(part)), "")
        if state == "string":
            return '"'
        return {"object": "}", "key": "}", "list": "]"}.get(state.partition("_")[0], "")
