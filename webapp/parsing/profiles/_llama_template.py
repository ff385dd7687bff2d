"""llama.cpp's readers of tool calls: a grammar made of what it finds in a chat template."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from webapp.parsing.edit import Edit, Span
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._steps import Refused, derived, give_behind, whole
from webapp.parsing.trace import Attempt

_TEXT = r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_INTEGER = "(?:0|[1-9][0-9]*)"
_LEAF = re.compile(rf'{_TEXT}"|-?{_INTEGER}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9.eE+-]|\Z)|true|false|null')
_BEGUN = re.compile(
    rf"({_TEXT})(?:\\(?:u[0-9a-fA-F]{{,3}})?)?\Z|-?(?:{_INTEGER}(?:\.[0-9]*|(?:\.[0-9]+)?(?:[eE][+-]?[0-9]*)?))?\Z"
    r"|(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)\Z"
)
_WHITE = re.compile(r"[ \t-\r]*")
_NO_MATCH = "RuntimeError: no output of the expected peg-native format: the request fails"


class _Stops(Exception):
    """What the grammar says does not stand at `args[0]`; `args[1]` is whether the text only ends before it."""


def _word(raw: str, at: int, word: str) -> int:
    """Where white space ends behind a word of the grammar."""
    if raw.startswith(word, at):
        return _white(raw, at + len(word))
    is_cut_off = word.startswith(raw[at : at + len(word)])
    raise _Stops(len(raw) if is_cut_off else at, is_cut_off)


def _white(raw: str, at: int) -> int:
    return _WHITE.match(raw, at).end()  # type: ignore[union-attr]  # always matches


def _leaf(raw: str, at: int) -> int:
    """Where white space ends behind a text, a number or a word of JSON; an escape that is cut off does not count."""
    if match := _LEAF.match(raw, at):
        return _white(raw, match.end())
    begun = _BEGUN.match(raw, at)
    raise _Stops(begun.end(begun.lastindex or 0) if begun else at, begun is not None)


def _text(raw: str, at: int) -> int:
    if raw[at : at + 1] not in ("", '"'):
        raise _Stops(at, False)
    return _leaf(raw, at)


def _json(raw: str, at: int) -> int:
    """Where white space ends behind the JSON value at `at`; line feeds may stand in its texts. Linear."""
    closers: list[str] = []
    while True:
        closer = {"{": "}", "[": "]"}.get(raw[at : at + 1])
        at = _white(raw, at + 1) if closer else _leaf(raw, at)
        if closer:
            closers.append(closer)
        if not closer or raw.startswith(closer, at):
            while closers and not raw.startswith(",", at):
                at = _word(raw, at, closers.pop())
            if not closers:
                return at
            at = _white(raw, at + 1)
        at = _word(raw, _text(raw, at), ":") if closers[-1] == "}" else at


@dataclass(frozen=True)
class Template:
    """What llama.cpp finds in a chat template: how calls open and close, and their `key` of arguments.

    `thinks`: thoughts may stand in front. `wraps`: a call may begin with its type. `several`: more may follow it.
    """

    opener: str
    closer: str
    key: str
    thinks: bool = False
    wraps: bool = False
    several: bool = False

    def read(self, tracer: Tracer) -> None:
        """Give every call; what does not fit makes the request fail."""
        give_behind(self.begin, tracer, self.calls(tracer))

    @property
    def begin(self) -> str:
        """What stands where a call begins."""
        return self.opener or "{"

    def calls(self, tracer: Tracer) -> Iterator[Attempt]:
        """One a call, also one that is cut off. Raises `Refused`. Linear."""
        raw, at = tracer.raw, self._first(tracer.raw)
        if at < 0:
            tracer.reject("tagged", whole(raw), "it stands in thoughts: plain text")
        try:
            while 0 <= at < len(raw):
                at = yield from self._call(tracer, _word(raw, at, self.opener))
                while self.several and raw.startswith(",", at):
                    at = yield from self._call(tracer, _white(raw, at + 1))
                at = _word(raw, at, self.closer)
                if not self.closer and at < len(raw):
                    raise _Stops(at, False)
        except _Stops as stop:
            if not stop.args[1]:
                tracer.fail("tagged", Span(stop.args[0], len(raw)), _NO_MATCH)
                raise Refused from stop

    def _first(self, raw: str) -> int:
        """Where the first call opens; -1 where none does."""
        at = _white(raw, 0)
        thoughts = raw.find("</think>", at) if self.thinks and raw.startswith("<think>", at) else at
        return raw.find(self.begin, thoughts) if thoughts >= 0 else -1

    def _call(self, tracer: Tracer, at: int) -> Generator[Attempt, None, int]:
        """A call, and where the white space behind it ends."""
        raw = tracer.raw
        at = _word(raw, at, "{")
        for word in ('"type"', ":", '"function"', ",") if self.wraps and raw.startswith('"type"', at) else ():
            at = _word(raw, at, word)
        begin = _word(raw, _word(raw, at, '"name"'), ":")
        at = _text(raw, begin)
        name, begin = raw[begin:at].rstrip()[1:-1], at
        try:
            begin = at = _word(raw, _word(raw, _word(raw, at, ","), self.key), ":")
            at = end = _json(raw, at)
            at = _word(raw, at, "}")
        except _Stops as stop:
            if stop.args[1]:
                yield _given(tracer, Span(begin, stop.args[0]), name, None)
            raise
        yield _given(tracer, Span(begin, end), name, {"name": name, "arguments": {}})
        return at


def _given(tracer: Tracer, span: Span, name: str, other: Any) -> Attempt:
    """The arguments as far as they came; where they are no object `other`, and { of what is cut off."""
    text, note = span.of(tracer.raw).rstrip(" \t\n\v\f\r"), f"calls {name}"
    span = Span(span.start, span.start + len(text))
    if other and text[0] != "{":
        return derived(tracer, span, other, note)
    return tracer.attempt("tagged", span, [] if text[:1] == "{" else [Edit("rewrite", span, text, "{")], note=note)
