"""vLLM's `deepseek_v31` tool-call reader: a name, <｜tool▁sep｜>, and arguments that go to the caller as they are."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import SERVERS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._calls import NO_UTF8, SURROGATE
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.span import Span

CALLS, BEGIN, SEP, END = "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"


def run(tracer: Tracer) -> None:
    raw = tracer.raw
    calls = list(_calls(raw))
    if CALLS not in raw:
        tracer.reject("tagged", whole(raw), f"no {CALLS}: plain text")
    elif not calls:
        tracer.fail("tagged", Span(raw.index(CALLS), len(raw)), "no complete call: none is given, this text is lost")
    elif any(SURROGATE.search(name + span.of(raw)) for name, span in calls):
        tracer.fail("tagged", whole(raw), NO_UTF8)
    else:
        for name, span in calls:
            choose_if_ok(tracer, tracer.attempt("tagged", span, note=f"calls {name}"))


def _calls(raw: str) -> Iterator[tuple[str, Span]]:
    """The name of each call, which is no more than a line, and its arguments. Linear."""
    at, sep, line = 0, -1, -1
    while (begin := raw.find(BEGIN, at)) >= 0:
        at = begin + len(BEGIN)
        sep = sep if sep >= at else raw.find(SEP, at)
        line = line if line >= at else raw.find("\n", at) % (len(raw) + 1)
        end = raw.find(END, sep + len(SEP)) if 0 <= sep < line else -1
        if sep < 0 or (sep < line and end < 0):
            return
        if sep < line:
            yield raw[at:sep], Span(sep + len(SEP), end)
            at = end + len(END)


plugin = Described(
    name="vllm-deepseek-v31",
    group=SERVERS,
    version="restated-0.33",
    roots="all",
    about=(
        f"1. Without {CALLS} the response is plain text. 2. Of each {BEGIN} that {END} closes, what stands in front of "
        f"{SEP} is the name and what stands behind it the arguments. 3. These are not decoded: the caller gets them as "
        "a text; no JSON is shown here as a failure. 4. A call that is cut off is dropped without an error.\n"
        "Source: vLLM 0.33, tool_parsers/deepseekv31_tool_parser.py, extract_tool_calls (--tool-call-parser "
        "deepseek_v31). Same calls over 40,000 texts."
    ),
    parser=run,
)
