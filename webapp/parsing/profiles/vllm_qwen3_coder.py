"""vLLM's `qwen3_coder` tool-call reader: <function=…> with <parameter=…>, whose values are texts."""

from __future__ import annotations

import re

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import SERVERS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._calls import NO_UTF8, SURROGATE
from webapp.parsing.profiles._cutting import rewritten, whole
from webapp.parsing.span import Span

_CALL = re.compile(r"<tool_call>(?:(.*?)</tool_call>|(.*?)$)", re.DOTALL)
_FUNCTION = re.compile(r"<function=(?:(.*?)</function>|(.*)\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=(.*?)(?:</parameter>|(?=<parameter=)|(?=</function>)|$)", re.DOTALL)


def run(tracer: Tracer) -> None:
    spans = _functions(tracer.raw) if "<function=" in tracer.raw else []
    for span in spans:
        name, closer, rest = span.of(tracer.raw).partition(">")
        parameters = [text.partition(">") for text in _PARAMETER.findall(rest)]
        if not closer or not all(mark for _, mark, _ in parameters) or SURROGATE.search(name + rest):
            tracer.chosen.clear()
            tracer.fail("tagged", span, NO_UTF8 if closer else "ValueError: no > behind a name: no call is given")
            return
        value = {"name": name, "arguments": {key: _value(text) for key, _, text in parameters}}
        tracer.choose(rewritten(tracer, "derived", span, value, f"not JSON as written; calls {name}"))
    if not spans:
        tracer.reject("tagged", whole(tracer.raw), "no <function= in a call: plain text")


def _functions(raw: str) -> list[Span]:
    """Where each function stands: in a <tool_call>, closed or not, or in the response where there is none."""
    calls = [match.span(match.lastindex or 1) for match in _CALL.finditer(raw)] or [whole(raw)]
    found = [match for call in calls for match in _FUNCTION.finditer(raw, *call)]
    return [Span(*match.span(match.lastindex or 1)) for match in found]


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
        "(--tool-call-parser qwen3_coder); releases after it read by an engine of many modules. Same calls over 40,000."
    ),
    parser=run,
)
