"""Capture inside a running program or test: the decoder calls of a block of code, as the trace of one response."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from webapp.capture import hooks
from webapp.capture.call_recorder import RECORDER
from webapp.capture.plain_values import failure_of, plain
from webapp.capture.process import Call, ParserFailure, ParserOutcome
from webapp.capture.result_value import awaited, no_json
from webapp.parsing.engine import Tracer
from webapp.parsing.outcomes import record_calls, record_outcome
from webapp.parsing.trace import Trace

_NOTHING: Any = object()
_one_at_a_time = threading.Lock()


class capture:  # noqa: N801 — it is used like a function
    """Records what a block of code hands to decoders while it parses `raw`; all threads of the process count.

        with capture(raw) as seen:
            seen.value = my_parser(raw)
        print(seen.trace.verdict, seen.trace.attempts)

    `trace` is there once the block is left. Its result is the attempt that gave `value`; where no value is set, the
    last one that decoded. What the block raises is in the trace and goes on. Raises `RuntimeError` where another
    capture of this process has not ended.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.value: Any = _NOTHING
        self._trace: Trace | None = None
        hooks.install()

    @property
    def trace(self) -> Trace:
        if self._trace is None:
            raise RuntimeError("the trace is there once the block of this capture is left")
        return self._trace

    def __enter__(self) -> capture:
        if not _one_at_a_time.acquire(blocking=False):
            raise RuntimeError("another capture of this process has not ended: one response at a time")
        RECORDER.start(self.raw)
        self._started = time.perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        microseconds = (time.perf_counter_ns() - self._started) // 1000
        calls = tuple(Call.from_dict(call | {"value": plain(call["value"])}) for call in RECORDER.stop())
        dropped = RECORDER.dropped
        _one_at_a_time.release()
        failure = ParserFailure(**failure_of(error)) if error else None
        value = None if self.value is _NOTHING else plain(self.value)
        words = None if self.value is _NOTHING else no_json(self.value)
        outcome = ParserOutcome(failure is None, value, failure, calls, dropped, microseconds, no_json=words)
        self._trace = trace_of(self.raw, outcome, returned=error is not None or self.value is not _NOTHING)


def run(parser: Callable[[str], Any], raw: str) -> Trace:
    """The trace of one call of `parser`; what it raises is in the trace."""
    captured = capture(raw)
    with suppress(Exception), captured:
        captured.value = awaited(parser(raw))
    return captured.trace


def trace_of(raw: str, outcome: ParserOutcome, *, returned: bool = True) -> Trace:
    """An outcome as a trace; where nobody said what was `returned`, the last attempt that decoded is the result."""
    tracer = Tracer(raw)
    if returned:
        record_outcome(tracer, outcome)
    elif last := [attempt for attempt in record_calls(tracer, outcome) if attempt.ok][-1:]:
        tracer.choose(last[0])
    return tracer.trace("capture", "", outcome.microseconds)
