"""vLLM's `kimi_k2` tool-call reader: an id with the name in it, and arguments that go to the caller as they are."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import SERVERS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._calls import pass_on
from webapp.parsing.profiles._cutting import whole
from webapp.parsing.span import Span, stripped

CALLS, END = "<|tool_calls_section_begin|>", "<|tool_call_end|>"
_BEGIN = re.compile(r"<\|tool_call_begin\|>\s*+")
_HEAD = re.compile(r":\d++(?=\s*+<\|tool_call_argument_begin\|>(\s*+))")


def run(tracer: Tracer) -> None:
    raw = tracer.raw
    calls = [(call_id.split("."), span) for call_id, span in _calls(raw)]
    if CALLS not in raw:
        tracer.reject("tagged", whole(raw), f"no {CALLS}: plain text")
    elif calls:
        named = [(".".join(parts[1:2]).partition(":")[0], span) for parts, span in calls]
        has_dots = all(len(parts) > 1 for parts, _ in calls)
        pass_on(tracer, named, "" if has_dots else "IndexError: an id without a dot: no call is given")
    else:
        tracer.fail(
            "tagged", Span(raw.index(CALLS), len(raw)), "no complete call: none is given, and this text is lost"
        )


def _calls(raw: str) -> Iterator[tuple[str, Span]]:
    """The id of each call, which reaches to the last number on its line that arguments follow, and those. Linear."""
    heads = list(_heads(raw))
    starts = [head.start for head, _ in heads]
    at, line = 0, -1
    while match := _BEGIN.search(raw, at):
        at = match.end()
        line = line if line >= at else raw.find("\n", at) % (len(raw) + 1)
        number = bisect_left(starts, line) - 1
        if number >= 0 and starts[number] > at:
            head, arguments = heads[number]
            yield raw[at : head.end], arguments
            at = raw.index(END, arguments.end) + len(END)


def _heads(raw: str) -> Iterator[tuple[Span, Span]]:
    """Each number that arguments of one line follow, and these."""
    end = line = -1
    text = Span(0, 0)
    for match in _HEAD.finditer(raw):
        start = match.end(1)
        if end < start:
            end = raw.find(END, start)
            text = stripped(raw, start, end)
        if end < 0:
            return
        line = line if line >= start else raw.find("\n", start) % (len(raw) + 1)
        if line >= text.end:
            yield Span(*match.span()), Span(start, max(start, text.end))


plugin = Described(
    name="vllm-kimi-k2",
    group=SERVERS,
    version="restated-0.11",
    roots="all",
    about=(
        f"1. Without {CALLS} the response is plain text. 2. Behind <|tool_call_begin|> stands an id such as "
        "functions.get:0, whose part behind the first dot is the name, and behind <|tool_call_argument_begin|> the "
        "arguments, as far as <|tool_call_end|>. 3. These are not decoded: the caller gets them as a text, also where "
        "they are no JSON, which is shown here as a failure. 4. In fact arguments of several lines make no call, of "
        "two calls on one line the name of the first gets the arguments of the last, and an id without a dot gives "
        "up all calls. A call that is cut off is dropped without an error.\n"
        "Source: vLLM 0.11, entrypoints/openai/tool_parsers/kimi_k2_tool_parser.py, extract_tool_calls "
        "(--tool-call-parser kimi_k2); releases after it read by an engine of many modules. Same calls "
        "over 40,000 texts."
    ),
    parser=run,
)
