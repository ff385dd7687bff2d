"""vLLM's `llama3_json` tool-call reader: every object that begins at a brace, all calls or none."""

from __future__ import annotations

import json
from collections.abc import Iterator

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import SERVERS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._calls import read_calls
from webapp.parsing.profiles._cutting import whole
from webapp.parsing.span import Span

_decoder = json.JSONDecoder()


def run(tracer: Tracer) -> None:
    if "{" not in tracer.raw:
        tracer.reject("balanced", whole(tracer.raw), "no {: plain text")
    else:
        read_calls(tracer, "balanced", objects(tracer.raw), ("name", "arguments|parameters"))


def objects(raw: str) -> Iterator[Span]:
    """Where each object stands; of what cannot be read, from its brace to the end, after which nothing comes."""
    start = raw.find("{")
    while start >= 0:
        try:
            _, end = _decoder.raw_decode(raw, start)
        except (ValueError, RecursionError):
            yield Span(start, len(raw))
            return
        yield Span(start, end)
        start = raw.find("{", end + 1)


plugin = Described(
    name="vllm-llama3",
    group=SERVERS,
    version="restated-0.33",
    roots="all",
    about=(
        "1. Without { the response is plain text. 2. From each { that does not stand in an object read before, or "
        "right behind one, an object is read as far as it goes; it must have a name that is a text, and arguments or "
        "parameters. Text between objects is skipped. 3. If one fails, all are given up and the response "
        "is returned as plain text: the caller sees no error.\n"
        "Source: vLLM 0.33, tool_parsers/llama_tool_parser.py, extract_tool_calls (--tool-call-parser llama3_json)."
    ),
    parser=run,
)
