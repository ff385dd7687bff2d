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
MOST_TOLD, MOST_TOLD_BY_REFERENCE = 50_000, 3_000
"""visits, where every place that does not fit is looked for; what was found on the way is kept, so that through
references, which repeat it, there may be fewer"""
MOST_TOLD_CHARACTERS = 1_000_000_000
"""visits times characters: each place that is told holds a copy of what stands there"""
MOST_PATTERNS = 100
MOST_SEARCHED = 1_000_000
"""patterns times characters: the linear engine, too, takes a microsecond for each at worst"""
MOST_NODES, DEEPEST = 10_000, 200
"""objects and lists of a schema, and their nesting"""
_DEEPEST_VALUE, _LONGEST_WAY = 500, 150
"""levels of a value, and schemas that lead to each other"""
_SHORT = 1_000
"""characters, in which nothing is nested deeper"""
_COMPARED = 16
"""items that are compared in the time that a schema takes to look at one"""
_BELOW = (
    *("additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems", "contains"),
    "propertyNames",  # one for each value
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")


class NotChecked(Exception):
    """A value cannot be held against a schema; the message says why."""


class Cost:
    """The bound for one schema. Raises `NotChecked` for one without a bound, or with references that lead outside."""

    def __init__(self, schema: Any) -> None:
        self.root = schema
        self.size = self.patterns = 0
        self._has_references = self._compares = False
        self._anchors: dict[str, list[Any]] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._walking: set[tuple[int, int]] = set()
        self._measure()
        self._looks(schema, 0)
        self.most_told = MOST_TOLD_BY_REFERENCE if self._has_references else MOST_TOLD

    def visits(self, value: Any, length: int) -> int:
        """How often schemas look at the value, a text of so many characters, and what is in it, at most."""
        if length <= _SHORT and not (self._has_references or self._compares) and self.size * length <= MOST_TOLD:
            return 0
        visits, depth, level = 0, 0, [value]
        while level and visits <= MOST_VISITS:
            visits += len(level) * self._looks(self.root, depth)
            if self._compares:
                visits += sum(len(one) ** 2 for one in level if isinstance(one, list)) // _COMPARED
            depth, level = depth + 1, _inside(level)
            if depth > _DEEPEST_VALUE:
                raise NotChecked("nested too deep")
        return visits

    def _measure(self) -> None:
        """Count the schema's values and patterns, as far as is looked at."""
        level = [self.root]
        for _ in range(DEEPEST):
            self.size += len(level)
            for node in (value for value in level if isinstance(value, dict)):
                self.patterns += ("pattern" in node) + len(_mapped(node.get("patternProperties")))
                self._has_references |= any(name in node for name in _REFERENCES)
                self._compares |= node.get("uniqueItems") is True
                for name in filter(node.__contains__, _ANCHORS):
                    self._anchors.setdefault(str(node[name]), []).append(node)
            if self.size > MOST_NODES:
                raise NotChecked(f"the schema holds more than {MOST_NODES:,} values")
            if self.patterns > MOST_PATTERNS:
                raise NotChecked(f"pattern: the schema holds more than {MOST_PATTERNS} of them")
            level = _inside(level)
            if not level:
                return
        raise NotChecked(f"the schema is nested more than {DEEPEST} levels deep")

    def _looks(self, node: Any, depth: int) -> int:
        """How many schemas look at a value that stands so many steps below what `node` looks at."""
        if not isinstance(node, dict):
            return 1
        key = (id(node), depth)
        if key in self._known:
            return self._known[key]
        if key in self._walking:
            raise NotChecked("its references go round in a circle")
        if len(self._walking) > _LONGEST_WAY:
            raise NotChecked("its references follow each other too long")
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
            raise NotChecked("it holds documents with addresses of their own")
        for name in ("allOf", "anyOf", "oneOf"):
            yield from _listed(node.get(name))
        for name in ("not", "if", "then", "else"):
            yield from _mapped({name: node.get(name)})
        for name in ("dependentSchemas", "dependencies"):
            yield from _mapped(node.get(name))
        for name in _REFERENCES:
            if isinstance(node.get(name), str):
                yield from self._referred(node[name])

    def _below(self, node: dict[str, Any], depth: int) -> int:
        """How many look at a value that stands one step below, at most."""
        looks = sum(self._looks(node[name], depth) for name in _BELOW if isinstance(node.get(name), dict))
        looks += sum(self._looks(inner, depth) for inner in _mapped(node.get("patternProperties")))
        for one_of_them in (
            _mapped(node.get("properties")),
            _listed(node.get("items")),
            _listed(node.get("prefixItems")),
        ):
            looks += max((self._looks(inner, depth) for inner in one_of_them), default=0)
        return looks

    def _referred(self, reference: str) -> list[Any]:
        """What a reference leads to: of an anchor all that have it, since the way decides which a dynamic one means.

        What is escaped or missing the validator itself has to resolve, or refuse.
        """
        if not reference.startswith("#"):
            raise NotChecked(f"it refers to {reference[:100]!r}, which is not in it, and nothing is fetched")
        anchor, *steps = reference[1:].split("/")
        if anchor:
            return self._anchors.get(reference[1:], [])
        node = self.root
        for step in steps:
            name = step.replace("~1", "/").replace("~0", "~")
            listed = dict(enumerate(_listed(node)))
            node = node.get(name) if isinstance(node, dict) else listed.get(int(name) if name.isdecimal() else -1)
        return [node]


def _inside(level: list[Any]) -> list[Any]:
    """What the objects and lists among these values hold."""
    lists = [value.values() if isinstance(value, dict) else _listed(value) for value in level]
    return [inner for values in lists for inner in values]


def _written(node: dict[str, Any]) -> int:
    """What is compared with a value: names that must be there one by one, constants with all that is in them."""
    maps = [names for name in ("dependentRequired", "dependencies") for names in _mapped(node.get(name), list)]
    count, level = 0, [node.get("enum"), node.get("const")]
    while level := _inside(level):
        count += len(level)
    return len(_inside([node.get("required"), *maps])) + count // 8


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapped(value: Any, kind: type = dict) -> list[Any]:
    return [inner for inner in value.values() if isinstance(inner, kind)] if isinstance(value, dict) else []
