"""What the fields of somebody's own records are, by the shape of their values where no name says it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from webapp.dumps.json_texts import MOST_PATHS, places_of
from webapp.dumps.messages.turns import role_of
from webapp.dumps.times import moment

_LEAST = 4
"""records: fewer show no shape"""
_MODEL, _ASKER = {"assistant"}, {"user", "system", "tool"}
_DATED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_RUN = re.compile(r"run|sess|conv|thread|chat|trace|dialog|job|ticket|case|task|episode|_id$|^id$", re.I)
_LONGEST_ID = 80


def columns(values: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """What stands at each path that leads to a text or a number, record by record; nulls are left out."""
    found: dict[str, list[Any]] = {}
    for value in values:
        for place in places_of(value, "$", 0):
            if place.kind in ("text", "number") and (len(found) < MOST_PATHS or place.path in found):
                found.setdefault(place.path, []).append(place.text if place.text is not None else place.sample)
    return found


def by_shape(found: dict[str, list[Any]], records: int, taken: set[str]) -> dict[str, str]:
    """`time`, `role`, `session`: dates in all records, both sides of a conversation, an id that comes again."""
    whole = {path: values for path, values in found.items() if len(values) == records and path not in taken}
    if records < _LEAST:
        return {}
    mapping: dict[str, str] = {}
    tests = (("time", _is_time), ("role", _is_role), ("session", _is_session))
    for field, test in tests:
        fitting = [path for path, values in whole.items() if path not in mapping.values() and test(path, values)]
        if fitting:
            mapping[field] = max(fitting, key=lambda path: field == "session" and bool(_RUN.search(path)))
    return mapping


def _is_time(path: str, values: list[Any]) -> bool:
    return all(_DATED.match(value) and moment(value) for value in values)


def _is_role(path: str, values: list[Any]) -> bool:
    """Both who asks and who answers are named, and hardly anybody else."""
    roles = [role_of({"role": value}) for value in values]
    known = [role for role in roles if role in _MODEL | _ASKER]
    return bool(_MODEL & set(known)) and bool(_ASKER & set(known)) and len(known) * 10 >= len(roles) * 9


def _is_session(path: str, values: list[Any]) -> bool:
    """Ids that come again: in one stretch each, or under a name that such ids have."""
    different, is_named = len(set(values)), bool(_RUN.search(path.rpartition(".")[2]))
    if different > len(values) / 2 or any(len(value) > _LONGEST_ID or " " in value for value in values):
        return False
    return is_named or 1 < different == 1 + sum(one != other for one, other in pairwise(values))
