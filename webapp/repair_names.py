"""What a defect is called, by the repair that mends it: one name on pages and in groups, findings and reports."""

from __future__ import annotations

_NAMES = {
    "control_character": "raw control character",
    "extra_closer": "extra closing bracket",
    "literal": "Python literal",
    "mismatched_closer": "closing bracket of the wrong kind",
    "mismatched_opener": "opening bracket of the wrong kind",
    "missing_closer": "missing closing bracket",
    "missing_opener": "missing opening bracket",
}


def defect(repair: str) -> str:
    """`extra closing bracket` of `extra_closer`, also where a group's key writes it `extra closer`."""
    return _NAMES.get(repair.replace(" ", "_"), repair.replace("_", " "))
