"""Calls by a grammar, as model servers read them: words move a state, what stands between is name or arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from webapp.parsing.edit import Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._steps import Refused, derived, escapes, give_calls, refuse, value_end
from webapp.parsing.trace import Attempt

SURROGATE = re.compile("[\ud800-\udfff]")
NO_UTF8 = "ValidationError: a text that is no UTF-8: no call is given"
_NAME = re.compile(r'"name"\s*:\s*"([^"]*)"')


def _typed(opener: re.Match[str], text: str) -> Any:
    """What is not marked as a text by the second group is JSON, or a text where it is no JSON."""
    try:
        return text if opener[2] == "true" else json.loads(text)
    except (ValueError, RecursionError):
        return text


VALUES: Mapping[str, Callable[[re.Match[str], str], Any]] = {
    "text": lambda _opener, text: text,
    "stripped": lambda _opener, text: text.strip(),
    "unwrapped": lambda _opener, text: text.removeprefix("\n").removesuffix("\n"),
    "typed": _typed,
}
"""What makes the value of a parameter."""


@dataclass
class CallSpan:
    """A call as it is read: where it stands, its name as written, and the span of its arguments, None without any."""

    start: int
    name: str = ""
    arguments: Span | None = None
    end: int = 0

    def take(self, state: str, raw: str, span: Span) -> None:
        """What stands at `span` belongs to the name or to the arguments, whichever is being read."""
        if state == "name":
            self.name += span.of(raw)
        elif state == "args" and span.start < span.end:
            self.arguments = Span(self.arguments.start if self.arguments else span.start, span.end)
        if state in ("name", "args"):
            self.end = span.end


@dataclass(frozen=True)
class ParameterPairs:
    """`opener` ends where a value begins, and `closer` is the first one behind it.

    Without `between` the first group of `opener` that found something is the name; with it, what stands until there.
    That is the key, with `strips_keys` without white space round it; `value` makes the value of what `opener` found and
    of the text. Without `nameless` a pair that has no key is left out.
    """

    opener: re.Pattern[str]
    closer: re.Pattern[str]
    value: Callable[[re.Match[str], str], Any]
    between: re.Pattern[str] | None = None
    strips_keys: bool = False
    nameless: bool = True

    def read(self, text: str) -> dict[str, Any]:
        """All pairs; of a key that repeats the last one."""
        return dict(self.each(text))

    def each(self, text: str) -> Iterator[tuple[str, Any]]:
        """All pairs in their order; one that is not closed is left out with all behind it. Linear."""
        at, last = 0, text.rfind(">") + 1
        while opener := self.opener.search(text, at, last):
            head = self.between.search(text, opener.end()) if self.between else opener
            closer = self.closer.search(text, head.end()) if head else None
            if not head or not closer:
                return
            name = text[opener.end() : head.start()] if self.between else next(filter(None, opener.groups()), "")
            if (key := name.strip() if self.strips_keys else name) or self.nameless:
                yield key, self.value(opener, text[head.end() : closer.start()])
            at = closer.end()


@dataclass(frozen=True)
class Grammar:
    """`moves` has a line `states  word  next state  signs` a move, two spaces between; it begins in the state text.

    Of the signs, ( begins a call, + makes the word a part of the arguments. A word that moves nothing where it stands
    is as any text, which counts in the states name and args.
    `also` are words that move nothing anywhere, but hide those that stand in them.
    `pairs` finds the arguments; without them they are JSON, which the caller gets as a text.
    `name` finds the name at the beginning of what is written, as its group, or none; without it all of it is the name.
    `first`: of the arguments the first JSON value counts; and what is written is the name, even nothing.
    """

    moves: str
    also: str = ""
    pairs: ParameterPairs | None = None
    name: re.Pattern[str] | None = None
    first: bool = False
    table: dict[tuple[str, str], tuple[str, str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for line in filter(None, self.moves.split("\n")):
            states, word, into, *signs = line.split("  ")
            self.table.update(dict.fromkeys([(state, word) for state in states.split()], (into, "".join(signs))))

    @cached_property
    def words(self) -> re.Pattern[str]:
        """The longest of the words that stand at a place."""
        words = sorted({*self.also.split(), *(word for _, word in self.table)}, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, words)))

    def calls(self, raw: str) -> Iterator[CallSpan]:
        """The calls as far as they go, also one that the text's end cuts off. Linear."""
        state, at, call = "text", 0, CallSpan(0)
        for match in self.words.finditer(raw):
            call.take(state, raw, Span(at, match.start()))
            at = match.end()
            into, signs = self.table.get((state, match[0]), (state, "+"))
            if "(" in signs:
                if call.name or call.arguments:
                    yield call
                call = CallSpan(match.start())
            if "+" in signs:
                call.take(into, raw, Span(*match.span()))
            elif state in ("name", "args"):
                call.end = match.end()
            state = into
        call.take(state, raw, Span(at, len(raw)))
        if call.name or call.arguments:
            yield call

    def named(self, call: CallSpan, raw: str) -> str:
        """The name of a call; where none is written, one that stands in its arguments."""
        name = self._name(call.name)
        if name or self.first:
            return name
        if not call.arguments:
            return call.name
        inside = _NAME.search(raw, *call.arguments)
        return (self._name(inside[1]) or inside[1]) if inside else ""

    def _name(self, written: str) -> str:
        if self.name is None:
            return written
        match = self.name.match(written)
        return (match and match[1]) or ""

    def read(self, tracer: Tracer) -> None:
        """Give every call whose name is known; one that the server refuses takes the others with it."""
        give_calls(tracer, self.attempts(tracer))

    def attempts(self, tracer: Tracer) -> Iterator[Attempt]:
        """One a call that has a name or arguments. Raises `Refused`."""
        for call in self.calls(tracer.raw):
            span = stripped(tracer.raw, *(call.arguments or Span(call.end, call.end)))
            if SURROGATE.search(call.name + span.of(tracer.raw)):
                tracer.fail("tagged", Span(call.start, call.end), NO_UTF8)
                raise Refused
            name = self.named(call, tracer.raw).strip()
            if name or self.first:
                yield self.attempt(tracer, call, name, span)
            elif span.start < span.end:
                yield _nameless(tracer, span)

    def attempt(self, tracer: Tracer, call: CallSpan, name: str, span: Span) -> Attempt:
        if span.start == span.end or self.pairs:
            value = {"name": name, "arguments": self.pairs.read(span.of(tracer.raw)) if self.pairs else {}}
            return derived(tracer, Span(call.start, call.end), value, f"calls {name}")
        length = value_end(span.of(tracer.raw)) if self.first else -1
        span = Span(span.start, span.start + length) if length >= 0 else span
        return tracer.attempt("tagged", span, note=f"calls {name}")


def _nameless(tracer: Tracer, span: Span) -> Attempt:
    """A call without a name is one where its arguments are an object that has both. Raises `Refused`."""
    attempt = tracer.attempt("tagged", span, note="a call without a name")
    if escapes(attempt):
        raise Refused
    name = attempt.value.get("name", "") if isinstance(attempt.value, dict) else ""
    if not attempt.ok:
        return attempt
    if not name:
        return refuse(tracer, attempt, "the call has no name: it is dropped")
    if not isinstance(name, str):
        refuse(tracer, attempt, "ValidationError: the name is no text")
        raise Refused
    return tracer.amend(attempt, note=f"calls {name}")
