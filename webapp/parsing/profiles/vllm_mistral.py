"""vLLM's `mistral` tool-call reader: the list of calls after [TOOL_CALLS]."""

from __future__ import annotations

import re

from webapp.parsing.edit import Edit, apply
from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import SERVERS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._calls import no_call
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.span import Span, stripped

TOKEN = "[TOOL_CALLS]"  # noqa: S105 — a word of the model's, no secret
_LIST = re.compile(r"\[{.*}\]", re.DOTALL)


def run(tracer: Tracer) -> None:
    raw = tracer.raw
    if TOKEN not in raw:
        tracer.reject("tagged", whole(raw), "no [TOOL_CALLS]: plain text")
        return
    span, edits = _without_token(raw)
    attempt = tracer.attempt("tagged", span, edits)
    if not attempt.ok and (calls := _LIST.search(apply(raw, span, edits))):
        attempt = tracer.attempt("outermost", *_part(calls, span, edits))
    items = attempt.value if isinstance(attempt.value, list) else [None]
    reason = next(filter(None, (no_call(item, ("name", "arguments")) for item in items)), None)
    if attempt.ok and reason:
        tracer.offered = True
        attempt = tracer.amend(attempt, outcome="failed", reason=reason)
    choose_if_ok(tracer, attempt)


def _without_token(raw: str) -> tuple[Span, list[Edit]]:
    """What is left of the response without the token and the white space round it, as a span and removals in it."""
    span = whole(raw)
    while True:
        cut = stripped(raw, *span)
        if raw.startswith(TOKEN, *cut):
            cut = Span(cut.start + len(TOKEN), cut.end)
        elif raw.endswith(TOKEN, *cut):
            cut = Span(cut.start, cut.end - len(TOKEN))
        if cut == span:
            break
        span = cut
    places = [match.start() for match in re.finditer(re.escape(TOKEN), raw) if span.start <= match.start() < span.end]
    return span, [Edit("stray_text", Span(at, at + len(TOKEN)), TOKEN, "") for at in places]


def _part(calls: re.Match[str], span: Span, edits: list[Edit]) -> tuple[Span, list[Edit]]:
    """Where a part of the text without the token stands in the response, and the removals in it."""
    start, end = span.start + calls.start(), span.start + calls.end()
    for edit in edits:
        start += len(edit.old) if edit.span.start <= start else 0
        end += len(edit.old) if edit.span.start < end else 0
    return Span(start, end), [edit for edit in edits if start < edit.span.start < end]


plugin = Described(
    name="vllm-mistral",
    group=SERVERS,
    version="restated-0.11",
    roots="list",
    about=(
        "1. Without [TOOL_CALLS] the response is plain text. 2. Every [TOOL_CALLS] is taken out, white space cut off, "
        "and all that is left, prose before it included, goes to json.loads. 3. If that fails, from the first [{ to "
        "the last }]. 4. Each call must have name and arguments; if anything fails, the response is returned as "
        "plain text: the caller sees no error. For tokenizers up to version 10; from version 11 on calls are written "
        "name{…}, which this profile does not read; releases after 0.11 have other readers.\n"
        "Source: vLLM 0.11, entrypoints/openai/tool_parsers/mistral_tool_parser.py, extract_tool_calls "
        "(--tool-call-parser mistral)."
    ),
    parser=run,
)
