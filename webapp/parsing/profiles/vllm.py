"""vLLM's readers of tool calls that are no grammars of its engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import repeat

from webapp.parsing.edit import Edit, Span, apply, places, stripped, within
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import SERVERS, described
from webapp.parsing.profiles._grammar import NO_UTF8, SURROGATE
from webapp.parsing.profiles._json_calls import no_call
from webapp.parsing.profiles._steps import Refused, escapes, give_calls, reader, refuse, whole
from webapp.parsing.profiles.apply_patch import SPACE
from webapp.parsing.trace import Attempt

_READER = "tool_parsers/{}_tool_parser.py, extract_tool_calls (--tool-call-parser {})"
_SOURCE = f"vLLM 0.33, {_READER}"


CALLS, BEGIN, SEP, END = "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"


@reader("vllm-deepseek-v31", CALLS, _SOURCE.format("deepseekv31", "deepseek_v31"))
def deepseek_v31(tracer: Tracer) -> Iterator[Attempt]:
    """vLLM's `deepseek_v31` tool-call reader: a name, <｜tool▁sep｜>, and arguments that go to the caller as they are.

    1. Of each <｜tool▁call▁begin｜> that <｜tool▁call▁end｜> closes, what stands in front of <｜tool▁sep｜> is the name
    and what stands behind it the arguments. 2. These are not decoded: the caller gets them as a text; no JSON is shown
    here as a failure. 3. A call that is cut off is dropped without an error.
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


@reader("vllm-mistral", TOKEN, f"vLLM 0.11, entrypoints/openai/{_READER}".format("mistral", "mistral"), roots="list")
def mistral(tracer: Tracer) -> Iterator[Attempt]:
    """vLLM's `mistral` tool-call reader: the list of calls after [TOOL_CALLS].

    1. Every [TOOL_CALLS] is taken out, white space cut off, and all that is left, prose before it included, goes to
    json.loads. 2. If that fails, from the first [{ to the last }]. 3. Each call must have name and arguments; if
    anything fails, the response is returned as plain text: the caller sees no error. For tokenizers up to version 10;
    from version 11 on calls are written name{…}, which this profile does not read; releases after 0.11 have other
    readers.
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
    tokens = [Span(*match.span()) for match in re.finditer(re.escape(TOKEN), raw)]
    ends, starts = [0, *(token.end for token in tokens)], [*(token.start for token in tokens), len(raw)]
    texts = [text for text in map(stripped, repeat(raw), ends, starts) if text.start < text.end]
    span = Span(texts[0].start, texts[-1].end) if texts else Span(len(raw), len(raw))
    return span, [Edit("stray_text", token, TOKEN, "") for token in tokens if span.start < token.start < span.end]


_ROLES = ("assistant", "developer", "system", "tool", "user")
_STOP = re.compile(r"<\|(?:call|end|return)\|>")
_CHANNEL = re.compile(rf"<\|channel\|>([^<{SPACE}]*)")
_WORD = re.compile(r"[^ \t\n\f\r]+")


@described("vllm-gpt-oss", SERVERS, revision=2, roots="all")
def gpt_oss(tracer: Tracer) -> None:
    """vLLM's reader for gpt-oss: harmony's messages to functions.name, in any channel, also cut off.

    1. A header reaches to <|message|> and holds <|channel|> with its name, to=recipient, and a type, perhaps behind
    <|constrain|>; one word without to= is the recipient. Any more refuses the message: all up to the next <|start|> is
    dropped without an error. The first header stands behind the prompt's <|start|>assistant, which is no part of the
    response. 2. The text reaches to <|call|>, <|end|>, <|return|> or the end, so a call that is cut off passes for a
    whole one. 3. A message of the assistant's is a call, unless it has no recipient, or that is assistant, python,
    browser or container. 4. The arguments go to the caller as a text, also where they are no JSON, which is shown here
    as a failure. What streams is fed in tokens.

    Source: vLLM 0.33, parser/harmony.py, parse (--tool-call-parser openai), and oss-harmony 0.0.11.
    """
    give_calls(tracer, _harmony(tracer))


def _harmony(tracer: Tracer) -> Iterator[Attempt]:
    """One a call, after a failure for each message that is dropped. Raises `Refused`. Linear."""
    raw, begin, role = tracer.raw, 0, "assistant"
    while (head := raw.find("<|message|>", begin)) >= 0:
        at = head + len("<|message|>")
        try:
            author, recipient, kind = _header(raw[begin:head], role)
        except ValueError as error:
            tracer.fail("tagged", Span(begin, head), f"HarmonyError: {str(error)[:200]}: the message is dropped")
        else:
            role, stop = "", _STOP.search(raw, at)
            span = Span(at, stop.start() if stop else len(raw))
            at = stop.end() if stop else len(raw)
            if author == "assistant" and _is_function(recipient):
                attempt = tracer.attempt("tagged", span, note=f"calls {recipient.removeprefix('functions.')}")
                if escapes(attempt) and (not kind or "json" in kind):
                    raise Refused
                yield attempt
        start = raw.find("<|start|>", at)
        if start < 0:
            return
        begin = start + len("<|start|>")


def _header(header: str, role: str) -> tuple[str, str, str]:
    """The author, which is `role` where that is known, the recipient, and the type. Raises `ValueError`."""
    channel = _CHANNEL.search(header)
    if channel and not channel[1]:
        raise ValueError("channel marker present but no channel value found in header")
    words = _WORD.findall(_CHANNEL.sub("", header).replace("<|constrain|>", " <|constrain|>").strip(SPACE))
    if not role:
        role = _author(words)
    if words[:1] == [role]:
        del words[0]
    last = words[-1] if words else ""
    has_kind = last.startswith("<|constrain|>") or (len(words) > 1 and not last.startswith("to="))
    kind = words.pop() if has_kind else ""
    recipient = words.pop().removeprefix("to=") if words else ""
    if words:
        raise ValueError(f"unexpected tokens remaining in message header: {' '.join(words)}")
    return role, recipient, kind


def _author(words: list[str]) -> str:
    """Whom the first word names, which an unknown author, a tool, takes with it. Raises `ValueError`."""
    if not words:
        raise ValueError("message header did not contain a role")
    if words[0] in _ROLES:
        return words[0]
    if len(words) == 1 and not words[0].startswith("to="):
        raise ValueError(f"Unknown role: {words[0]}")
    del words[0]
    return "tool"


def _is_function(recipient: str) -> bool:
    built_in = recipient.partition(".")[0] in ("browser", "container", "python")
    return not (built_in or recipient in ("", "assistant", "functions.") or recipient.startswith("<|"))


plugins = (deepseek_v31, gpt_oss, mistral)
