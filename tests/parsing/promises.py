"""What every trace promises, as a check that tests and fuzzers share."""

from __future__ import annotations

import json

from webapp.parsing import Trace, parse
from webapp.parsing.decode import decode
from webapp.parsing.edit import apply
from webapp.parsing.machine.repair import repairs

PIECES = [
    *"{}[]\"',:\\\n ()+;#`“”：\x00\ud800\ufeff",
    *('"a"', '"b": ', "1", "-", ".", "...", "true", "None", "NaN", "//", "/*", "*/", "```", "```json\n", "<think>"),
    *("</think>", "<tool_call>", "{{", "}}", '\\"', "\\u12", '"""', 'f"', "x = ", "for x in y", "0x1", "[TOOL_CALLS]"),
]
"""Pieces of JSON and of what stands round it, from which hostile texts are made."""


def keeps_its_promises(raw: str) -> Trace:
    """Check one trace: round trip, order, names, and that values are what was decoded."""
    trace = parse(raw)
    for attempt in trace.attempts:
        at = attempt.span.start
        assert 0 <= at <= attempt.span.end <= len(raw)
        for edit in attempt.edits:
            assert at <= edit.span.start <= edit.span.end <= attempt.span.end
            assert raw[edit.span.start : edit.span.end] == edit.old != edit.new
            assert edit.repair in repairs()
            at = edit.span.end
        text = apply(raw, attempt.span, attempt.edits)
        decoded = decode(text, finite=True)
        if attempt.ok:
            assert decoded.failure is None
            assert json.dumps(decoded.value) == json.dumps(attempt.value)
        elif attempt.outcome == "rejected" and not attempt.value:
            assert attempt.reason
        elif attempt.error:
            assert decoded.failure
    assert all(trace.attempts[at].ok for at in trace.chosen)
    assert json.dumps(list(trace.values)) == json.dumps([trace.attempts[at].value for at in trace.chosen])
    assert not (trace.verdict == "clean" and any(trace.attempts[at].edits for at in trace.chosen))
    return trace
