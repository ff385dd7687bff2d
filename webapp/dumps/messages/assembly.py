"""How an answer grows out of the events of its stream, by the rows of `streams.toml`.

A row is `when ? source sign target`: `source` leads to what an event has, `target` to where that goes in the answer,
where `list[place]` is the item that what stands at `place` in the event names: `[place:kind]` is of that type where
nothing says another one, `[place=kind]` is another item than one of that name of another kind.

`+` adds a text, `~` a text or parts, of which one goes on with the last of its kind, `&` pieces of calls. `=` puts a
value, the last of which counts; `<` an object's members beside those of the answer; `*` those members of an item that
do not say something yet; `^` begins an item of which no more may come.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from webapp.dumps.decoding import json_or_none
from webapp.dumps.json_path import at, holds
from webapp.dumps.values import as_list, as_object, first_text

_SURE_PIECES, _SURE_LENGTH, _SURE_LETTERS = 3, 8, 5
"""pieces that grow, code points of the last but one, and different ones: what chance makes so, as rules of dashes, has
fewer"""
_LONGEST_NAME = 1000
"""characters of a tool's name from which on it grows no more: each piece is put behind a copy of those before it"""
_ROW = re.compile(r"(?:(?P<when>.+) \? )?(?P<source>\S+) (?P<sign>[+~&=<*^]) (?P<target>\S+)")
_STEP = re.compile(r"(?P<key>\w+)(?:\[(?P<place>[^\]:=]*)(?:(?P<apart>[:=])(?P<kind>[\w-]+))?\])?(?:\.|\Z)")
_SAYING = ("text", "thinking", "arguments", "input")
"""keys of items whose texts may go on"""
_DELTAS = ("delta", "inputTextDelta")
"""… and of events that go on with one"""
_GROWING, _KINDS = ("text", "thinking"), ("type", "thought")
"""keys of parts in a row whose texts go on, and those that say of what kind they are"""


class _Step(NamedTuple):
    """A key of the target; of a list also what names the item in an event, and the item's kind."""

    key: str
    place: str | None
    kind: str | None
    is_apart: bool


class Row(NamedTuple):
    when: str | None
    source: str
    sign: str
    target: tuple[_Step, ...]


def rows(written: str) -> tuple[Row, ...]:
    """The rows of a table's text, one a line. Raises `ValueError` for one that cannot be read."""
    matches = [(line, _ROW.fullmatch(line)) for line in written.strip().splitlines()]
    if bad := [line for line, match in matches if match is None]:
        raise ValueError(f"the row {bad[0]!r} cannot be read")
    parts = [match.group("when", "source", "sign", "target") for _, match in matches if match]
    return tuple(Row(when, source, sign, _target(target)) for when, source, sign, target in parts)


def _target(written: str) -> tuple[_Step, ...]:
    matches = _STEP.finditer(written)
    return tuple(_Step(match["key"], match["place"], match["kind"], match["apart"] == "=") for match in matches)


@dataclass(slots=True)
class Pieces:
    """A text that grows: adding each piece to the text before it takes time with its square."""

    key: str
    """under which it stands"""
    added: list[tuple[int, str]]
    """each piece that is not empty, with the number of the event that has it"""
    says_again: str = ""
    """`last`: the last may say again what the others said; `each`: each may"""

    def __str__(self) -> str:
        return joined([piece for _, piece in self.added], self.says_again)


def joined(pieces: list[str], says_again: str = "") -> str:
    """The text that pieces add up to: the last of them where each repeats all before it, or that alone repeats all."""
    whole, last = "".join(pieces), pieces[-1] if pieces else ""
    grows = len(pieces) > 1 and all(after.startswith(before) for before, after in pairwise(pieces))
    if (says_again == "each" and grows) or (says_again and len(pieces) > 2 and whole == last * 2):
        return last
    is_long = grows and len(pieces[-2]) >= _SURE_LENGTH and len(set(last)) >= _SURE_LETTERS
    if is_long and len(set(map(len, pieces))) >= _SURE_PIECES:
        return last
    is_repeated = (grows or whole == last * 2) and json_or_none(last) is not None and json_or_none(whole) is None
    return last if is_repeated else whole


