"""Finds what was asked and answered in JSON of no known shape, by what its keys are called: "user_msg", "llmOutput"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from webapp.dumps.messages.bodies import is_answer
from webapp.dumps.messages.pieces import Path
from webapp.dumps.messages.streams import is_event

Side = Literal["system", "user", "assistant", "too deep"]
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_ANSWERS = {
    *("response", "responses", "completion", "completions", "output", "outputs", "answer", "answers", "reply"),
    *("generation", "generations", "generated", "prediction", "predictions", "assistant", "sampled", "resp"),
    *("replies", "result", "results", "solution", "patch", "antwort", "respuesta", "reponse", "return"),
}
_WEAK = {"result", "results", "solution", "patch", "return"}
"""of these, which a verdict or a reference may stand under: they count where nothing else at their level answers"""
_PROMPTS = {
    *("prompt", "prompts", "question", "query", "input", "inputs", "instruction", "user", "request", "message"),
    *("messages", "msg", "frage", "pregunta", "task", "ask"),
}
_ELSE = {
    *("expected", "gold", "reference", "target", "correct", "format", "schema", "config", "token", "tokens", "time"),
    *("timestamp", "id", "ids", "usage", "type", "status", "code", "length", "count", "cost", "reason", "file"),
    *("path", "url", "uri", "score", "scores", "metric", "metrics", "error", "errors", "dir", "name", "at", "ms"),
    *("canonical", "truth", "ideal", "label", "labels", "verdict", "grade", "test", "tests", "passed"),
    *("latency", "hash", "created", "version", "parsed", "logprobs", "headers", "template", "description", "hint"),
}
_PAIR: dict[str, Side] = {"q": "user", "a": "assistant"}
_DEEPEST = 8
_ORDER: dict[Side, int] = {"system": 0, "user": 1, "assistant": 2}


class NamedText(NamedTuple):
    """A text, a message or a provider's body, who it is of, and where it stands; "too deep" is what was not read."""

    side: Side
    value: Any
    path: Path


def named_texts(value: Any, at: Path = (), side: Side | None = None) -> Iterator[NamedText]:
    """What a value says by the names of its keys; at one level what was asked comes before what was answered."""
    if len(at) > _DEEPEST:
        if (isinstance(value, dict | list) and value) or (isinstance(value, str) and side and value.strip()):
            yield NamedText("too deep", None, at)
    elif isinstance(value, str):
        if side and value.strip():
            yield NamedText(side, value, at)
    elif isinstance(value, list) and value and all(map(is_event, value)):
        yield NamedText("assistant", value, at)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from named_texts(inner, (*at, index), side)
    elif isinstance(value, dict) and "role" in value and ("content" in value or "tool_calls" in value):
        yield NamedText("assistant" if value["role"] == "assistant" else "user", value, at)
    elif isinstance(value, dict) and is_answer(value) and (side == "assistant" or "choices" in value):
        yield NamedText("assistant", value, at)
    elif isinstance(value, dict):
        sides = [(_side(str(key), side, value), key) for key in value]
        if any(found == "assistant" and not _is_weak(key) for found, key in sides):
            sides = [(None if found == "assistant" and _is_weak(key) else found, key) for found, key in sides]
        for key_side, key in sorted(sides, key=lambda pair: _ORDER.get(pair[0] or "assistant", 3)):
            yield from named_texts(value[key], (*at, key), key_side)


def _is_weak(key: Any) -> bool:
    words = {word.lower() for word in _WORD.findall(str(key))}
    return bool(words & _WEAK) and not words & (_ANSWERS - _WEAK)


def _side(key: str, around: Side | None, holder: dict[str, Any]) -> Side | None:
    """Who speaks under a key, by its name, and by what stands around it where the name alone says little."""
    words = [word.lower() for word in _WORD.findall(key)]
    if _ELSE.intersection(words):
        return None
    if "system" in words:
        return "system"
    if _ANSWERS.intersection(words):
        return "assistant"
    if _PROMPTS.intersection(words):
        return "user"
    if key in ("content", "text", "value"):
        return around or ("assistant" if "model" in holder else None)
    return _PAIR[key] if key in _PAIR and _PAIR.keys() <= holder.keys() else None
