"""The json_repair library, with its value located in the response if that is possible exactly."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, metadata
from types import FrameType
from typing import Any

from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._steps import choose_if_ok, whole

LONGEST = 500_000  # characters; beyond, a number of as many digits takes more than two seconds
CALLS = 60  # events (calls and returns) a character; the extraction cases take 1 to 41
MORE_CALLS = 20_000
MOST_CALLS = 6_000_000  # two seconds; 447 KB of records with a comma too many each take half of them

_UNLOCATED = "unlocated: the library gives no positions, so its own output stands for the whole response"


@described("json-repair", LIBRARIES, version=f"{metadata.version('json-repair')}-2", roots="list")
def plugin(tracer: Tracer) -> None:
    """The json_repair library, with its value located in the response if that is possible exactly.

    1. Decodes the whole response, as the library does first. 2. Else hands it to json_repair.loads. The library says
    nothing of where its value comes from. Where exactly that value stands unchanged behind one of the first 20 brackets
    of the response, that place is shown. Elsewhere its own output is shown as one edit that replaces the whole
    response, and the note says that it is unlocated.

    Responses of more than 500,000 characters are not given to it, and on shorter ones it is stopped after a fixed
    number of calls, since on some it would take minutes; the trace then says that it was exhausted.
    """
    everything = whole(tracer.raw)
    attempt = tracer.attempt("whole", everything, offers=False)
    if choose_if_ok(tracer, attempt):
        return
    if attempt.error and attempt.error.type == "RecursionError":
        tracer.fail("library", everything, f"{attempt.error.said}: the library lets this error escape")
    elif (text := repaired_text(tracer, everything)) == '""':
        tracer.reject("library", everything, "the library finds no JSON in it and answers with an empty string")
    elif text is not None:
        span = stripped(tracer.raw)
        edit = Edit("json_repair", span, span.of(tracer.raw), text)
        choose_if_ok(tracer, tracer.attempt("library", span, [edit], note=_UNLOCATED))


def repaired_text(tracer: Tracer, span: Span) -> str | None:
    """What the library makes of the text at `span`, as JSON; None, with the reason in the trace, otherwise."""
    text = span.of(tracer.raw)
    if len(text) > LONGEST:
        _stop(tracer, span, f"longer than {LONGEST:,} characters: not given to the library")
        return None
    library: Any = import_module("json_repair")
    try:
        with _limited(min(CALLS * len(text) + MORE_CALLS, MOST_CALLS)):
            return json.dumps(library.repair_json(text, return_objects=True, skip_json_loads=True))
    except _Spent:
        _stop(tracer, span, "the library was stopped: it took more calls than a response of this length may take")
    except Exception as error:  # noqa: BLE001 — whatever it raises on such a text is its outcome
        tracer.fail("library", span, f"{type(error).__name__}: {error}")
    return None


class _Spent(BaseException):
    """The library used up its calls; no exception that it could catch itself."""


@contextmanager
def _limited(calls: int) -> Iterator[None]:
    """Stop what runs inside after so many calls and returns: unlike seconds, the same on every machine."""
    before, calls_left = sys.getprofile(), calls

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls_left
        calls_left -= 1
        if calls_left < 0:
            raise _Spent

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def _stop(tracer: Tracer, everything: Span, reason: str) -> None:
    tracer.exhausted = True
    record = tracer.fail if re.search(r"[\[{]", tracer.raw) else tracer.reject
    record("library", everything, reason)
