"""What a parser returned, as a value: awaited, its part taken by name, or said to hold no JSON; Python 3.9 to 3.14.

The child imports this file under a name of its own, beside packages that may be called like ours: hence `from .`.
"""

from __future__ import annotations

import inspect
from typing import Any

from .plain_values import DEEPEST, NUMBERS, in_words, inside

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
