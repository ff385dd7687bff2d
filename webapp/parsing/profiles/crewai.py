"""CrewAI's tool input: `json.loads`, `ast.literal_eval`, JSON5, then json_repair, until one gives an object."""

from __future__ import annotations

import json

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles import _decoders
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._cutting import rewritten, whole
from webapp.parsing.profiles.json_repair import repaired_text
from webapp.parsing.trace import Attempt

_ESCAPES = ("TypeError", "RecursionError", "MemoryError")  # what its excepts let through, for example of `{{}}`
_GOES_ON = "returned a dict with "  # something that JSON has not, such as the ellipsis of `{"a": ...}`
_NOT_AN_OBJECT = "decoded, but no object"
_OTHER = "decoded by another decoder than JSON's, drawn as the JSON of its value"


def run(tracer: Tracer) -> None:
    everything = whole(tracer.raw)
    if not tracer.raw.strip():
        tracer.reject("whole", everything, "Tool input must be a valid dictionary: it is empty")
        return
    first = tracer.attempt("whole", everything)
    if _object(tracer, first) or (first.error and first.error.type == "RecursionError"):
        return
    for decoder in ("literal", "json5"):
        attempt = _decoders.decode(tracer, decoder, everything, _OTHER)
        if _object(tracer, attempt) or (attempt.reason or "").startswith((*_ESCAPES, _GOES_ON)):
            return
    text = repaired_text(tracer, everything)
    if text is not None:
        note = "json.loads of what json_repair wrote"
        _object(tracer, rewritten(tracer, "json_repair", everything, json.loads(text), note))


def _object(tracer: Tracer, attempt: Attempt) -> bool:
    if attempt.ok and isinstance(attempt.value, dict):
        tracer.choose(attempt)
        return True
    if attempt.ok:
        tracer.amend(attempt, outcome="rejected", reason=_NOT_AN_OBJECT)
    return False


plugin = Described(
    name="crewai",
    group=LIBRARIES,
    version=restated("1.15.30-2", "json-repair", "json5"),
    about=(
        "1. json.loads. 2. ast.literal_eval, for Python's quotes, True, None. 3. json5.loads, for comments, bare "
        "keys and trailing commas. 4. json_repair over the whole text, and json.loads of what it writes. The first of "
        "them that gives an object is the result; lists and plain values are skipped.\n"
        "Source: crewai 1.15.30, crewai/tools/tool_usage.py, ToolUsage._validate_tool_input."
    ),
    parser=run,
)
