"""vLLM's `hermes` tool-call reader: JSON between <tool_call> and </tool_call>, all calls or none."""

from __future__ import annotations

import re

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import SERVERS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._calls import read_calls
from webapp.parsing.profiles._cutting import whole
from webapp.parsing.span import Span

_CALL = re.compile(r"<tool_call>(.*?)</tool_call>|<tool_call>(.*)", re.DOTALL)


def run(tracer: Tracer) -> None:
    spans = [Span(*match.span(match.lastindex or 1)) for match in _CALL.finditer(tracer.raw)]
    if not spans:
        tracer.reject("tagged", whole(tracer.raw), "no <tool_call>: plain text")
    else:
        read_calls(tracer, "tagged", spans, ("name", "arguments"))


plugin = Described(
    name="vllm-hermes",
    group=SERVERS,
    version="restated-0.33",
    roots="all",
    about=(
        "1. Without <tool_call> the response is plain text. 2. Each text between <tool_call> and </tool_call>, or from "
        "an unclosed <tool_call> to the end, goes to json.loads and must have a name, which is a text, and arguments. "
        "3. If one of them fails, all are given up and the response is returned as plain text: the caller sees no "
        "error.\n"
        "Source: vLLM 0.33, tool_parsers/hermes_tool_parser.py, extract_tool_calls (--tool-call-parser hermes)."
    ),
    parser=run,
)
