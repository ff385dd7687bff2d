"""SGLang's detectors of tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webapp.parsing.edit import Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._steps import Refused, derived, escapes, reader, refuse
from webapp.parsing.profiles.vllm import BEGIN, CALLS, END, SEP
from webapp.parsing.trace import Attempt


def _between(raw: str, opener: str, closer: str) -> Iterator[Span]:
    """What stands between each opener and the first closer behind it. Linear."""
    at = raw.find(opener)
    while at >= 0 and (end := raw.find(closer, at + len(opener))) >= 0:
        yield Span(at + len(opener), end)
        at = raw.find(opener, end + len(closer))


_SOURCE = "SGLang 0.5.23, srt/function_call/{}_detector.py, detect_and_parse (--tool-call-parser {})"


@reader("sglang-qwen25", "<tool_call>\n", _SOURCE.format("qwen25", "qwen25"), revision=3)
def qwen25(tracer: Tracer) -> Iterator[Attempt]:
    """SGLang's `qwen25` detector: JSON in <tool_call> lines, the bad ones dropped and the good ones kept.

    1. Each text between <tool_call> with a line feed and </tool_call> on a line of its own goes to json.loads. 2. One
    that does not decode is dropped, with a line in the server's log: the other calls are given. 3. An item that is no
    object makes the request fail. Names that are not declared are dropped; here every name counts as declared.
    """
    for span in _between(tracer.raw, "<tool_call>\n", "\n</tool_call>"):
        attempt = tracer.attempt("tagged", stripped(tracer.raw, *span))
        if escapes(attempt):
            raise Refused
        calls = attempt.value if isinstance(attempt.value, list) else [attempt.value]
        if attempt.ok and not all(isinstance(call, dict) for call in calls):
            refuse(tracer, attempt, "AttributeError: a call that is no object: the request fails")
            raise Refused
        if attempt.ok and any(call.get("name") for call in calls):
            yield attempt
        elif attempt.ok:
            refuse(tracer, attempt, "the call has no name: it is dropped")


@reader("sglang-deepseek-v3", CALLS, _SOURCE.format("deepseekv3", "deepseekv3"), all_or_none=True, revision=2)
def deepseek_v3(tracer: Tracer) -> Iterator[Attempt]:
    """SGLang's `deepseekv3` detector: a name and a ```json block behind <｜tool▁sep｜>, all calls or none.

    1. Each <｜tool▁call▁begin｜>…<｜tool▁call▁end｜> must hold <｜tool▁sep｜>, a name, ```json on a line, arguments,
    and ``` on the last line. 2. json.loads of the arguments.
    """
    for span in _between(tracer.raw, BEGIN, END):
        yield _detail(tracer, span)


def _detail(tracer: Tracer, span: Span) -> Attempt:
    """A call's name and arguments: the last ```json behind a <｜tool▁sep｜>, and the ``` at the end."""
    raw = tracer.raw
    fence = raw.rfind("\n```json\n", span.start, span.end - 4)
    sep = raw.rfind(SEP, span.start, fence) if fence >= 0 else -1
    if sep < 0 or not raw.endswith("\n```", *span):
        return tracer.fail("tagged", span, f"no name behind {SEP} with a ```json block: no call is given")
    name = raw[sep + len(SEP) : fence]
    attempt = tracer.attempt("tagged", Span(fence + 9, span.end - 4), note=f"calls {name}" if name else None)
    if name or not attempt.ok:
        return attempt
    return tracer.amend(attempt, outcome="rejected", reason="the call has no name: it is dropped")


_HEAD = re.compile(r"<\|tool_call_begin\|>\s*([^\s<|]+)\s*<\|tool_call_argument_begin\|>\s*(?=\{)")
_TAIL = re.compile(r"\}\s*<\|tool_call_end\|>")
_IDENT = re.compile(r"(?:functions\.)?([\w.\-]+):\d+\Z")