class _Own(dict[str, Any]):
    """An object that no event holds, and may be changed."""


class _Items(dict[Any, Any]):
    """The items of a list by their names, in the order in which they began."""


class _Parts(list[Any]):
    """Parts that follow each other, and may be changed."""


def named(event: dict[str, Any], path: str) -> int | str:
    """Which of several choices, blocks or items an event is about: the first where it does not say."""
    place = at(event, path)[0]
    return place if isinstance(place, int | str) else 0 if place is None else repr(place)


@dataclass(slots=True)
class Growing:
    """An answer while its events come."""

    says_again: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    """what events say beside what grows"""
    grown: _Own = field(default_factory=_Own)
    pieces: list[Pieces] = field(default_factory=list)
    begun: Counter[Any] = field(default_factory=Counter)
    """how many items of one name began"""
    newest: dict[tuple[int, str], _Own] = field(default_factory=dict)
    """the call that goes on, by its list and index"""
    number: int = 0
    """of the event that is read"""

    def take(self, event: dict[str, Any], listed: Iterable[Row]) -> None:
        """What the rows say of an event, or of one of its choices."""
        for row in listed:
            if row.when is not None and not holds(event, row.when):
                continue
            value = event if row.source == "." else at(event, row.source)[0]
            if value is None:
                continue
            if row.sign in "<=" and not any(step.place is not None for step in row.target):
                self._tell(row, value)
            else:
                self._grow(row, value, event)

    def _tell(self, row: Row, value: Any) -> None:
        if row.sign == "=":
            self.about[row.target[0].key] = value
        elif isinstance(value, dict):
            told = self._inner(self.about, row.target[0], {}) if row.target else self.about
            told.update((key, inner) for key, inner in value.items() if inner is not None)

    def _grow(self, row: Row, value: Any, event: dict[str, Any]) -> None:
        holder: dict[str, Any] = self.grown
        last = row.target[-1]
        for step in row.target[: None if row.sign in "*^" else -1]:
            holder = self._inner(holder, step, event)
        held = holder.get(last.key)
        if row.sign == "+" and isinstance(value, str):
            self.add(holder, last.key, value)
        elif row.sign == "+" and not (isinstance(held, Pieces) and held.added):
            holder[last.key] = value  # what is no text is as it is, for who reads the answer to say so
        elif row.sign == "~":
            self._go_on(holder, last.key, value)
        elif row.sign == "&":
            for piece in value if isinstance(value, list) else [value]:
                self._grow_call(holder, last.key, as_object(piece), event)
        elif row.sign == "=":
            holder[last.key] = value
        elif row.sign == "*":
            for key, inner in as_object(value).items():
                if isinstance(inner, str) and key in _SAYING and key not in holder:
                    self.add(holder, key, inner)
                elif key not in _DELTAS and not holder.get(key):
                    holder[key] = inner

    def _inner(self, holder: dict[str, Any], step: _Step, event: dict[str, Any]) -> dict[str, Any]:
        """The object that a step leads to, in an item of a list where it names one."""
        key: Any = step.key
        if step.place is not None:
            items = holder.get(step.key)
            if not isinstance(items, _Items):
                items = holder[step.key] = _Items(((place, 0, None), item) for place, item in enumerate(as_list(items)))
            place = named(event, step.place)
            holder, key = items, (place, self.begun[place], step.kind if step.is_apart else None)
        if not isinstance(held := holder.get(key), _Own):
            held = holder[key] = _Own(_begun(step.kind) if held is None else as_object(held))
        return held

    def add(self, holder: dict[str, Any], key: str, piece: str) -> None:
        """Add a text to the one under `key`; what is none is an empty one."""
        if not isinstance(before := holder.get(key), Pieces):
            added = [(self.number, before)] if isinstance(before, str) and before else []
            before = holder[key] = Pieces(key, added, self.says_again)
            self.pieces.append(before)
        if piece:
            before.added.append((self.number, piece))

    def _go_on(self, holder: dict[str, Any], key: str, value: Any) -> None:
        """Add a text, or parts; where parts come, the texts among them are parts, too."""
        held = holder.get(key)
        if isinstance(value, str) and not isinstance(held, _Parts):
            self.add(holder, key, value)
            return
        if not isinstance(held, _Parts):
            before = [_Own(type="text", text=held)] if isinstance(held, Pieces) and str(held) else as_list(held)
            held = holder[key] = _Parts(before)
        for part in value if isinstance(value, list) else [value]:
            self._add_part(held, {"type": "text", "text": part} if isinstance(part, str) else part)

    def _add_part(self, parts: _Parts, part: Any) -> None:
        """Add a part: what it says to the last one, where both are of a kind."""
        key = next((key for key in _GROWING if isinstance(as_object(part).get(key), str | list)), None)
        if key is None:
            parts.append(part)
            return
        last, held = parts[-1] if parts else None, _Parts if isinstance(part[key], list) else Pieces
        own = last if isinstance(last, _Own) and isinstance(last.get(key), held) else _Own()
        if not own or any(own.get(name) != part.get(name) for name in _KINDS):
            parts.append(own := _Own(part | {key: None}))
        if isinstance(part[key], str):
            self.add(own, key, part[key])
        else:
            own[key] = own[key] or _Parts()
            own[key].extend(part[key])

    def _grow_call(self, holder: dict[str, Any], key: str, delta: dict[str, Any], event: dict[str, Any]) -> None:
        """Add to a call: its first id stays, and its first name, which goes on as long as no arguments came."""
        inner = delta["function"] if isinstance(delta.get("function"), dict) else delta
        name = or_empty(inner.get("name"))
        written = first_text(inner, "arguments", "arguments_part") or ""
        calls = holder.setdefault(key, _Items())
        index = id(calls), str(delta.get("index", event.get("index")))
        if index not in self.newest or _begins_call(self.newest[index], delta.get("id"), name, written):
            pieces = Pieces("arguments", [])
            self.pieces.append(pieces)
            self.newest[index] = calls[len(calls)] = _Own(function=_Own(name=None, arguments=pieces))
        call = self.newest[index]
        function, before = call["function"], call["function"]["name"] or ""
        if name and not _added(function) and len(before) < _LONGEST_NAME:
            function["name"] = name if name.startswith(before) else before + name
        call["id"] = call.get("id") or delta.get("id")
        if written:
            self.add(function, "arguments", written)
        elif (given := inner.get("arguments")) and isinstance(given, dict | list):
            function["arguments"] = given  # as a gateway decodes them


