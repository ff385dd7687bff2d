"""vLLM's readers of tool calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator

from webapp.parsing.edit import Edit, Span, apply, places, stripped, within
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import SERVERS
from webapp.parsing.profiles._grammar import NO_UTF8, SURROGATE
from webapp.parsing.profiles._steps import Step, choose_if_ok, give_all, refuse, stepwise, whole
from webapp.parsing.trace import Attempt

_GIVEN_UP = "a later call of the response does not decode: none is given"


def _calls_at(strategy: str, find: Callable[[str], Iterable[Span]], plain: str, *needed: str) -> Step:
    """Decode what stands at each span; all are the result, or none where one is no call.

    Then, and where there is none, the server answers with plain text: no call at all, and no error for the caller.
    `needed` are keys of a call, with "|" between alternatives.
    """

    def call(tracer: Tracer, span: Span) -> Attempt:
        attempt = tracer.attempt(strategy, span)
        reason = no_call(attempt.value, needed) if attempt.ok else ""
        return refuse(tracer, attempt, reason) if reason else attempt

    def step(tracer: Tracer) -> bool:
        give_all(tracer, (call(tracer, span) for span in find(tracer.raw)), _GIVEN_UP)
        if not tracer.attempts:
            tracer.reject(strategy, whole(tracer.raw), plain)
        return True

    return step


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


def _tagged(raw: str) -> Iterator[Span]:
    """What stands in each <tool_call>, in one that is not closed up to the end."""
    return (Span(*match.span(match.lastindex or 1)) for match in _HERMES.finditer(raw))


_decoder = json.JSONDecoder()


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


def _deepseek(tracer: Tracer) -> bool:
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
    return True


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


def _mistral(tracer: Tracer) -> bool:
    raw = tracer.raw
    if TOKEN not in raw:
        tracer.reject("tagged", whole(raw), "no [TOOL_CALLS]: plain text")
        return True
    span, edits = _without_token(raw)
    attempt = tracer.attempt("tagged", span, edits)
    if not attempt.ok and (calls := _LIST.search(apply(raw, span, edits))):
        part = places(span, edits).raw(*calls.span())
        attempt = tracer.attempt("outermost", part, within(part, edits))
    items = attempt.value if isinstance(attempt.value, list) else [None]
    reason = next(filter(None, (no_call(item, ("name", "arguments")) for item in items)), None)
    if attempt.ok and reason:
        refuse(tracer, attempt, reason)
        return True
    return choose_if_ok(tracer, attempt)


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


_HERMES_CALLS = _calls_at("tagged", _tagged, "no <tool_call>: plain text", "name", "arguments")
_LLAMA_CALLS = _calls_at("balanced", _objects, "no {: plain text", "name", "arguments|parameters")
plugins = (
    stepwise("vllm-hermes", SERVERS, "restated-0.33", _HERMES_CALLS, roots="all")("""
        vLLM's `hermes` tool-call reader: JSON between <tool_call> and </tool_call>, all calls or none.

        1. Without <tool_call> the response is plain text. 2. Each text between <tool_call> and </tool_call>, or from
        an unclosed <tool_call> to the end, goes to json.loads and must have a name, which is a text, and arguments.
        3. If one of them fails, all are given up and the response is returned as plain text: the caller sees no
        error.

        Source: vLLM 0.33, tool_parsers/hermes_tool_parser.py, extract_tool_calls (--tool-call-parser hermes).
    """),
    stepwise("vllm-llama3", SERVERS, "restated-0.33", _LLAMA_CALLS, roots="all")("""
        vLLM's `llama3_json` tool-call reader: every object that begins at a brace, all calls or none.

        1. Without { the response is plain text. 2. From each { that does not stand in an object read before, or right
        behind one, an object is read as far as it goes; it must have a name that is a text, and arguments or
        parameters. Text between objects is skipped. 3. If one fails, all are given up and the response is returned as
        plain text: the caller sees no error.

        Source: vLLM 0.33, tool_parsers/llama_tool_parser.py, extract_tool_calls (--tool-call-parser llama3_json).
    """),
    stepwise("vllm-deepseek-v31", SERVERS, "restated-0.33", _deepseek, roots="all")("""
        vLLM's `deepseek_v31` tool-call reader: a name, <｜tool▁sep｜>, and arguments that go to the caller
        as they are.

        1. Without <｜tool▁calls▁begin｜> the response is plain text. 2. Of each <｜tool▁call▁begin｜> that
        <｜tool▁call▁end｜> closes, what stands in front of <｜tool▁sep｜> is the name and what stands behind
        it the arguments. 3. These are not decoded: the caller gets them as a text; no JSON is shown here
        as a failure. 4. A call that is cut off is dropped without an error.

        Source: vLLM 0.33, tool_parsers/deepseekv31_tool_parser.py, extract_tool_calls (--tool-call-parser
        deepseek_v31).
    """),
    stepwise("vllm-mistral", SERVERS, "restated-0.11", _mistral, roots="list")("""
        vLLM's `mistral` tool-call reader: the list of calls after [TOOL_CALLS].

        1. Without [TOOL_CALLS] the response is plain text. 2. Every [TOOL_CALLS] is taken out, white space cut off,
        and all that is left, prose before it included, goes to json.loads. 3. If that fails, from the first [{ to the
        last }]. 4. Each call must have name and arguments; if anything fails, the response is returned as plain text:
        the caller sees no error. For tokenizers up to version 10; from version 11 on calls are written name{…}, which
        this profile does not read; releases after 0.11 have other readers.

        Source: vLLM 0.11, entrypoints/openai/tool_parsers/mistral_tool_parser.py, extract_tool_calls
        (--tool-call-parser mistral).
    """),
)
