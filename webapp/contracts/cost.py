"""How often a schema may look at a value, at most: what would go on too long is refused before it begins.

References let a short schema ask the same of a value 2 ** 30 times. The bound follows them without a value: along one
path into it, so many schemas look at the value that stands `depth` steps down. `Cost.allows_all` adds that up over the
values that there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

MOST_VISITS = 300_000
"""of a schema to values, for one response: about 30 ms"""
MOST_TOLD, MOST_COPIED, _TOLD = 15_000, 10_000_000, 1_000
"""visits, where every place that does not fit is looked for, and the characters of all copies: each look may end as a
misfit, which holds what it looked at and weighs so many characters itself"""
MOST_PATTERNS = 100
MOST_SEARCHED = 1_000_000
"""patterns times characters: the linear engine, too, takes a microsecond for each at worst"""
MOST_NODES, DEEPEST = 10_000, 200
"""objects and lists of a schema, and their nesting"""
_DEEPEST_VALUE, _LONGEST_WAY, _COMPARED = 500, 150, 16
"""levels of a value; schemas that lead to each other; items that are compared while a schema looks at one"""
_BELOW = (
    *("additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems", "contains"),
    "propertyNames",  # one for each value
)
_REFERENCES, _ADDRESSES = ("$ref", "$dynamicRef", "$recursiveRef"), ("$id", "id")


class NotChecked(Exception):
    """A value cannot be held against a schema; the message says why."""


class Cost:
    """The bound for one schema. Raises `NotChecked` for one without a bound, or with references that lead outside."""

    def __init__(self, schema: Any) -> None:
        self.root = schema
        self.patterns = 0
        self._has_addresses = self._compares = self._copies = False
        self._known: dict[tuple[int, int], int] = {}
        self._walking: set[tuple[int, int]] = set()
        self._measure()
        self._looks(schema, 0)

    def allows_all(self, value: Any, length: int) -> bool:
        """Whether every place that does not fit may be looked for in a text of so many characters.

        Raises `NotChecked` where not even that there is one may be found out.
        """
        if self.patterns * length > MOST_SEARCHED:
            raise NotChecked("pattern: too many characters for so many of them")
        visits, copies, depth, level = 0, 0, 0, [value]
        while level:
            looks = self._looks(self.root, depth)
            visits += len(level) * looks
            copies += len(level) * looks if self._copies else looks
            if self._compares:
                visits += sum(len(items) ** 2 for items in level if isinstance(items, list)) // _COMPARED
            depth, level = depth + 1, _inside(level)
            if visits > MOST_VISITS:
                raise NotChecked("the schema would be asked too many times")
            if depth > _DEEPEST_VALUE:
                raise NotChecked("nested too deep")
        return visits <= MOST_TOLD and copies * (length + _TOLD) <= MOST_COPIED

    def _measure(self) -> None:
        """Count the schema's values and patterns, as far as is looked at."""
        level, size = [self.root], 0
        for _ in range(DEEPEST):
            size += len(level)
            for node in (value for value in level if isinstance(value, dict)):
                self.patterns += ("pattern" in node) + len(_inside([node.get("patternProperties")]))
                if node is not self.root and any(isinstance(inner, dict | list) for inner in node.values()):
                    self._has_addresses |= any(isinstance(node.get(name), str) for name in _ADDRESSES)
                self._compares |= node.get("uniqueItems") is True
                self._copies |= "propertyNames" in node  # each name that does not fit holds all of its object
            if size > MOST_NODES:
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
        for name in ("allOf", "anyOf", "oneOf"):
            yield from _listed(node.get(name))
        for name in ("not", "if", "then", "else"):
            yield from _mapped({name: node.get(name)})
        for name in ("dependentSchemas", "dependencies"):
            yield from _mapped(node.get(name))
        for name in _REFERENCES:
            if isinstance(node.get(name), str):
                yield self._referred(node[name])

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

    def _referred(self, reference: str) -> Any:
        """What a path leads to; names and addresses, each of which a draft has in its own way, are not followed."""
        if self._has_addresses:
            raise NotChecked("it holds documents with addresses of their own")
        node, steps = self.root, unquote(reference).split("/")
        for step in steps[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            listed = dict(enumerate(_listed(node)))
            node = node.get(name) if isinstance(node, dict) else listed.get(int(name) if name.isdecimal() else -1)
        if steps[0] != "#" or node is None:
            raise NotChecked(f"it refers to {reference[:100]!r}, which is no path in it, and nothing is fetched")
        return node


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
