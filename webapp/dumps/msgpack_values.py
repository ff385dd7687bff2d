"""Decodes msgpack as LangGraph writes it; of a Python object what it was made of, importing nothing."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgpack

from webapp.dumps.budget import DEEPEST, Allowance
from webapp.dumps.decoding import depth
from webapp.dumps.records import TooLarge

_COPIED = 200
"""bytes that count as a value, for each level on which msgpack copies what an extension holds"""
_BY_FIELDS = (2, 4, 5)
"""the extensions of LangGraph that hold a class and its fields by name"""


class BadMsgpack(ValueError):
    """The bytes are no msgpack, or nested too deeply."""


def decoded(data: bytes, level: int = 0, allowance: Allowance | None = None) -> Any:
    """The value that the bytes hold. An object is `{"type": "constructor", "id": [module …, class], "kwargs"}`.

    Raises `BadMsgpack`, also for more values than an item may hold.
    """
    if level > DEEPEST:
        raise BadMsgpack("nested too deeply")
    allowance = allowance or Allowance()
    allowance.take(4 + level * len(data) // _COPIED, "an extension")
    options = {"object_pairs_hook": partial(_object, allowance), "list_hook": partial(_list, allowance)}
    hooks = {"ext_hook": partial(_extension, level, allowance), **options}
    try:
        value = _text(msgpack.unpackb(data, strict_map_key=False, unicode_errors="surrogatepass", **hooks))
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise BadMsgpack(str(error) or type(error).__name__) from error
    if not level and (allowance.left < 0 or depth(value) > DEEPEST):
        raise BadMsgpack("nested too deeply, or too much for one item")
    return value


def _text(value: Any) -> Any:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _list(allowance: Allowance, values: list[Any]) -> list[Any]:
    allowance.take(4 + len(values), "a list")
    return [_text(value) for value in values]


def _object(allowance: Allowance, pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    allowance.take(4 + len(pairs), "an object")
    return {str(_text(key)): _text(value) for key, value in pairs}


def _extension(level: int, allowance: Allowance, code: int, data: bytes) -> Any:
    try:
        inner = decoded(data, level + 1, allowance)
    except (BadMsgpack, TooLarge):
        return None
    if not isinstance(inner, list) or len(inner) < 3:
        return inner
    if code in _BY_FIELDS and isinstance(inner[2], dict):
        return {"type": "constructor", "id": [*str(inner[0]).split("."), inner[1]], "kwargs": inner[2]}
    return inner[2]
