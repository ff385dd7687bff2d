"""What a strategy is: a name, the pattern of the place where its candidates begin, and how it takes them up."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from webapp.parsing.finder import Finder

Take = Callable[[Finder, "re.Match[str]"], int]
"""Looks at the candidate that the pattern found; the offset from which to go on, behind the match's start."""


@dataclass(frozen=True)
class Strategy:
    """A way to find candidates. All patterns are tried together, in one pass, where one of the characters in
    `starts` stands, or where `hint` matches, whose first character is a common one; and where the text begins.
    No text without a match of `hint_needs`, which costs less, has one of `hint`. Lower `order` wins at one place.
    """

    name: str
    pattern: str = ""
    starts: str = ""
    order: int = 50
    take: Take | None = None
    hint: str = ""
    hint_needs: str = ""
    help: str = ""
