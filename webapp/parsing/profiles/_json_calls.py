"""Calls that are JSON objects with certain keys, as model servers read them: all or none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from webapp.parsing.edit import Span
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._steps import Parser, give_behind, refuse, value_end
from webapp.parsing.trace import Attempt


def json_calls(begins: str, needs: Sequence[str], pattern: str = "", strategy: str = "tagged") -> Parser:
    """Makes the parser of what the groups of a `pattern` find, else of all objects; calls have the keys `needs`."""

    def parser(tracer: Tracer) -> None:
        attempts = (_call(tracer, strategy, span, needs) for span in _found(tracer.raw, pattern))
        give_behind(begins, tracer, attempts, all_or_none=True, strategy=strategy)

    return parser


def _found(raw: str, pattern: str) -> Iterator[Span]:
    matches = re.finditer(pattern, raw, re.DOTALL)
    return (Span(*match.span(match.lastindex or 1)) for match in matches) if pattern else _objects(raw)


def _objects(raw: str) -> Iterator[Span]:
    """Where each object stands; of what cannot be read, from its brace to the end, after which nothing comes."""
    start = raw.find("{")
    while start >= 0:
        end = value_end(raw, start)
        yield Span(start, end if end >= 0 else len(raw))
        start = raw.find("{", end + 1) if end >= 0 else -1


def _call(tracer: Tracer, strategy: str, span: Span, needed: Sequence[str]) -> Attempt:
    """Decode a call; `needed` are its keys, with "|" between alternatives."""
    attempt = tracer.attempt(strategy, span)
    reason = no_call(attempt.value, needed) if attempt.ok else ""
    return refuse(tracer, attempt, reason) if reason else attempt


def no_call(value: object, needed: Sequence[str]) -> str:
    """Why `value` is no call, in the words of the error that the server swallows; empty where it is one."""
    if not isinstance(value, dict):
        return f"TypeError: a call is looked for in something of type {type(value).__name__}"
    for names in needed:
        if not any(name in value for name in names.split("|")):
            return f"KeyError: {names.rpartition('|')[2]!r}"
    if not isinstance(value.get("name", ""), str):
        return "ValidationError: the name is no text"
    return ""
