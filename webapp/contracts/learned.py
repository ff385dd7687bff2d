"""What the calls of a tool that worked have in common, for a call of which no request declares anything."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from webapp.contracts.held import fitted
from webapp.contracts.states import Contract

LEAST = 20
"""calls that worked, before anything is said of another"""
_KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def like_others(contract: Contract, raw: str, worked: Iterable[str]) -> Contract:
    """A `not_declared` contract with what is other in `raw` than in the arguments that `worked`: it is never broken."""
    value, others = _object(raw), [one for one in map(_object, worked) if one is not None]
    if contract.state != "not_declared" or value is None or len(others) < LEAST:
        return contract
    held = fitted(raw, value, json.dumps(_schema(others)), contract.tool, "learned")
    if held.state == "not_checked":
        return contract
    words = "differs from" if held.is_broken else "has the keys and types of"
    return replace(held, state="not_declared", reason=f"it {words} {len(others):,} calls that worked")


def _schema(values: list[dict[str, Any]]) -> dict[str, Any]:
    """The keys that all have, and the types of each key's values."""
    kinds: dict[str, set[str]] = {}
    for value in values:
        for key, inner in value.items():
            kinds.setdefault(key, set()).add(_KINDS.get(type(inner), "null"))
    required = [key for key in values[0] if all(key in value for value in values)]
    return {"required": required, "properties": {key: {"type": sorted(types)} for key, types in kinds.items()}}


def _object(raw: str) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
