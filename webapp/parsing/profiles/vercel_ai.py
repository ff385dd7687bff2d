"""The Vercel AI SDK's `parsePartialJson`: JSON.parse, and again after completing a cut end."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._steps import checked, completed, no_prototype, whole

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
_WORDS = {"f": "false", "t": "true", "n": "null"}
_SCALAR = re.compile(
    r'"(?:[^"\\]|\\(?:[^u]|u(?:[^0-9a-fA-F]*+[0-9a-fA-F]){4}))*+(?P<closed>")?'
    r"|[-0-9][-0-9.eE]*|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?"
)


@described("vercel-ai", LIBRARIES, original="TypeScript")
def plugin(tracer: Tracer) -> None:
    """The Vercel AI SDK's `parsePartialJson`: JSON.parse, and again after completing a cut end.

    1. JSON.parse of the whole response. 2. If that fails, a walk through it that keeps what could begin a JSON value,
    drops the text after the last valid character, completes true, false and null, closes strings, objects and lists,
    and JSON.parse once more. A key __proto__, or constructor with prototype in it, is refused. Prose before the JSON
    ends it; prose after it is not removed.

    Source: ai 7.0.173, src/util/parse-partial-json.ts and fix-json.ts.
    """
    everything = whole(tracer.raw)
    first = tracer.attempt("whole", everything, finite=True)
    if not first.ok or not checked(tracer, first, no_prototype):
        second = tracer.attempt("whole", everything, _Walk(tracer.raw).completion(), finite=True)
        tracer.truncated = second.ok and checked(tracer, second, no_prototype)


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
        if char in _WORDS:
            self.sound = self.at
            self.tail = _WORDS[char][len(match[0]) :] if is_last else ""
        elif number := match[0].rstrip("-.eE"):
            self.sound = match.start() + len(number)
        if not is_last and (self.stack[-1], self.raw[self.at]) not in _NEXT:
            self.at += 1
