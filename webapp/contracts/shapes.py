"""The words for a mismatch: the known shapes by their own, the others by keyword."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Any

_MOST_NAMES, _LONGEST_NAME = 500, 100
_CLOSE, _SLIP, _WORD = 0.5, 0.8, 4
"""of 1, how alike two names are, at least; how alike without a word in common; and letters of a word"""
_SHOWN, _LISTED = 60, 5
_KINDS = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}
_WRAPPERS = {"arguments", "args", "input", "parameters", "params", "kwargs", "raw", "rawarguments", "rawinput", "json"}
"""letters of keys under which programs put arguments that they could not read, and models put all that they have"""


def path_text(path: Iterable[str | int]) -> str:
    """A JSON path, `$.steps[0].name`."""
    return "$" + "".join(_step_text(step) for step in path)


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() else f"[{json.dumps(step, ensure_ascii=False)}]"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that is meant by `name`, perhaps: the same but for case and signs, one with something before or behind
    it, else the most alike."""
    rest = [word for word in names if word != name and len(word) <= _LONGEST_NAME][:_MOST_NAMES]
    if (same := _spelled_like(name, rest)) or len(name) > _LONGEST_NAME:
        return same
    around = [word for word in rest if _stands_in(word, name) or _stands_in(name, word)]
    close = (word for word in get_close_matches(name, rest, 5, _CLOSE) if _share_a_word(name, word))
    return max(around, key=len) if around else next(close, None)


def _stands_in(inner: str, outer: str) -> bool:
    """Whether a name stands in another, apart from the rest: in `mcp__files__read`, `functions.read:0`."""
    name = re.escape(inner)
    apart = rf"^{name}(?![a-z0-9]_?)|(?<![a-z0-9])_?{name}$|(?<!\w){name}(?!\w)"
    return bool(inner) and re.search(apart, outer, re.I) is not None


def _share_a_word(left_name: str, right_name: str) -> bool:
    """Whether two names that are somewhat alike have a word in common, or are a slip of each other."""
    matcher = SequenceMatcher(None, left_name, right_name)
    return matcher.ratio() >= _SLIP or matcher.find_longest_match().size >= _WORD


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _spelled_like(name: str, names: Iterable[Any]) -> str | None:
    """The first of `names` that has the same letters."""
    return next((word for word in names if isinstance(word, str) and _letters(word) == _letters(name)), None)


def takes_keys(value: Any, tools: Mapping[str, Sequence[str | None]]) -> str | None:
    """The only tool that declares all keys of a call's arguments and has all that it requires among them."""
    listed = list(tools.items())[:_MOST_NAMES] if isinstance(value, dict) and value else []
    found = [name for name, schemas in listed if any(_has_keys(_decoded(schema or ""), value) for schema in schemas)]
    return found[0] if len(found) == 1 else None


def _has_keys(schema: Any, value: dict[str, Any]) -> bool:
    declared, required = (schema.get(key) for key in ("properties", "required")) if isinstance(schema, dict) else "--"
    keys = required if isinstance(required, list) else []
    return isinstance(declared, dict) and value.keys() <= declared.keys() and all(map(list(value).__contains__, keys))


def json_words(raw: str, error: json.JSONDecodeError) -> str:
    """Why a text that may hold JSON is none."""
    if not raw.strip():
        return "it is empty"
    if raw.lstrip().startswith("```"):
        return "it stands in a Markdown fence"
    if error.msg == "Extra data":
        return "more stands behind the first value"
    is_prose = error.msg == "Expecting value" and not raw[: error.pos].strip() and raw[error.pos :].strip()
    return "it begins with other text" if is_prose else error.msg


def mismatch_words(error: Any, value: Any, parent_schema: Any) -> str:
    """What does not fit at one place. `value` stands there, `parent_schema` holds the keyword that says so."""
    keyword, path = error.kind.name, path_text(error.instance_path)
    name = f"`{path[2:]}`" if path[1:2] == "." else path if path[1:] else "the value"
    schema = parent_schema if isinstance(parent_schema, dict) else {}
    listed = schema.get("properties")
    properties: dict[str, Any] = listed if isinstance(listed, dict) else {}
    if keyword == "required":
        missing = f"`{error.kind.property}` is missing" + ("" if name == "the value" else f" in {name}")
        return missing + _instead_of_it(error.kind.property, value, schema, properties)
    if keyword == "additionalProperties":
        return _undeclared(error.kind.unexpected, [key for key in properties if key not in value])
    if keyword == "type":
        return f"{name} must be {_kinds(error.kind.types)}, and is {_instead(value, error.kind.types)}"
    if keyword in ("enum", "const"):
        choices = error.kind.options if keyword == "enum" else [error.kind.expected_value]
        same = _spelled_like(value, choices) if isinstance(value, str) else None
        spelled = "" if same is None else f": {_shown(same)} in another spelling"
        one_of = ("one of " if len(choices) > 1 else "") + _listed([_shown(choice) for choice in choices])
        return f"{name} must be {one_of}, and is {_shown(value)}{spelled}"
    if keyword in ("anyOf", "oneOf", "oneOfNotValid"):
        return f"{name} fits none of its {len(error.kind.context)} alternatives: {_alternative(error, value, name)}"
    return f"{name}: {_clipped(error.message)}"


