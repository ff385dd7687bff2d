"""Windlass after its second fix: as strict, and surplus closing braces are removed from the end."""

from __future__ import annotations

from webapp.parsing.edit import Edit
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._windlass import call_tools, fenced
from webapp.parsing.span import Span


def balance(raw: str, span: Span) -> tuple[list[Edit], str] | None:
    """Strip all trailing `}`, append as many as there are `{`: as the edit that this comes to, and the log line.

    None where the block has no more `}` than `{`. Counts are plain: braces inside strings count too, so the
    edit may add braces where the closing run is shorter than the count of openers.
    """
    block = span.of(raw)
    opens, closes = block.count("{"), block.count("}")
    if closes <= opens:
        return None
    run = len(block) - len(block.rstrip("}"))
    warning = f"[WARN] Fixed malformed JSON: removed {closes - opens} extra braces"
    if opens < run:
        extra = Span(span.end - (run - opens), span.end)
        return [Edit("extra_closer", extra, extra.of(raw), "")], warning
    if opens > run:
        return [Edit("missing_closer", Span(span.end, span.end), "", "}" * (opens - run))], warning
    return [], warning


def run(tracer: Tracer) -> None:
    call_tools(tracer, fenced(tracer.raw), balance)


plugin = Described(
    name="windlass-balanced",
    report="004",
    roots="tools",
    about=(
        "1. Takes the blocks that windlass-strict takes. 2. Decodes each as written. 3. If that fails and the block "
        "has more } than {, strips all } from its end, appends as many as there are {, decodes again, and warns how "
        "many it removed. 4. Goes on as windlass-strict: calls, silence, one validation error a block, errors dropped "
        "beside a call.\n"
        "Differences from its report: it repairs only if every } of the block stands in the closing run, so "
        '{"tool":"t","arguments":{"a":{"b":1},"c":2}}}} still fails. Braces inside strings are counted, so that the '
        "step may even add braces. The report says that unfenced JSON is found and that the failure was silent; only "
        "```json fences are looked at."
    ),
    parser=run,
)
