"""What a parser gave and what it raised, as JSON can carry it; standard library only, Python 3.9 to 3.14.

What it returned is awaited, its part taken by name, or said to hold no JSON.
"""

from __future__ import annotations

import dataclasses
import decimal
import enum
import inspect
import json
import marshal
import numbers
import re
import sys
from typing import Any, Callable  # noqa: UP035 — collections.abc.Callable takes no list in Python 3.9.1

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+(?=>)")  # which differs from run to run
_AT_LINE = re.compile(r"at line (\d+) column (\d+)|^<string>:(\d+) .* at column (\d+)$", re.DOTALL)  # Rust's; json5's
DEEPEST = 500  # levels of a value that are shown
NUMBERS = (numbers.Real, decimal.Decimal)


def failure_of(error: BaseException, text: str = "") -> dict[str, Any]:
    """An exception in its own words, with the offset in `text` where it says one."""
    if type(error) is json.JSONDecodeError:
        return {"type": "JSONDecodeError", "message": error.msg, "said": str(error), "position": error.pos}
    message = getattr(error, "msg", None)
    said = shortened(_words(str, error))
    message = shortened(message) if isinstance(message, str) else said
    return {"type": type(error).__name__, "message": message, "said": said, "position": position_of(error, said, text)}


def position_of(error: BaseException, wording: str, text: str) -> int | None:
    """Where the decoder stopped: as JSON's, YAML's, Python's and Rust's decoders say it."""
    position = getattr(error, "pos", None)
    if not isinstance(position, int):
        position = getattr(getattr(error, "problem_mark", None), "index", None)
    if isinstance(position, int):
        return position
    place = _AT_LINE.search(wording)
    line, column = (int(place[1] or place[3]), int(place[2] or place[4])) if place else (0, 0)
    if isinstance(error, SyntaxError) and error.lineno and error.offset:
        line, column = error.lineno, error.offset
        column += len(text) - len(text.lstrip(" \t")) if line == 1 else 0
    if not line or not text:
        return None
    start = sum(map(len, text.splitlines(True)[: line - 1]))
    return min(start + max(0, column - 1), len(text))


def shortened(text: str) -> str:
    return text if len(text) <= 500 else text[:500] + f" … ({len(text) - 500:,} more characters)"


def _words(of: Callable[[Any], str], value: object) -> str:
    """`str` or `repr` of something that may raise instead, without the addresses of objects."""
    try:
        return _ADDRESS.sub("", of(value))
    except Exception as error:  # noqa: BLE001 — it is somebody's own __repr__
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


def snapshot(value: Any) -> Any:
    """`value` as it is now, since the parser may change it: as bytes where that is quick."""
    try:
        return marshal.dumps(value)
    except ValueError:
        return plain(value)


