"""Where the answers of a session stand in its entries: an entry of which nothing is read may hold one there, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.calls import Path, has_arguments, is_callish
from webapp.dumps.messages.turns import PlacedTurn
from webapp.dumps.records import MODEL_KINDS

_MOST_PLACES = 64
_EACH = 32
"""how many answers at a path are looked at one by one; of those that follow, one in as many"""
_ANY = "*"
"""stands for each item of a list"""
_TELLING = ("type", "role", "kind", "source", "action", "node_type", "event")
"""keys that say what an object is: what one of another kind lacks is no loss"""
_NO_ANSWER = re.compile(r"(?:id|ids|time|timestamp|model|type|token|tokens|usage|_at|At|version|status|name|path|cwd)$")
"""keys beside an answer that hold none, by their names"""
_DEEPEST = 4
_MOST_ITEMS = 20
_MOST_KEYS = 100
"""of an entry; one with more is no object with names of its own"""
_CALLING = ("tool_call", "tool_result", "error")
_LONGEST_CALL = 1_000_000

Place = tuple[str, ...]


@dataclass(slots=True)
class AnswerPlaces:
    """Places where answers stood so far, each index in them as any."""

    places: set[Place] = field(default_factory=set)
    raw_paths: dict[Path, int] = field(default_factory=dict)
    """paths as they came, with how often, so that most need not be looked at twice"""
    beside: dict[Place, dict[tuple[Place, Place], set[str]]] = field(default_factory=dict)
    """for what an entry is, and for each step to an answer and what its holder is: the keys that its holders have"""

    def learn(self, entry: dict[str, Any], turns: Iterable[PlacedTurn]) -> None:
        """Remember where the answers among the turns of an entry stand in it."""
        for turn, path in turns:
            if not path or turn.kind not in MODEL_KINDS or not turn.raw:
                continue
            count = self.raw_paths.get(path, 0)
            if count or len(self.raw_paths) < _MOST_PLACES:
                self.raw_paths[path] = count + 1
                if count < _EACH or not count % _EACH:
                    self.places.add(_place(path))
                    self._learn_keys(entry, path)

    def _learn_keys(self, entry: dict[str, Any], path: Path) -> None:
        holder: Any = entry
        if (beside := self.beside.get(what := _kinds(entry))) is None:
            if len(self.beside) >= _MOST_PLACES:
                return
            beside = self.beside[what] = {}
        for number, step in enumerate(path):
            if isinstance(holder, dict):
                step_kind = _place(path[: number + 1]), () if holder is entry else _kinds(holder)
                is_named = bool(what or step_kind[1])  # the keys of what is of no kind may be anything
                if step_kind in beside or (is_named and len(beside) < _MOST_PLACES):
                    beside.setdefault(step_kind, set()).update(holder)
            try:
                holder = holder[step]
            except (KeyError, IndexError, TypeError):
                return

    def unread(self, entry: dict[str, Any], turns: list[PlacedTurn]) -> Iterable[str]:
        """What to say of an entry of which no text, or no call, was read where there seems to be one."""
        is_mute, is_event = True, True
        for turn, _ in turns:
            if turn.kind in _CALLING or (turn.kind == "event" and turn.raw and turn.role != "thinking"):
                return ()
            is_mute = is_mute and not turn.raw
            is_event = is_event and turn.kind == "event"
        notes = [*self._texts_at_places(entry if is_event else {}), *self._misplaced(entry)] if is_mute else []
        if is_mute and is_event and entry.get("arguments"):
            notes.append("it has arguments, as calls do; it was left out")
        return notes[:1] or _unread_calls(entry)

    def _texts_at_places(self, entry: dict[str, Any]) -> Iterator[str]:
        for place in sorted(self.places) if entry else ():
            if any(_says(inner, 0) for inner in _values(entry, place)):
                yield f"{'.'.join(place)} holds a text where other entries hold an answer; it was not read"

    def _misplaced(self, entry: dict[str, Any]) -> Iterator[str]:
        """What to say of an entry that has something else where others of its kind have the key of an answer."""
        if (beside := self.beside.get(_kinds(entry))) is None:
            return
        for (place, kinds), known in sorted(beside.items(), key=lambda item: (item[0][0] not in self.places, item[0])):
            for holder in _values(entry, place[:-1]):
                if not isinstance(holder, dict) or (holder is not entry and _kinds(holder) not in (kinds, ())):
                    continue
                key = _instead(holder, place[-1], known, place in self.places)
                if key == place[-1]:
                    yield f"{key[:40]!r} is no text, as it is where other entries have an answer; it was not read"
                elif key is not None:
                    yield f"{key[:40]!r} stands where other entries have {place[-1]!r} with an answer; it was not read"


def _place(path: Path) -> Place:
    return tuple(_ANY if isinstance(step, int) else step for step in path)


def _kinds(holder: dict[str, Any]) -> Place:
    """What an object says that it is."""
    return tuple(f"{key}={value[:80]}" for key in _TELLING if isinstance(value := holder.get(key), str))


def _instead(holder: dict[str, Any], key: str, known: set[str], is_text: bool) -> str | None:
    """The key that stands in the place of `key`: one that no holder of the same kind had; or itself, with no text."""
    if key in holder:
        return key if is_text and not isinstance(holder[key], str) and _says(holder[key], _DEEPEST) else None
    others = (str(name) for name, value in holder.items() if name not in known and _says(value, _DEEPEST))
    return next((name for name in others if not _NO_ANSWER.search(name)), None)


def _says(value: Any, depth: int) -> bool:
    """Whether there is a text in it that is not empty, `depth` steps down."""
    if isinstance(value, str):
        return value != "" and not value.isspace()
    if depth <= 0 or not isinstance(value, dict | list):
        return False
    inner = list(value.values()) if isinstance(value, dict) else value
    return any(_says(item, depth - 1) for item in inner[:_MOST_ITEMS])


def _values(value: Any, path: Place) -> Iterator[Any]:
    """The values to which a place leads."""
    if not path:
        yield value
    elif path[0] == _ANY and isinstance(value, list):
        for inner in value:
            yield from _values(inner, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _values(value[path[0]], path[1:])


def _unread_calls(entry: dict[str, Any]) -> list[str]:
    """What to say of an entry that speaks of calls, with arguments."""
    keys = tuple(entry)
    if len(keys) > _MOST_KEYS or len("".join(keys)) > _MOST_KEYS * _MOST_KEYS:
        return []
    called = [key for key in _callish(keys) if entry[key] and has_arguments(_opened(entry[key]), -_DEEPEST)]
    return [f"calls under {key[:40]!r} were left out" for key in called]


@lru_cache(maxsize=1024)
def _callish(keys: tuple[str, ...]) -> list[str]:
    """The keys that may hold calls: entries with the same keys come again and again."""
    return [key for key in keys if is_callish(key)]


def _opened(value: Any) -> Any:
    """What stands as JSON in a text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") and len(value) <= _LONGEST_CALL:
        return json_or_none(value)
    return value
