"""Paths and tests of declared formats: `a.b|c` takes the first that is there; `a`, `!a`, `a=x|y`, `a:text` test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from webapp.dumps.base import Conversation
from webapp.dumps.json_path import JsonPath, parse_path, value_at
from webapp.dumps.messages.calls import call as provider_call
from webapp.dumps.messages.calls import listed_calls
from webapp.dumps.messages.pieces import Path, Piece, as_json, block, content
from webapp.dumps.values import as_object, text

Test = Callable[[Any], bool]
_TYPES: dict[str, type | tuple[type, ...]] = {
    "text": str,
    "list": list,
    "object": dict,
    "number": (int, float),
    "true": bool,
}
_SIGNS: dict[str, Callable[[Any, list[str]], bool]] = {
    "~": lambda value, words: str(value).startswith(tuple(words)),
    "*": lambda value, words: any(word in str(value) for word in words),
    "=": lambda value, words: str(value) in words,
    ":": lambda value, words: any(isinstance(value, _TYPES[word]) for word in words),
}
"""begins with, holds, is, is of the type"""


@lru_cache(maxsize=4096)
def _paths(path: str) -> tuple[JsonPath, ...]:
    return tuple(() if step in (".", "$") else parse_path(step) for step in path.split("|"))


def at(value: Any, path: str | None) -> tuple[Any, JsonPath | None]:
    """What stands at the first of the paths that leads to something, and where that is; (None, None) for none."""
    for steps in _paths(path) if path else ():
        inner, place = value_at(value, steps)
        if inner is not None:
            return inner, place
    return None, None


def holds(value: Any, tests: str | None) -> bool:
    """Whether all of the tests, which a space parts, hold; `or` parts lists of which one must. None always holds."""
    return tests is None or _compiled(tests)(value)


@lru_cache(maxsize=4096)
def _compiled(tests: str) -> Test:
    every = [[_test(test) for test in part.split()] for part in tests.split(" or ")]
    return lambda value: any(all(test(value) for test in part) for part in every)


def _test(test: str) -> Test:
    negated, test = test.startswith("!"), test.removeprefix("!")
    for sign, passes in _SIGNS.items():
        path, there, words = test.partition(sign)
        if there and sign not in path:
            listed = [word.replace("_", " ") for word in words.split("|")] if sign == "*" else words.split("|")
            return lambda value: bool(passes(at(value, path)[0], listed)) is not negated
    return lambda value: (at(value, test)[0] is None) is negated


_SAYING = ("thinking", "text", "join", "content", "block", "json", "calls", "call", "result")


def said_pieces(
    say: list[dict[str, str]], entry: dict[str, Any], conversation: Conversation, said: set[str]
) -> Iterator[Piece]:
    """What an entry says, part by part: those with `unless_said` only where none came before."""
    has_said = False
    for part in say:
        kind = next(key for key in part if key in _SAYING)
        if ("unless_said" in part and has_said) or not holds(entry, part.get("when")):
            continue
        pieces = list(_piece(kind, part, entry, conversation, said))
        has_said = has_said or bool(pieces)
        yield from pieces


def _piece(
    kind: str, part: dict[str, str], entry: dict[str, Any], conversation: Conversation, said: set[str]
) -> Iterator[Piece]:
    value, steps = at(entry, part[kind])
    if kind == "content":
        yield from content(value, steps or ())
    elif kind == "block":
        yield from block({part[kind]: value}, ()) if "wrapped" in part else block(value, steps or ())
    elif kind == "json" and value is not None:
        yield Piece("text", value if isinstance(value, str) else as_json(value))
    elif kind == "calls":
        holder, _, key = part[kind].rpartition(".")
        for listed in listed_calls(as_object(at(entry, holder)[0]) if holder else entry, key, conversation.notes):
            yield provider_call(listed, ()) if "provider" in part else _call(listed, (), part, said)
    elif kind == "call" and value is not None:
        before = set(said) if "unless_called" in part else set()
        call = _call(as_object(value), steps or (), part, said)
        if call.id not in before:
            yield call
    elif kind == "join":
        texts = [own for key in part[kind].split("+") if (own := text(at(entry, key)[0]))]
        yield Piece("text", "\n".join(texts))
    elif kind == "result" and value is not None:
        name, ident = (text(at(entry, part.get(key))[0]) for key in ("name", "id"))
        yield Piece.of_result(value, steps or (), name, ident)
    elif kind in ("text", "thinking") and isinstance(value, str) and (value or "empty" in part):
        yield Piece("text" if kind == "text" else "thinking", value, steps)


def _call(call: dict[str, Any], steps: Path, part: dict[str, str], said: set[str]) -> Piece:
    name, ident = (text(at(call, part.get(key))[0]) for key in ("name", "id"))
    arguments, place = at(call, part.get("args", "arguments|args|input"))
    where = () if "unplaced" in part else (*steps, *(place or ()))
    call = {**call, "name": name} if "named" in part else dict(call)
    piece = Piece.of_call(arguments, where, name or part.get("called"), ident, call)
    if ident:
        said.add(ident)
    return piece
