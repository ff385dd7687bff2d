"""What the beginning of a dump shows, by which formats tell whether it is theirs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Literal

from webapp.dumps.records import Problem

Shape = Literal["empty", "object", "array", "lines", "text", "zip", "tar", "protobuf", "parquet", "sqlite"]


@dataclass(slots=True)
class DumpHead:
    """What the first `HEAD` bytes show.

    `shape`: one JSON object, one array, one JSON value a line, something else ("text"), or one of the binary
    shapes, of which nothing else is known but, of a zip, the `names` of its first members. `members` are the
    object's members that are no lists, those behind its long list included; `items` the first items of its lists
    by key (an array's under ""); `keys` all keys met. `samples` are an array's items or the lines' values.
    """

    filename: str
    text: str
    shape: Shape
    members: dict[str, Any] = field(default_factory=dict)
    items: dict[str, list[Any]] = field(default_factory=dict)
    lines: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    whole: bool = False
    """whether the text is certainly all there is"""
    led: bool = False
    """whether a text leads the lines, which may be all a text: a chat whose answers are JSON"""
    unread: Problem | None = None
    """what is wrong with the first of the lines, items or members, where that is longer than the head"""

    @property
    def keys(self) -> set[str]:
        return self.members.keys() | self.items.keys()

    @property
    def samples(self) -> list[Any]:
        return self.lines if self.shape == "lines" else self.items.get("", [])

    @property
    def document(self) -> dict[str, Any]:
        """What the head shows of an object: its members and the first items of its lists; empty for other shapes."""
        return {**self.members, **self.items} if self.shape == "object" else {}

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The samples that are objects; of a document that is an object, that alone."""
        return [self.document] if self.shape == "object" else [item for item in self.samples if isinstance(item, dict)]

    def first_of(self, key: str) -> dict[str, Any]:
        """The first object in the list under `key`; empty where there is none."""
        return next((item for item in self.items.get(key, []) if isinstance(item, dict)), {})

    def all_have(self, *keys: str) -> bool:
        """Whether there are objects (see `objects`) and each has all of `keys`."""
        return bool(self.objects) and all(key in sample for sample in self.objects for key in keys)

    def any_has(self, *keys: str) -> bool:
        """Whether an object has one of `keys`; where the first is too long for the head, whether the text names one."""
        if not self.objects and self.shape in ("array", "lines"):
            return self.mentions(*keys)
        return any(key in sample for sample in self.objects for key in keys)

    def mentions(self, *keys: str) -> bool:
        """Whether the text of the head holds one of `keys` as a key, at whatever depth."""
        return any(re.search(re.escape(json.dumps(key)) + r"\s*:", self.text) for key in keys)
