"""vLLM's readers of tool calls, of which a bad one takes the others with it: the answer is then plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from webapp.parsing.edit import Edit, Span, apply, places, stripped, within
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._grammar import NO_UTF8, SURROGATE
from webapp.parsing.profiles._steps import reader, refuse, whole
from webapp.parsing.trace import Attempt


def _call(tracer: Tracer, strategy: str, span: Span, *needed: str) -> Attempt:
    """Decode a call; `needed` are its keys, with "|" between alternatives."""
    attempt = tracer.attempt(strategy, span)
    reason = no_call(attempt.value, needed) if attempt.ok else ""
    return refuse(tracer, attempt, reason) if reason else attempt


def no_call(value: object, needed: tuple[str, ...]) -> str:
    """Why `value` is no call, in the words of the error that the server swallows; empty where it is one."""
    if not isinstance(value, dict):
        return f"TypeError: a call is looked for in something of type {type(value).__name__}"
    for names in needed:
        if not any(name in value for name in names.split("|")):
            return f"KeyError: {names.rpartition('|')[2]!r}"
    if not isinstance(value.get("name", ""), str):
        return "ValidationError: the name is no text"
    return ""


_HERMES = re.compile(r"<tool_call>(.*?)</tool_call>|<tool_call>(.*)", re.DOTALL)


@reader("vllm-hermes", "<tool_call>", all_or_none=True)
def hermes(tracer: Tracer) -> Iterator[Attempt]:
    """vLLM's `hermes` tool-call reader: JSON between <tool_call> and </tool_call>, all calls or none.

    1. Each text between <tool_call> and </tool_call>, or from an unclosed <tool_call> to the end, goes to json.loads
    and must have a name, which is a text, and arguments.

    Source: vLLM 0.33, tool_parsers/hermes_tool_parser.py, extract_tool_calls (--tool-call-parser hermes).
    """
    for match in _HERMES.finditer(tracer.raw):
        yield _call(tracer, "tagged", Span(*match.span(match.lastindex or 1)), "name", "arguments")


_decoder = json.JSONDecoder()


@reader("vllm-llama3", "{", all_or_none=True, strategy="balanced")
def llama3(tracer: Tracer) -> Iterator[Attempt]:
    """vLLM's `llama3_json` tool-call reader: every object that begins at a brace, all calls or none.

    1. From each { that does not stand in an object read before, or right behind one, an object is read as far as it
    goes; it must have a name that is a text, and arguments or parameters. 2. Text between objects is skipped.

    Source: vLLM 0.33, tool_parsers/llama_tool_parser.py, extract_tool_calls (--tool-call-parser llama3_json).
    """
    for span in _objects(tracer.raw):
        yield _call(tracer, "balanced", span, "name", "arguments|parameters")


def _objects(raw: str) -> Iterator[Span]:
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


CALLS, BEGIN, SEP, END = "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"


@reader("vllm-deepseek-v31", CALLS)
def deepseek_v31(tracer: Tracer) -> Iterator[Attempt]:
    """vLLM's `deepseek_v31` tool-call reader: a name, <｜tool▁sep｜>, and arguments that go to the caller as they are.

    1. Of each <｜tool▁call▁begin｜> that <｜tool▁call▁end｜> closes, what stands in front of <｜tool▁sep｜> is the name
    and what stands behind it the arguments. 2. These are not decoded: the caller gets them as a text; no JSON is shown
    here as a failure. 3. A call that is cut off is dropped without an error.

    Source: vLLM 0.33, tool_parsers/deepseekv31_tool_parser.py, extract_tool_calls (--tool-call-parser deepseek_v31).
    """
    calls = list(_calls(tracer.raw))
    if any(SURROGATE.search(name + span.of(tracer.raw)) for name, span in calls):
        yield tracer.fail("tagged", whole(tracer.raw), NO_UTF8)
        return
    for name, span in calls:
        yield tracer.attempt("tagged", span, note=f"calls {name}")


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


TOKEN = "[TOOL_CALLS]"  # noqa: S105 — a word of the model's, no secret
_LIST = re.compile(r"\[{.*}\]", re.DOTALL)


@reader("vllm-mistral", TOKEN, roots="list")
def mistral(tracer: Tracer) -> Iterator[Attempt]:
    """vLLM's `mistral` tool-call reader: the list of calls after [TOOL_CALLS].

    1. Every [TOOL_CALLS] is taken out, white space cut off, and all that is left, prose before it included, goes to
    json.loads. 2. If that fails, from the first [{ to the last }]. 3. Each call must have name and arguments; if
    anything fails, the response is returned as plain text: the caller sees no error. For tokenizers up to version 10;
    from version 11 on calls are written name{…}, which this profile does not read; releases after 0.11 have other
    readers.

    Source: vLLM 0.11, entrypoints/openai/tool_parsers/mistral_tool_parser.py, extract_tool_calls (--tool-call-parser
    mistral).
    """
    span, edits = _without_token(tracer.raw)
    attempt = tracer.attempt("tagged", span, edits)
    if not attempt.ok and (calls := _LIST.search(apply(tracer.raw, span, edits))):
        part = places(span, edits).raw(*calls.span())
        attempt = tracer.attempt("outermost", part, within(part, edits))
    items = attempt.value if isinstance(attempt.value, list) else [None]
    reason = next(filter(None, (no_call(item, ("name", "arguments")) for item in items)), None)
    yield refuse(tracer, attempt, reason) if attempt.ok and reason else attempt


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


plugins = (deepseek_v31, hermes, llama3, mistral)
