"""instructor's `extract_json_from_codeblock`: the last object or list in the response that decodes is taken."""

from __future__ import annotations

import json
import re

from webapp.parsing.engine import Tracer
from webapp.parsing.nesting import nesting
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.span import Span

LONGEST = 1024 * 1024
WORK = 16  # a failed start is charged with the rest of the text, up to this many times the text
DEEPEST = 128  # levels
_decoder = json.JSONDecoder()
_OPENER = re.compile(r"[\[{]")


def run(tracer: Tracer) -> None:
    raw = tracer.raw
    if len(raw) > LONGEST:
        tracer.fail("balanced", whole(raw), "ValueError: JSON extraction input exceeds the 1 MiB character limit")
        return
    last, at, work = None, 0, WORK * len(raw)
    while opener := _OPENER.search(raw, at):
        start = opener.start()
        if work < len(raw) - start:
            tracer.fail("balanced", Span(start, len(raw)), "ValueError: malformed-input work limit exceeded")
            return
        try:
            end = _decoder.raw_decode(raw, start)[1]
            if nesting(raw[start:end])[0] > DEEPEST:
                raise ValueError(f"JSON extraction nesting exceeds the {DEEPEST} level limit")
        except json.JSONDecodeError:
            tracer.reject("balanced", Span(start, start + 1), "no value begins here")
            work -= len(raw) - start
            at = start + 1
            continue
        except (ValueError, RecursionError) as error:
            tracer.fail("balanced", Span(start, len(raw)), f"ValueError: {error}")
            return
        if last is not None:
            tracer.amend(last, outcome="rejected", reason="a later value is taken")
        last = tracer.attempt("balanced", Span(start, end))
        work -= end - start
        at = end
    choose_if_ok(tracer, last or tracer.attempt("whole", whole(raw), offers=bool(_OPENER.search(raw))))


plugin = Described(
    name="instructor",
    group=LIBRARIES,
    version=restated("1.17.0-2"),
    roots="last",
    about=(
        "1. Tries to decode at each { or [ that is not inside a value which was read already. 2. The last value that "
        "was read is the result: what comes earlier may be quoted from the prompt. 3. Without any, decodes the whole "
        "response. Texts of more than 1 MiB are refused, and so are texts with very many openers that start nothing, "
        "with more than 128 levels, or with an integer of more digits than Python reads.\n"
        "Source: instructor 1.17.0, instructor/v2/core/json.py, extract_json_from_codeblock; the model's schema, which "
        "is checked afterwards, is not known here."
    ),
    parser=run,
)
