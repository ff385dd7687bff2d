"""What is in somebody's own JSON: the paths of its first records with sample values, and a first guess at a mapping."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webapp.dumps.head import Head, look
from webapp.dumps.source import opened

MOST_PATHS = 120
DEEPEST = 6
_LONGEST = 80
_PLAIN = re.compile(r"""[^.\[\]"'\s]+""")
_GUESSES = {
    "raw": ("response", "completion", "output", "answer", "raw", "text", "content", "generation", "result"),
    "prompt": ("prompt", "input", "question", "query", "instruction"),
    "session": ("session_id", "session", "conversation_id", "run_id", "thread_id", "trace_id", "chat_id"),
    "model": ("model", "model_name", "model_id", "engine"),
    "role": ("role",),
    "time": ("timestamp", "created_at", "time", "created", "date", "started_at"),
    "tokens_in": ("tokens_in", "prompt_tokens", "input_tokens"),
    "tokens_out": ("tokens_out", "completion_tokens", "output_tokens"),
    "cost": ("cost", "cost_usd", "price"),
    "agent": ("agent", "agent_name"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A path that leads somewhere in the first records: the kind of what stands there, and the first of it."""

    path: str
    kind: str
    sample: str
    text: str | None


def outline(path: Path, filename: str) -> list[Place]:
    """The paths of the first records that a mapping reads, in their order; [] where the file holds no records."""
    with opened(path, filename) as source:
        head = look(source)
    found: dict[str, Place] = {}
    for record in records(head):
        for place in _places(record, "$", 0):
            if len(found) < MOST_PATHS or place.path in found:
                found.setdefault(place.path, place)
    return list(found.values())


def records(head: Head) -> list[dict[str, Any]]:
    """The first records, as the format `mapped` takes them: lines, a list's items, or the document itself."""
    if head.shape == "object":
        longest = max(head.items, key=lambda name: len(head.items[name]), default=None)
        items = [head.members] if longest is None else head.items[longest]
    else:
        items = head.samples
    return [item for item in items if isinstance(item, dict)]


def guess(places: list[Place]) -> dict[str, str]:
    """Fields whose paths are called as such things are called; raw falls back on the longest text."""
    found: dict[str, str] = {}
    for field, names in _GUESSES.items():
        fitting = [place for name in names for place in places if name in _names(place.path)]
        texts = [place for place in fitting if place.text is not None or field not in ("raw", "prompt")]
        if texts and texts[0].path not in found.values():
            found[field] = texts[0].path
    if "raw" not in found:
        longest = max(places, key=lambda place: len(place.text or ""), default=None)
        if longest is not None and longest.text:
            found["raw"] = longest.path
    return found


def _places(value: Any, path: str, depth: int) -> Iterator[Place]:
    if isinstance(value, dict) and depth < DEEPEST:
        for key, inner in value.items():
            step = f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key)}]"
            yield from _places(inner, path + step, depth + 1)
    elif isinstance(value, list) and value and depth < DEEPEST:
        yield Place(path, "list", _sample(value), None)
        yield from _places(value[0], f"{path}[0]", depth + 1)
        if len(value) > 1:
            yield from _places(value[-1], f"{path}[-1]", depth + 1)
    else:
        text = value if isinstance(value, str) else None
        yield Place(path, _kind(value), _sample(value), text)


def _kind(value: Any) -> str:
    names = {str: "text", bool: "boolean", int: "number", float: "number", dict: "object", list: "list"}
    return names.get(type(value), "null")


def _sample(value: Any) -> str:
    shown = value[: _LONGEST + 1] if isinstance(value, str) else json.dumps(value)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


def _names(path: str) -> tuple[str, str]:
    """What a path's end is called: `id`, and with the member that it stands in `run_id`."""
    steps = [step.strip("\"'] ").lower() for step in re.split(r"[.\[]", path)]
    return steps[-1], "_".join(steps[-2:])
