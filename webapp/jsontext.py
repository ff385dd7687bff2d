"""JSON text in and out, exactly: NaN, integers of any size and lone surrogates survive a round trip.

The standard library and not orjson, which writes NaN as null and reads long integers as floats without a
word: a debugger may not change what it shows.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any

_plain = json.JSONEncoder(separators=(",", ":"), check_circular=False)
_sorted = json.JSONEncoder(separators=(",", ":"), check_circular=False, sort_keys=True)


def dumps(value: Any) -> str:
    """Compact ASCII JSON; NaN and Infinity as Python writes them."""
    return _plain.encode(value)


def loads(text: str | bytes) -> Any:
    """What `dumps` wrote. Raises `json.JSONDecodeError` as `json.loads` does."""
    return json.loads(text)


def on_any_python(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """The error as Python 3.11 and 3.12 give it: later ones name a comma before a closer, and point at the comma."""
    if not error.msg.startswith("Illegal trailing comma"):
        return error
    message = "Expecting value" if error.msg.endswith("array") else "Expecting property name enclosed in double quotes"
    return json.JSONDecodeError(message, error.doc, _closer.search(error.doc, error.pos).start())  # type: ignore[union-attr]


def pretty(value: Any) -> str:
    """Indented JSON for people; escapes only what could not be shown. Very deep values come out compact."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=2)
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, indent=2)
    except RecursionError:
        return "⟨nested too deeply to show⟩"
    return text


def canonical(values: Sequence[Any]) -> str | None:
    """A text that is the same for values that are the same JSON: 1 is 1.0 and keys have no order, true is not 1.

    None where they are nested too deeply, or hold a number that is too long, to be written so.
    """
    try:
        text = _sorted.encode(list(values))
        if not _fraction.search(text):
            return text
        return _sorted.encode(json.loads(dumps(list(values)), parse_float=_number))
    except (RecursionError, ValueError):
        return None


def same_as(values: Sequence[Any]) -> str:
    """As `canonical`; of values that cannot be written so, a text that is like no other."""
    text = canonical(values)
    return f"too deep to compare {uuid.uuid4()}" if text is None else text


_fraction = re.compile(r"[.eE](?<=[0-9].)")
"""A digit and behind it what makes a number no integer; looked for by the rarer of the two."""
_closer = re.compile(r"[]}]")


def _number(text: str) -> int | float:
    number = float(text)
    return int(number) if number.is_integer() else number


MARK = "$fencepost:float"
"""`{"$fencepost:float": "NaN"}` stands for a number that JSON has not; see docs/exports.md."""
_strict = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False, allow_nan=False)
_FLOATS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def portable(value: Any) -> str:
    """Compact ASCII JSON that every reader takes: NaN and the infinities, which JSON has not, as marked texts."""
    try:
        text = _strict.encode(value)
    except ValueError:
        return _strict.encode(marked(value))
    return _strict.encode(marked(value)) if MARK in text else text


def marked(value: Any) -> Any:
    """`value` with `{MARK: "NaN"}` for what is no number in JSON. An object that looks so already gets a $ more."""
    return rebuilt(value, _marked_leaf, lambda key: f"${key}" if _is_mark(key) else key)


def unmarked(value: Any) -> Any:
    """What `marked` was given."""
    return rebuilt(value, _unmarked_leaf, lambda key: key[1:] if _is_mark(key) and key != MARK else key)


def _marked_leaf(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (_FLOATS["Infinity"], _FLOATS["-Infinity"])):
        return {MARK: _plain.encode(value)}
    return value


def _unmarked_leaf(value: Any) -> Any:
    if isinstance(value, dict) and len(value) == 1 and isinstance(text := value.get(MARK), str):
        return _FLOATS.get(text, value)
    return value


def rebuilt(value: Any, leaf: Callable[[Any], Any], name: Callable[[Any], Any] = lambda key: key) -> Any:
    """A copy of `value` with other leaves and keys, made without recursion: values may be nested deeply."""
    copy: list[Any] = [None]
    todo: list[tuple[Any, Any, Any]] = [(copy, 0, value)]
    while todo:
        holder, place, item = todo.pop()
        holder[place] = new = leaf(item)
        if new is not item:
            continue
        if isinstance(item, dict):
            holder[place] = new = dict.fromkeys(map(name, item))
            todo.extend((new, name(key), child) for key, child in item.items())
        elif isinstance(item, list | tuple):
            holder[place] = new = [None] * len(item)
            todo.extend((new, index, child) for index, child in enumerate(item))
    return copy[0]


_HOLDERS = (dict, list)


def depth(value: Any) -> int:
    """How many lists and objects `value` is nested, found without recursion."""
    deepest, level = 0, [value]
    while holders := [holder for holder in level if isinstance(holder, _HOLDERS)]:
        deepest += 1
        level = [inner for one in holders for inner in (one.values() if isinstance(one, dict) else one)]
    return deepest


def _is_mark(key: Any) -> bool:
    return isinstance(key, str) and key.endswith(MARK) and not key[: -len(MARK)].strip("$")
