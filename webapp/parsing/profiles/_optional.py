"""Decoders of libraries that need not be installed: each gives a value, an error, or which library is missing."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from webapp.capture.plain_values import plain

LONGEST = 200_000  # characters that a decoder written in Python is given: its time is minutes beyond


@dataclass(frozen=True)
class Decoding:
    """What a decoder made of a text; `missing` says what would have to be installed for it to run."""

    value: Any = None
    error: str = ""
    missing: str = ""


def yaml_value(text: str) -> Decoding:
    return _decoded("yaml", "PyYAML", lambda module: module.safe_load(text), text)


def json5_value(text: str) -> Decoding:
    return _decoded("json5", "json5", lambda module: module.loads(text), text)


def python_value(text: str) -> Decoding:
    """As `ast.literal_eval` reads it."""
    return _run(lambda: ast.literal_eval(text), text)


def _decoded(module: str, distribution: str, decode: Callable[[Any], Any], text: str) -> Decoding:
    try:
        library = import_module(module)
    except ImportError:
        return Decoding(missing=f"{distribution} is not installed (extra parsers)")
    return _run(lambda: decode(library), text)


def _run(decode: Callable[[], Any], text: str) -> Decoding:
    if len(text) > LONGEST:
        return Decoding(error=f"stopped: a text of more than {LONGEST:,} characters is not given to this decoder")
    try:
        return Decoding(plain(decode()))
    except Exception as error:  # noqa: BLE001 — whatever a library raises on such a text is its outcome
        return Decoding(error=f"{type(error).__name__}: {error}")