def _begun(kind: str | None) -> dict[str, Any]:
    """An item of a kind, which may be who says it."""
    return {} if kind is None else {"role" if kind == "assistant" else "type": kind}


def _begins_call(last: dict[str, Any], ident: Any, name: str, written: str) -> bool:
    """Whether a name comes with another id; without ids, with other or further arguments than a whole call's."""
    if not name or (ident and last.get("id")):
        return bool(name) and ident != last["id"]
    pieces = _added(last["function"])
    if name != last["function"]["name"]:
        return bool(pieces) or not last.get("id")
    is_whole = len(pieces) == 1 and written.startswith("{") and not written.startswith(pieces[0][1])
    return is_whole and json_or_none(pieces[0][1]) is not None


def _added(function: dict[str, Any]) -> list[tuple[int, str]]:
    """The pieces of a call's arguments; one without a text where they came as an object."""
    held = function["arguments"]
    return held.added if isinstance(held, Pieces) else [(0, "")]


def settled(value: Any) -> Any:
    """What has grown, with texts as texts; calls are marked of which no arguments came: streams say nothing of none."""
    if isinstance(value, Pieces):
        return str(value)
    if isinstance(value, _Items | _Parts):
        return [settled(item) for item in (value.values() if isinstance(value, _Items) else value)]
    if not isinstance(value, _Own):
        return value
    said = {key: settled(inner) for key, inner in value.items()}
    called = value.get("function", value)
    written = [called.get(key) for key in ("arguments", "input")] if isinstance(called, _Own) else []
    is_blank = any(isinstance(pieces, Pieces) and not str(pieces) for pieces in written)
    return {**said, "without_arguments": True} if is_blank else said


def or_empty(value: Any) -> str:
    """`value` where it is a text, else an empty one."""
    return value if isinstance(value, str) else ""