def plain(value: Any, depth: int = 0) -> Any:
    """`value` as JSON can carry it: models and data classes as objects, sets as lists, dates and errors in their words.

    Anything else within it is `{"$repr": …}`.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if depth > DEEPEST:
        return {"$repr": "nested too deep"}
    inner = inside(value)
    if isinstance(inner, dict):
        return {key if isinstance(key, str) else _key(key): plain(item, depth + 1) for key, item in inner.items()}
    if inner is not None:
        return [plain(item, depth + 1) for item in inner]
    if isinstance(value, NUMBERS):
        return number(value)
    words = in_words(value)
    return {"$repr": shortened(_words(repr, value))} if words is None else words


def number(value: Any) -> Any:
    """A number of another type, such as `Decimal`, as the decoder gives it without `parse_float`."""
    try:
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    except (ArithmeticError, ValueError):
        return _words(str, value)


def inside(value: Any) -> Any:
    """What a value that holds others consists of, as a dict or a list; None of any other value."""
    if isinstance(value, (dict, list)):
        return value
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=lambda item: _words(repr, item))  # in an order that stays from run to run
    try:
        if hasattr(value, "model_dump") and not isinstance(value, type):
            return value.model_dump()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    except Exception:  # noqa: BLE001, S110 — somebody's own serializer; the repr is shown instead
        pass
    return None


def in_words(value: Any) -> Any:
    """A value whose type says what its text is, such as a date, a decimal, a path or an error; None of any other."""
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {shortened(_words(str, value))}"
    if isinstance(value, (bytes, bytearray)):
        return as_text(value)
    return shortened(_words(str, value)) if type(value).__str__ is not vars(object)["__str__"] else None


def _key(key: object) -> str:
    """A key as `json.dumps` writes it, where it is one that JSON knows; else its repr."""
    if key is None or isinstance(key, (bool, int, float)):
        return json.dumps(key)
    return _words(repr, key)


def encoded(message: dict[str, Any]) -> str:
    """One line of JSON; what JSON does not know is shown as what it is."""
    try:
        return json.dumps(message)
    except (TypeError, ValueError, RecursionError):
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(limit + 4 * DEEPEST)
        try:
            return json.dumps(plain(message))
        finally:
            sys.setrecursionlimit(limit)


def as_text(text: object) -> str | None:
    if not isinstance(text, (bytes, bytearray, memoryview)):
        return text if isinstance(text, str) else None
    try:
        return bytes(text).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return bytes(text).decode("utf-8", "replace")


_SCALARS = (str, *NUMBERS)
_SETS = (set, frozenset)
_MOST = 100_000  # values that are looked at


class NoSuchPart(LookupError):
    """What was returned has no part by the name that was given."""


def awaited(result: Any) -> Any:
    """The result itself; of an `async def`, what it comes to."""
    if not inspect.isawaitable(result):
        return result

    import asyncio  # as long to import as all else here

    async def wait() -> Any:
        return await result

    return asyncio.run(wait())


def part(value: Any, path: str) -> Any:
    """What a dotted path of attributes, keys and indexes leads to; methods are called. Raises `NoSuchPart`."""
    for name in path.split(".") if path else ():
        if value is None:
            return None
        try:
            value = value[int(name)] if isinstance(value, (list, tuple)) else _named(value, name)
        except (AttributeError, LookupError, ValueError):
            raise NoSuchPart(f"a {type(value).__name__} has no {name!r}, which --value names") from None
    return value


def _named(value: Any, name: str) -> Any:
    attribute = value[name] if isinstance(value, dict) else getattr(value, name)
    return attribute() if callable(attribute) else attribute


def no_json(value: Any) -> str | None:
    """In words that a value, or one within it, is no JSON, and how to name the part that is; None where all is JSON."""
    if (odd := _strange(value)) is None:
        return None
    place, strange = odd
    names = [name for name, inner in _attributes(strange).items() if isinstance(inner, (dict, list))]
    hint = f": name the part that does, as --value {'.'.join((*place, names[0]))}" if names else ""
    where = f"{type(value).__name__} with a " if place else ""
    behind = f" at .{'.'.join(place)}" if place else ""
    return f"returned a {where}{type(strange).__name__}{behind}, which holds no JSON{hint}"


def _strange(value: Any) -> tuple[tuple[str, ...], Any] | None:
    """Where within a value the first one is that is neither JSON nor has words of its own, and that one."""
    parts_left: list[tuple[tuple[str, ...], Any]] = [((), value)]
    for _ in range(_MOST):
        if not parts_left:
            break
        place, inner = parts_left.pop()
        if inner is None or isinstance(inner, _SCALARS) or len(place) > DEEPEST:
            continue
        parts = None if isinstance(inner, _SETS) and not place else inside(inner)
        if isinstance(parts, dict):
            parts_left += [((*place, str(key)), part) for key, part in reversed(list(parts.items()))]
        elif parts is not None:
            parts_left += [((*place, str(at)), part) for at, part in reversed(list(enumerate(parts)))]
        elif not place or in_words(inner) is None:
            return place, inner
    return None


def _attributes(value: Any) -> dict[str, Any]:
    """The public attributes that an object has, those with content first."""
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [*getattr(value, "__dict__", {}), *slots]
    attributes = {name: getattr(value, name, None) for name in names if not name.startswith("_")}
    return dict(sorted(attributes.items(), key=lambda item: not item[1]))


def as_outcome(result: Any, path: str = "") -> dict[str, Any]:
    """The value of an outcome, or under "no_json" why what was returned is none. Raises what awaiting it raises."""
    value = part(awaited(result), path)
    words = no_json(value)
    return {"ok": True, "value": None, "no_json": words} if words else {"ok": True, "value": value}
