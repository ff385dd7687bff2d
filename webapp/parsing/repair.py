"""What a repair is: a name for one kind of defect and, where a pattern shows the defect, how to mend it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webapp.parsing.machine import Machine

Mend = Callable[["Machine", "re.Match[str]"], bool]
"""Mends what the pattern matched at `machine.at` and moves on; False declines, and nothing may have changed then."""


Quicken = Callable[["re.Match[str]"], "tuple[tuple[int, int, str], ...]"]
"""The edits, each `(start, end, new text)`, for what the quick pattern matched."""


@dataclass(frozen=True)
class Repair:
    """One kind of defect. One without a pattern is made by the machine itself, between two tokens or in a string.

    `states` says where the pattern is tried, a string of the machine's states: `k` key, `c` colon, `v` value, `a` after
    a value. The first characters that it can begin with are `starts`, all where that is empty,
    "\\x80" standing for everything outside ASCII. Lower `order` is tried first.

    `quick` is a pattern for the plain form of the defect, one that can be told between two tokens without knowing where
    in the value it stands; `quicken` gives its edits (see `sweep`).
    """

    name: str
    pattern: str = ""
    states: str = ""
    starts: str = ""
    order: int = 50
    mend: Mend | None = None
    quick: str = ""
    quicken: Quicken | None = None
