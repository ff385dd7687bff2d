"""The words for a mismatch: the known shapes by their own, the others by keyword."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Any

_MOST_NAMES, _LONGEST_NAME = 500, 100
_CLOSE = 0.5
"""of 1, how alike two names are, at least"""
_SLIP, _WORD = 0.8, 4
_SHOWN = 60
_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def path_text(path: Iterable[str | int]) -> str:
    """A JSON path, `$.steps[0].name`."""
    return "$" + "".join(_step_text(step) for step in path)


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{json.dumps(step, ensure_ascii=False)}]"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that is meant by `name`, perhaps: the same but for case and signs, else the most alike."""
    known = [one for one in names if isinstance(one, str) and len(one) <= _LONGEST_NAME][:_MOST_NAMES]
    same = next((one for one in known if one != name and _letters(one) == _letters(name)), None)
    if same is not None or len(name) > _LONGEST_NAME:
        return same
    close = get_close_matches(name, [one for one in known if one != name], 5, _CLOSE)
    return next((one for one in close if _share_a_word(name, one)), None)


def _share_a_word(one: str, other: str) -> bool:
    """Whether two names that are somewhat alike have a word in common, or are a slip of each other."""
    matcher = SequenceMatcher(None, one, other)
    return matcher.ratio() >= _SLIP or matcher.find_longest_match().size >= _WORD


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def mismatch_words(error: Any, value: Any, parent_schema: Any) -> str:
    """What does not fit at one place. `value` stands there, `parent_schema` holds the keyword that says so."""
    keyword, name = error.kind.name, _name(error.instance_path)
    schema = parent_schema if isinstance(parent_schema, dict) else {}
    if keyword == "required":
        return _missing(error.kind.property, value, schema, name)
    if keyword == "additionalProperties":
        return _undeclared(error.kind.unexpected, value, schema)
    if keyword == "type":
        return f"{name} must be {_kinds(error.kind.types)}, and is {_instead(value, error.kind.types)}"
    if keyword in ("enum", "const"):
        choices = error.kind.options if keyword == "enum" else [error.kind.expected_value]
        return f"{name} must be {_choices(choices)}, and is {_value(value)}{_other_case(value, choices)}"
    if keyword in ("anyOf", "oneOf", "oneOfNotValid"):
        return f"{name} fits none of its {len(error.kind.context)} alternatives{_alternative(error, value)}"
    return f"{name}: {_clipped(error.message)}"


def _name(path: Sequence[str | int]) -> str:
    return (
        f"`{path_text(path)[2:]}`"
        if path and isinstance(path[0], str)
        else "the value"
        if not path
        else path_text(path)
    )


def _missing(key: str, value: Any, schema: dict[str, Any], name: str) -> str:
    required = [one for one in schema.get("required") or () if isinstance(one, str)]
    where = "" if name == "the value" else f" in {name}"
    if value == {}:
        return f"`{key}` is missing{where}: it is {{}}, without any of {_listed(required)}"
    declared = schema.get("properties")
    known = declared if isinstance(declared, dict) else {}
    strange = [one for one in value if one not in known]
    if len(value) == 1 and strange and len(required) > 0 and isinstance(value[strange[0]], str | dict):
        return (
            f"`{key}` is missing{where}: everything stands under one key that is not declared, `{strange[0][:_SHOWN]}`"
        )
    other = next((one for one in strange if _letters(one) == _letters(key)), None)
    return f"`{key}` is missing{where}" + (f"; `{other}` is another spelling of it" if other is not None else "")


def _undeclared(keys: list[str], value: Any, schema: dict[str, Any]) -> str:
    declared = schema.get("properties")
    known = [key for key in declared if key not in value] if isinstance(declared, dict) else []
    meant = nearest(keys[0], known) if len(keys) == 1 else None
    return f"{_listed(keys)} {'is' if len(keys) == 1 else 'are'} not declared" + (
        f"; did you mean `{meant}`?" if meant else ""
    )


def _instead(value: Any, types: Sequence[str]) -> str:
    """What stands there instead, by the shape that it is known for."""
    if isinstance(value, str):
        inner = _decoded(value)
        if isinstance(inner, dict) and "object" in types:
            return "a JSON string that holds an object (encoded twice)"
        if isinstance(inner, list) and "array" in types:
            return "a JSON string that holds a list (encoded twice)"
        if isinstance(inner, bool) and "boolean" in types:
            return f"the text {_value(value)}, not the word"
        if isinstance(inner, int | float) and ("number" in types or "integer" in types):
            return f"a number as the text {_value(value)}"
        if inner is None and value.strip().lower() in ("null", "none") and "null" in types:
            return f"the text {_value(value)}"
    return _value(value)


def _decoded(value: str) -> Any:
    word = value.strip()
    try:
        return json.loads(word.lower() if word in ("True", "False") else word)
    except (ValueError, RecursionError):
        return None


def _kinds(types: Sequence[str]) -> str:
    return " or ".join(_KINDS.get(kind, kind) for kind in types)


def _choices(choices: Sequence[Any]) -> str:
    shown = ", ".join(_value(one) for one in choices[:5])
    words = shown if len(choices) == 1 else f"one of {shown}"
    return f"{words} and {len(choices) - 5} more" if len(choices) > 5 else words


def _other_case(value: Any, choices: Sequence[Any]) -> str:
    texts = [one for one in choices if isinstance(one, str)]
    same = next((one for one in texts if isinstance(value, str) and _letters(one) == _letters(value)), None)
    return f": {_value(same)} in another spelling" if same is not None else ""


def _alternative(error: Any, value: Any) -> str:
    """The words of the only alternative that is not null, as an optional value has it."""
    branches = [branch for branch in error.kind.context if branch and not _asks_null(branch[0])]
    if len(branches) != 1:
        return f": it is {_value(value)}"
    inner = branches[0][0]
    return f": {mismatch_words(inner, inner.instance, None)}"


def _asks_null(error: Any) -> bool:
    return error.kind.name == "type" and list(error.kind.types) == ["null"]


def _value(value: Any) -> str:
    """A value as JSON, clipped; long and large ones by their kind."""
    if isinstance(value, dict):
        return "an empty object" if not value else "an object"
    if isinstance(value, list):
        return "an empty list" if not value else "a list"
    return _clipped(json.dumps(value, ensure_ascii=False))


def _clipped(words: str) -> str:
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{str(name)[:_SHOWN]}`" for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
