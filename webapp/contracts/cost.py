"""How often a schema may look at a value, at most: what would go on too long is refused before it begins.

References let a short schema ask the same of a value 2 ** 30 times. The bound follows them without a value: along one
path into it, so many schemas look at the value that stands `depth` steps down. `Cost.visits` adds that up over the
values that there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_VISITS = 300_000
"""of a schema to values, for one response: about 30 ms"""
MOST_TOLD = 50_000
"""visits, where every place that does not fit is looked for; what was found on the way is kept, so that through
references, which repeat it, there may be"""
MOST_TOLD_BY_REFERENCE = 3_000
MOST_TOLD_CHARACTERS = 1_000_000_000
"""visits times characters: each place that is told holds a copy of what stands there"""
MOST_PATTERNS = 100
MOST_SEARCHED = 1_000_000
"""patterns times characters: the linear engine, too, takes a microsecond for each at worst"""
MOST_NODES = 10_000
DEEPEST = 200
"""objects and lists of a schema, and their nesting"""
_DEEPEST_VALUE = 500
_SHORT = 1_000
"""characters, in which nothing is nested deeper"""
_LONGEST_WAY = 150
"""schemas that lead to each other"""
_HERE_LISTS = ("allOf", "anyOf", "oneOf")
_HERE = ("not", "if", "then", "else")
_HERE_MAPS = ("dependentSchemas", "dependencies")
_BELOW = (
    *("additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems", "contains"),
    "propertyNames",  # one for each value
)
_COMPARED = 16
"""items that are compared in the time that a schema takes to look at one"""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class TooMuch(ValueError):
    """A schema that is not used; the message says why."""


def measured(schema: Any) -> tuple[int, int, bool, bool]:
    """How many values and patterns a schema holds, whether it has references, and compares items with each other.

    Raises `TooMuch` where it is larger or deeper than is looked at.
    """
    count, patterns, refers, compares, level = 0, 0, False, False, [schema]
    for _ in range(DEEPEST):
        count += len(level)
        objects = [value for value in level if isinstance(value, dict)]
        refers = refers or any(name in value for value in objects for name in _REFERENCES)
        compares = compares or any(value.get("uniqueItems") is True for value in objects)
        patterns += sum("pattern" in value for value in objects)
        patterns += sum(len(_mapped(value.get("patternProperties"))) for value in objects)
        if count > MOST_NODES:
            raise TooMuch(f"the schema holds more than {MOST_NODES:,} values")
        if patterns > MOST_PATTERNS:
            raise TooMuch(f"pattern: the schema holds more than {MOST_PATTERNS} of them")
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return count, patterns, refers, compares
    raise TooMuch(f"the schema is nested more than {DEEPEST} levels deep")


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


class Cost:
    """The bound for one schema. Raises `TooMuch` for one without a bound, or with references that lead outside."""

    def __init__(self, schema: Any) -> None:
        self.root = schema
        self.size, self.patterns, self.has_references, self._compares = measured(schema)
        self._known: dict[tuple[int, int], int] = {}
        self._walking: set[tuple[int, int]] = set()
        self.at(0)

    def at(self, depth: int) -> int:
        """How many schemas look at a value that stands so many steps down."""
        return self._looks(self.root, depth)

    @property
    def most_told(self) -> int:
        """visits for which every place that does not fit may be looked for"""
        return MOST_TOLD_BY_REFERENCE if self.has_references else MOST_TOLD

    def visits(self, value: Any, length: int) -> int:
        """How often schemas look at the value, a text of so many characters, and what is in it, at most."""
        if length <= _SHORT and not (self.has_references or self._compares) and self.size * length <= MOST_TOLD:
            return 0
        visits, depth, level = 0, 0, [value]
        while level and visits <= MOST_VISITS:
            visits += len(level) * self.at(depth)
            if self._compares:
                visits += sum(len(one) ** 2 for one in level if isinstance(one, list)) // _COMPARED
            depth, level = depth + 1, [inner for one in level for inner in _inside(one)]
            if depth > _DEEPEST_VALUE:
                raise TooMuch("nested too deep")
        return visits

    def _looks(self, node: Any, depth: int) -> int:
        if not isinstance(node, dict):
            return 1
        key = (id(node), depth)
        if key in self._known:
            return self._known[key]
        if key in self._walking:
            raise TooMuch("its references go round in a circle")
        if len(self._walking) > _LONGEST_WAY:
            raise TooMuch("its references follow each other too long")
        self._walking.add(key)
        here = sum(self._looks(inner, depth) for inner in self._here(node))
        looks = here + (self._below(node, depth - 1) if depth else 1 + len(node) + _written(node))
        if any(name.startswith("unevaluated") for name in node):
            looks *= 2
        self._walking.discard(key)
        self._known[key] = looks
        return looks

    def _here(self, node: dict[str, Any]) -> Iterator[Any]:
        """The schemas that look at the same value."""
        if isinstance(node.get("$id"), str) and node is not self.root:
            raise TooMuch("it holds documents with addresses of their own")
        for name in _HERE_LISTS:
            yield from _listed(node.get(name))
        for name in _HERE:
            if isinstance(node.get(name), dict):
                yield node[name]
        for name in _HERE_MAPS:
            yield from _mapped(node.get(name))
        for name in _REFERENCES:
            if isinstance(node.get(name), str):
                yield from self._referred(name, node[name])

    def _below(self, node: dict[str, Any], depth: int) -> int:
        """How many look at a value that stands one step below, at most."""
        looks = sum(self._looks(node[name], depth) for name in _BELOW if isinstance(node.get(name), dict))
        looks += sum(self._looks(inner, depth) for inner in _mapped(node.get("patternProperties")))
        looks += max((self._looks(inner, depth) for inner in _mapped(node.get("properties"))), default=0)
        for name in ("items", "prefixItems"):
            looks += max((self._looks(inner, depth) for inner in _listed(node.get(name))), default=0)
        return looks

    def _referred(self, name: str, reference: str) -> Iterator[Any]:
        if not reference.startswith("#"):
            raise TooMuch(f"it refers to {reference[:100]!r}, which is not in it, and nothing is fetched")
        pointer = reference[1:]
        if pointer and not pointer.startswith("/"):
            yield from _anchored(self.root, pointer, name)
            return
        node = self.root
        for step in pointer.split("/")[1:]:
            node = _step(node, step.replace("~1", "/").replace("~0", "~"))
        yield node


def _step(node: Any, step: str) -> Any:
    """What a pointer's step leads to; what is escaped or missing the validator itself has to resolve, or refuse."""
    if isinstance(node, dict):
        return node.get(step)
    return node[int(step)] if isinstance(node, list) and step.isdigit() and int(step) < len(node) else None


def _anchored(value: Any, anchor: str, name: str) -> Iterator[Any]:
    """Every schema with this anchor: which of them a dynamic reference means depends on the way to it."""
    level = [value]
    while level:
        for one in level:
            if isinstance(one, dict) and anchor in (one.get("$anchor"), one.get("$dynamicAnchor")):
                yield one
        level = [inner for one in level for inner in _inside(one)]


def _written(node: dict[str, Any]) -> int:
    """What is compared with a value: names that must be there one by one, constants with all that is in them."""
    named = [
        node.get("required"),
        *_mapped(node.get("dependentRequired"), list),
        *_mapped(node.get("dependencies"), list),
    ]
    count, level = 0, [node.get("enum"), node.get("const")]
    while level := [inner for one in level for inner in _inside(one)]:
        count += len(level)
    return sum(len(_listed(names)) for names in named) + count // 8


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapped(value: Any, kind: type = dict) -> list[Any]:
    return [inner for inner in value.values() if isinstance(inner, kind)] if isinstance(value, dict) else []
