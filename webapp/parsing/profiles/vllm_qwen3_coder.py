"""vLLM's `qwen3_coder` tool-call reader: <function=…> with <parameter=…>, whose values are texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import SERVERS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._calls import NO_UTF8, is_utf8, make
from webapp.parsing.profiles._cutting import whole
from webapp.parsing.span import Span

_CALL = re.compile(r"<tool_call>(?:(.*?)</tool_call>|(.*?)$)", re.DOTALL)
_FUNCTION = re.compile(r"<function=(?:(.*?)</function>|(.*)\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=(.*?)(?:</parameter>|(?=<parameter=)|(?=</function>)|$)", re.DOTALL)


def run(tracer: Tracer) -> None:
    raw = tracer.raw
    spans = list(_functions(raw)) if "<function=" in raw else []
    calls: list[tuple[Span, str, dict[str, Any]]] = []
    for span in spans:
        name, closer, rest = span.of(raw).partition(">")
        parameters = [text.partition(">") for text in _PARAMETER.findall(rest)]
        if not closer or not all(mark for _, mark, _ in parameters):
            tracer.fail("tagged", span, "ValueError: substring not found, > behind a name: no call is given")
            return
        if not is_utf8(span.of(raw)):
            tracer.fail("tagged", span, NO_UTF8)
            return
        calls.append((span, name, {key: _value(text) for key, _, text in parameters}))
    if not calls:
        tracer.reject("tagged", whole(raw), "no <function= in a call: plain text")
    make(tracer, calls)


def _functions(raw: str) -> Iterator[Span]:
    """Where each function stands: in a <tool_call>, closed or not, or in the response where there is none."""
    calls = [match.span(1) if match[1] else match.span(2) for match in _CALL.finditer(raw)] or [whole(raw)]
    for start, end in calls:
        for match in _FUNCTION.finditer(raw, max(start, 0), max(end, 0)):
            yield Span(*match.span(1 if match[1] else 2)) if match[1] or match[2] else Span(*[match.end()] * 2)


def _value(text: str) -> str | None:
    text = text.removeprefix("\n").removesuffix("\n")
    return None if text.lower() == "null" else text


plugin = Described(
    name="vllm-qwen3-coder",
    group=SERVERS,
    version="restated-0.11",
    roots="all",
    about=(
        "1. Without <function= the response is plain text. 2. In each <tool_call>, also an unclosed last one, and in "
        "the whole response where there is none, each <function=name> is a call, as far as </function> or the end. "
        "3. Each <parameter=name> reaches to </parameter>, the next parameter or the end; a line feed at both ends is "
        "cut off, null is null, and any other value is a text. Its tool's declaration would make it a number or JSON, "
        "which is not known here. 4. If one name has no > behind it, all calls are given up: plain text.\n"
        "Source: vLLM 0.11, entrypoints/openai/tool_parsers/qwen3coder_tool_parser.py, extract_tool_calls "
        "(--tool-call-parser qwen3_coder); releases after it read by an engine of many modules. Same calls "
        "over 40,000 texts."
    ),
    parser=run,
)
