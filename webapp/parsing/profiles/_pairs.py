"""Names and values in tags, as servers cut them out of a call: by patterns that are looked for one behind the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Pairs:
    """`opener` ends where a value begins, and `closer` is the first one behind it.

    Without `between` the first group of `opener` that found something is the name; with it, what stands until there.
    `key` makes the key of it, `value` the value of what `opener` found and of the text. Without `nameless` a pair that
    has no key is left out.
    """

    opener: re.Pattern[str]
    closer: re.Pattern[str]
    value: Callable[[re.Match[str], str], Any] = lambda _opener, text: text
    between: re.Pattern[str] | None = None
    key: Callable[[str], str] = str
    nameless: bool = True

    def read(self, text: str) -> dict[str, Any]:
        """All pairs; of a key that repeats the last one."""
        return dict(self.each(text))

    def each(self, text: str) -> Iterator[tuple[str, Any]]:
        """All pairs in their order; one that is not closed is left out with all behind it. Linear."""
        at, last = 0, text.rfind(">") + 1
        while opener := self.opener.search(text, at, last):
            head = self.between.search(text, opener.end()) if self.between else opener
            closer = self.closer.search(text, head.end()) if head else None
            if not head or not closer:
                return
            name = text[opener.end() : head.start()] if self.between else next(filter(None, opener.groups()), "")
            if (key := self.key(name)) or self.nameless:
                yield key, self.value(opener, text[head.end() : closer.start()])
            at = closer.end()