@reader("sglang-kimi-k2", "<|tool_calls_section_begin|>", _SOURCE.format("kimik2", "kimi_k2"), revision=2)
def kimi_k2(tracer: Tracer) -> Iterator[Attempt]:
    """SGLang's `kimi_k2` detector: an id such as functions.name:0, and what looks like an object up to the end token.

    1. Each <|tool_call_begin|> with an id, then <|tool_call_argument_begin|> and {, reaches to the first } in front of
    <|tool_call_end|>. 2. The arguments are not decoded: no JSON is shown here as a failure. 3. A call whose id is no
    name with a number is dropped; of a number alone SGLang guesses the tool by its declared parameters, which are not
    known here. A call that is cut off is lost.
    """
    raw, at = tracer.raw, 0
    while head := _HEAD.search(raw, at):
        if not (tail := _TAIL.search(raw, head.end())):
            break
        span, ident = Span(head.end(), tail.start() + 1), _IDENT.match(head[1])
        if ident:
            yield tracer.attempt("tagged", span, note=f"calls {ident[1]}")
        else:
            tracer.reject("tagged", span, "its id is no name with a number: the call is dropped")
        at = tail.end()


_OSS = "<|start|>assistant<|channel|>commentary"
_WORD = re.compile(r"<\|(?:(start|channel|message|constrain|end|call|return)\|>)?")
_ENDS = {
    "final": ("return",),
    "analysis": ("end", "call"),
    "commentary": ("end", "call"),
    "": ("end", "call", "return"),
}
_CALL = re.compile(r"to=([a-zA-Z_][a-zA-Z0-9_.-]*)\s*<\|constrain\|>json<\|message\|>(.*?)<\|call\|>", re.DOTALL)


@reader("sglang-gpt-oss", _OSS, _SOURCE.format("gpt_oss", "gpt-oss"), revision=3)
def gpt_oss(tracer: Tracer) -> Iterator[Attempt]:
    """SGLang's `gpt-oss` detector: harmony's commentary to=functions.name, then JSON up to <|call|>; bad ones go.

    1. <|start|> or <|channel|> begins a message; analysis and commentary end at <|end|> or <|call|>, final at
    <|return|>. One that does not end, and one of another channel, holds back all that follows. 2. A message that ends
    at <|call|> is a call where to=name stands right before <|constrain|>json<|message|>: one whose recipient stands
    elsewhere, or without <|constrain|>, is lost. The name is what follows the last dot. 3. json.loads of what follows,
    nothing is {}; what does not decode is dropped, and the caller sees no error.
    """
    raw = tracer.raw
    for message in _messages(raw):
        call = _CALL.search(raw, *message)
        if not call:
            tracer.fail("tagged", message, "no to=name right before <|constrain|>json<|message|>: the call is lost")
            continue
        span, note = Span(*call.span(2)), f"calls {call[1].rpartition('.')[2]}"
        if not call[2].strip():
            yield derived(tracer, span, {}, note)
            continue
        attempt = tracer.attempt("tagged", span, note=note)
        if attempt.error and attempt.error.type == "RecursionError":
            raise Refused
        yield attempt


def _messages(raw: str) -> Iterator[Span]:
    """Each message that ends at <|call|>."""
    state, start, channel, kind = "between", 0, 0, ""
    for word, span in _words(raw):
        if state == "between" and word in ("start", "channel"):
            state, start, channel = "header", span.start, span.end if word == "channel" else 0
        elif state == "header" and word == "channel":
            channel = channel or span.end
        elif state == "header" and word == "message":
            header = raw[channel : span.start].strip().lower() if channel else ""
            kinds = [name for name in _ENDS if header.startswith(name) and bool(name) == bool(channel)]
            if not kinds:
                return
            state, kind = "body", kinds[0]
        elif state == "body" and word in _ENDS[kind]:
            if word == "call" and kind:
                yield Span(start, span.end)
            state = "between"


def _words(raw: str) -> Iterator[tuple[str, Span]]:
    """Harmony's own words; one that is none hides all up to the next <| behind its |>. Linear."""
    at, last = 0, raw.rfind("|>")
    while match := _WORD.search(raw, at):
        at = match.end()
        if match[1]:
            yield match[1], Span(*match.span())
        elif at <= last:
            at = raw.find("<|", raw.find("|>", at) + 2) % (len(raw) + 1)


plugins = (deepseek_v3, gpt_oss, kimi_k2, qwen25)
