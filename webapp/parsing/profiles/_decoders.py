"""Decoders of other notations than JSON, as attempts of a trace."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from webapp.capture.plain_values import failure_of, plain
from webapp.capture.result_value import no_json
from webapp.parsing.edit import Edit, apply
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._cutting import rewritten
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt

LONGEST = 200_000  # characters that a decoder written in Python is given: its time is minutes beyond
_LIBRARIES = {"json5": ("json5", "loads"), "yaml": ("yaml", "safe_load")}


def decode(tracer: Tracer, decoder: str, span: Span, note: str, edits: Sequence[Edit] = ()) -> Attempt:
    """The attempt of the decoder `literal` (Python's), `json5` or `yaml` at the edited `span`, drawn as JSON.

    Rejected where it gives what JSON has not, such as a set; failed where the decoder raises.
    """
    text = apply(tracer.raw, span, edits)
    if len(text) > LONGEST:
        reason = f"stopped: a text of more than {LONGEST:,} characters is not given to this decoder"
        return tracer.fail(decoder, span, reason)
    try:
        value = _decoded(decoder, text)
    except Exception as error:  # noqa: BLE001 — whatever a library raises on such a text is its outcome
        return tracer.fail(decoder, span, f"{type(error).__name__}: {failure_of(error)['said']}")
    if words := no_json(value):
        return tracer.reject(decoder, span, words)
    return rewritten(tracer, decoder, span, plain(value), note)


def _decoded(decoder: str, text: str) -> Any:
    if decoder == "literal":
        with warnings.catch_warnings():  # of unknown escapes, which are an error under -W error
            warnings.simplefilter("ignore")
            return ast.literal_eval(text)
    module, name = _LIBRARIES[decoder]
    return getattr(import_module(module), name)(text)