def _instead_of_it(key: str, value: Any, schema: dict[str, Any], properties: dict[str, Any]) -> str:
    """What an object has that lacks a key."""
    required = [name for name in schema.get("required") or () if isinstance(name, str)]
    strange = [name for name in value if name not in properties]
    if value == {}:
        return f": it is {{}}, without any of {_names(required)}"
    if (respelled := _spelled_like(key, strange)) is not None:
        return f"; {_names([respelled])} is another spelling of it"
    if len(value) == 1 and strange and _holds_all(strange[0], value[strange[0]], required):
        return f": everything stands under one key that is not declared, {_names(strange)}"
    return f"; {_names(strange)} is not declared" if len(strange) == 1 else ""


def _holds_all(key: str, value: Any, required: list[str]) -> bool:
    """Whether a value is all arguments of a call, as an object or as text."""
    inner = _decoded(value) if isinstance(value, str) else value
    if isinstance(inner, dict) and inner.keys() & set(required):
        return True
    return _letters(key) in _WRAPPERS or (isinstance(value, str) and value.lstrip()[:1] == "{")


def _undeclared(keys: list[str], absent: list[str]) -> str:
    meant = nearest(keys[0], absent) if len(keys) == 1 else None
    are = "is" if len(keys) == 1 else "are"
    return f"{_names(keys)} {are} not declared" + (f"; did you mean `{meant}`?" if meant else "")


def _instead(value: Any, types: Sequence[str]) -> str:
    """What stands there instead, by the shape that it is known for."""
    if not isinstance(value, str):
        return _shown(value)
    inner, word = _decoded(value), value.strip()
    for kind, type_, noun in ((dict, "object", "an object"), (list, "array", "a list")):
        if type_ in types and isinstance(inner, kind):
            return f"a JSON string that holds {noun} (encoded twice)"
        if type_ in types and inner is None and word[:1] == {"object": "{", "array": "["}[type_]:
            return f"a text that begins as {noun} in JSON, and is none: {_shown(value)}"
    if isinstance(inner, bool) and "boolean" in types:
        return f"the text {_shown(value)}, not the word"
    if isinstance(inner, int | float) and {"number", "integer"} & set(types):
        return f"a number as the text {_shown(value)}"
    return f"the text {_shown(value)}" if word.lower() in ("null", "none") and "null" in types else _shown(value)


def _decoded(value: str) -> Any:
    word = value.strip()
    try:
        return json.loads(word.lower() if word in ("True", "False") else word)
    except (ValueError, RecursionError):
        return None


def _alternative(error: Any, value: Any, name: str) -> str:
    """The words of the only alternative that is not null, as an optional value has it."""
    firsts = [branch[0] for branch in error.kind.context if branch]
    branches = [branch for branch in firsts if branch.kind.name != "type" or list(branch.kind.types) != ["null"]]
    if len(branches) != 1:
        return f"it is {_shown(value)}"
    inner = branches[0]
    if inner.kind.name == "type" and inner.instance_path == error.instance_path:  # the same value, which may be null
        return f"{name} must be {_kinds(inner.kind.types)}, and is {_instead(value, [*inner.kind.types, 'null'])}"
    return mismatch_words(inner, inner.instance, None)


def _kinds(types: Sequence[str]) -> str:
    return " or ".join(_KINDS.get(kind, kind) for kind in types)


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:_LISTED]) + (f" and {len(words) - _LISTED} more" if len(words) > _LISTED else "")


def _names(names: Sequence[str]) -> str:
    return _listed([f"`{str(name)[:_SHOWN]}`" for name in names])


def _shown(value: Any) -> str:
    """A value as JSON, clipped; long and large ones by their kind."""
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return _clipped(json.dumps(value, ensure_ascii=False))


def _clipped(words: str) -> str:
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…"
