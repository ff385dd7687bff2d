"""Decoders of other notations than JSON, from libraries that need not be installed, as attempts of a trace."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from typing import Any

from webapp.capture.plain_values import plain
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._cutting import rewritten
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt

LONGEST = 200_000  # characters that a decoder written in Python is given: its time is minutes beyond
_LIBRARIES = {"json5": ("json5", "loads", "json5"), "yaml": ("yaml", "safe_load", "PyYAML")}
"""The module and the function of each decoder, and the distribution that one installs."""


def decode(tracer: Tracer, decoder: str, span: Span, note: str) -> Attempt:
    """The attempt of the decoder `literal` (Python's), `json5` or `yaml` at `span`, drawn as the JSON of its value.

    Rejected where its library is not installed, failed where the decoder raises.
    """
    text = span.of(tracer.raw)
    try:
        function = _function(decoder)
    except ImportError:
        distribution = _LIBRARIES[decoder][2]
        return tracer.reject(decoder, span, f"not run: {distribution} is not installed (extra parsers)")
    if len(text) > LONGEST:
        reason = f"stopped: a text of more than {LONGEST:,} characters is not given to this decoder"
        return tracer.fail(decoder, span, reason)
    try:
        value = plain(function(text))
    except Exception as error:  # noqa: BLE001 — whatever a library raises on such a text is its outcome
        return tracer.fail(decoder, span, f"{type(error).__name__}: {error}")
    return rewritten(tracer, decoder, span, value, note)


def _function(decoder: str) -> Callable[[str], Any]:
    if decoder == "literal":
        return ast.literal_eval
    module, name, _ = _LIBRARIES[decoder]
    function: Callable[[str], Any] = getattr(import_module(module), name)
    return function
