"""Python literals in logs: what a `repr` of a dict, a list or a text says, read as data and never run."""

from __future__ import annotations

import ast
import warnings
from typing import Any

_OPENERS = ("{", "[", "'", '"')


def from_repr(value: Any, longest: int) -> Any:
    """What a text of at most `longest` characters says; None where it is no literal. An object stays as it is."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str) or value[:1] not in _OPENERS or len(value) > longest:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
