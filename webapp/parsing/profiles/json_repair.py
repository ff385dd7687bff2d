"""The json_repair library, with its value located in the response if that is possible exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module, metadata
from time import thread_time
from typing import Any

from webapp.parsing.edit import Edit, Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._steps import choose_if_ok, whole

LONGEST = 1_000_000  # characters
READS = 12  # a character; the extraction cases take 1 to 4
MORE_READS = 20_000
SECONDS = 5.0  # of processor time: one string of a megabyte that holds quotes takes the library 14

_UNLOCATED = "unlocated: the library gives no positions, so its own output stands for the whole response"


@described("json-repair", LIBRARIES, version=f"{metadata.version('json-repair')}-3", roots="list")
def plugin(tracer: Tracer) -> None:
    """The json_repair library, with its value located in the response if that is possible exactly.

    1. Decodes the whole response, as the library does first. 2. Else hands it to json_repair.loads. The library says
    nothing of where its value comes from. Where exactly that value stands unchanged behind one of the first 20 brackets
    of the response, that place is shown. Elsewhere its own output is shown as one edit that replaces the whole
    response, and the note says that it is unlocated.

    Responses of more than 1,000,000 characters are not given to it. On shorter ones it is stopped after so many reads
    of a character, and after five seconds, since on some it would take minutes; the trace says that it was exhausted.
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
        counted = _Counted(text, _reads(READS * len(text) + MORE_READS))
        return json.dumps(library.repair_json(counted, return_objects=True, skip_json_loads=True))
    except _Spent:
        _stop(tracer, span, "the library was stopped: it took more reads or time than a response of this length may")
    except Exception as error:  # noqa: BLE001 — whatever it raises on such a text is its outcome
        tracer.fail("library", span, f"{type(error).__name__}: {error}")
    return None


class _Spent(BaseException):
    """The library used up its reads; no exception that it could catch itself."""


def _reads(most: int) -> Iterator[None]:
    """So many reads, the same on every machine, unless they take too long. Raises `_Spent` behind the last one."""
    until = thread_time() + SECONDS
    for read in range(most):
        if read % 4096 == 0 and thread_time() > until:
            break
        yield
    raise _Spent


class _Counted(str):
    """A text that counts what is read of it, also where the library puts a bracket into it. Values are plain texts."""

    reads: Iterator[None]

    def __new__(cls, text: str, reads: Iterator[None]) -> _Counted:
        counted = super().__new__(cls, text)
        counted.reads = reads
        return counted

    def __getitem__(self, at: Any) -> str:
        next(self.reads)
        part = str.__getitem__(self, at)
        return _Counted(part, self.reads) if isinstance(at, slice) and at.start is None else part

    def __add__(self, other: str) -> str:
        return _Counted(str.__add__(self, other), self.reads)


def _stop(tracer: Tracer, everything: Span, reason: str) -> None:
    tracer.exhausted = True
    record = tracer.fail if re.search(r"[\[{]", tracer.raw) else tracer.reject
    record("library", everything, reason)
