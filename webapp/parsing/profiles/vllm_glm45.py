"""vLLM's `glm45` tool-call reader: <arg_key> and <arg_value>, each value JSON, else a Python literal, else text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import SERVERS
from webapp.parsing.profiles._about import Described
from webapp.parsing.profiles._calls import is_utf8, make
from webapp.parsing.profiles._cutting import whole
from webapp.parsing.profiles._decoders import literal
from webapp.parsing.span import Span

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_KEY, _END = "<arg_key>", "</arg_value>"
_BETWEEN = re.compile(r"</arg_key>\s*+<arg_value>")


def run(tracer: Tracer) -> None:
    calls: list[tuple[Span, str, dict[str, Any]]] = []
    for span in _spans(tracer.raw):
        name, line, rest = span.of(tracer.raw).partition("\n")
        try:
            arguments = json.loads(json.dumps(dict(_pairs(rest))))
        except (TypeError, ValueError, RecursionError) as error:
            tracer.fail("tagged", span, f"{type(error).__name__}: {error}: no call is given")
            return
        if not line or not is_utf8(name):
            reason = "ValidationError: a name that is no UTF-8" if line else "AttributeError: no line with a name"
            tracer.fail("tagged", span, f"{reason}: no call is given")
            return
        calls.append((span, name, arguments))
    if not calls:
        tracer.reject("tagged", whole(tracer.raw), "no <tool_call> that is closed: plain text")
    make(tracer, calls)


def _spans(raw: str) -> Iterator[Span]:
    end = 0
    while (start := raw.find(_OPEN, end)) >= 0 and (end := raw.find(_CLOSE, start)) >= 0:
        yield Span(start + len(_OPEN), end)


def _pairs(text: str) -> Iterator[tuple[str, Any]]:
    """Keys and values. Linear."""
    at = 0
    while (start := text.find(_KEY, at)) >= 0:
        start += len(_KEY)
        between = _BETWEEN.search(text, start)
        end = text.find(_END, between.end()) if between else -1
        if not between or end < 0:
            return
        yield text[start : between.start()].strip(), _value(text[between.end() : end].strip())
        at = end + len(_END)


def _value(text: str) -> Any:
    for decode in (json.loads, literal):
        try:
            return decode(text)
        except Exception:  # noqa: BLE001, S112 — as the server does
            continue
    return text


plugin = Described(
    name="vllm-glm45",
    group=SERVERS,
    version="restated-0.11",
    roots="all",
    about=(
        "1. Each text from <tool_call> to the next </tool_call> is a call: its first line the name, behind it pairs of "
        "<arg_key> and <arg_value>. 2. A value is read by json.loads, else as a Python literal, else it is a text; one "
        "that its tool declares as a string stays text, which is not known here. 3. If one call has no line break "
        "behind its name, or a value that JSON cannot hold, all are given up and the response is plain text. A call "
        "that is cut off is dropped without an error.\n"
        "Source: vLLM 0.11, entrypoints/openai/tool_parsers/glm4_moe_tool_parser.py, extract_tool_calls "
        "(--tool-call-parser glm45); releases after it read by an engine of many modules. Same calls "
        "over 40,000 texts."
    ),
    parser=run,
)
