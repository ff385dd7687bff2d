"""What re-statements of libraries' parsers share: cuts at the response, attempts at the rest, other decoders."""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from webapp.capture.plain_values import failure_of, plain
from webapp.capture.result_value import no_json
from webapp.parsing.edit import Edit, apply
from webapp.parsing.engine import Tracer
from webapp.parsing.span import Span
from webapp.parsing.trace import Attempt


def whole(raw: str) -> Span:
    return Span(0, len(raw))


def between(raw: str, opener: str, closer: str) -> Span | None:
    """From the first `opener` to the last `closer` behind it, or None."""
    first, last = raw.find(opener), raw.rfind(closer)
    return Span(first, last + 1) if 0 <= first < last else None


def rewritten(tracer: Tracer, strategy: str, span: Span, value: Any, note: str) -> Attempt:
    """An attempt whose value another decoder than JSON's gave: one edit writes it as JSON, so that it can be shown."""
    text = json.dumps(value, ensure_ascii=False)
    old = span.of(tracer.raw)
    return tracer.attempt(strategy, span, [Edit(strategy, span, old, text)] if text != old else [], note=note)


def choose_if_ok(tracer: Tracer, attempt: Attempt) -> bool:
    """Make an attempt the result where it decoded; whether it did."""
    if attempt.ok:
        tracer.choose(attempt)
    return attempt.ok


LONGEST = 200_000  # characters that a decoder written in Python is given: its time is minutes beyond
_LIBRARIES = {"json5": ("json5", "loads"), "yaml": ("yaml", "safe_load")}


def decode_other(tracer: Tracer, decoder: str, span: Span, note: str, edits: Sequence[Edit] = ()) -> Attempt:
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
