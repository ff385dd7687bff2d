"""Libraries that take a response apart: AutoGen, CrewAI, DSPy, instructor, LlamaIndex."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from webapp.parsing.decode import nesting
from webapp.parsing.edit import Span, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import LIBRARIES, described
from webapp.parsing.profiles._steps import choose_if_ok, decode_other, escapes, give, rewritten, whole
from webapp.parsing.profiles.json_repair import repaired_text
from webapp.parsing.trace import Attempt

_DRAWN = "decoded by {}, drawn as the JSON of its value"
_LET_THROUGH = ("TypeError", "RecursionError", "MemoryError", "returned a dict with ")
"""what its excepts do not catch, for example of `{{}}`, and what JSON has not, such as the ellipsis of `{"a": ...}`"""


@described("crewai", LIBRARIES, revision=5, calls=("json-repair", "json5"))
def crewai(tracer: Tracer) -> None:
    """CrewAI's tool input: `json.loads`, `ast.literal_eval`, JSON5, then json_repair, until one gives an object.

    1. json.loads. 2. ast.literal_eval, for Python's quotes, True, None. 3. json5.loads, for comments, bare keys and
    trailing commas. 4. json_repair over the whole text, and json.loads of what it writes. The first of them that gives
    an object is the result; lists and plain values are skipped.

    Source: crewai 1.15.30, crewai/tools/tool_usage.py, ToolUsage._validate_tool_input.
    """
    everything = whole(tracer.raw)
    if not tracer.raw.strip():
        tracer.reject("whole", everything, "Tool input must be a valid dictionary: it is empty")
        return
    first = tracer.attempt("whole", everything)
    if _object(tracer, first) or escapes(first):
        return
    for decoder in ("literal", "json5"):
        attempt = decode_other(tracer, decoder, everything, _DRAWN.format("another decoder than JSON's"))
        if _object(tracer, attempt) or (attempt.reason or "").startswith(_LET_THROUGH):
            return
        if decoder == "literal" and attempt.outcome == "failed":
            tracer.reject(
                "json_repair", everything, "json_repair is called here for the first time, and its text dropped"
            )
    if (text := repaired_text(tracer, everything)) is not None:
        note = "json.loads of what json_repair wrote"
        _object(tracer, rewritten(tracer, "json_repair", everything, json.loads(text), note))


def _object(tracer: Tracer, attempt: Attempt) -> bool:
    if attempt.ok and isinstance(attempt.value, dict):
        tracer.choose(attempt)
        return True
    if attempt.ok:
        tracer.amend(attempt, outcome="rejected", reason="decoded, but no object")
    return False


_BLOCK = re.compile(r"```(?:\s*+([\w+\-]+))?\n|```\n")


@described("autogen", LIBRARIES, revision=2, roots="all")
def autogen(tracer: Tracer) -> None:
    """AutoGen's `extract_json_from_str`: every fenced block, or the whole response where there is none; all or nothing.

    1. Each ``` with a line end, and a word before that, begins a block, which reaches to the next ```. 2. A word other
    than json raises. 3. json.loads of each block; where there is none, of the whole response. One that fails raises,
    and nothing is given. AutoGen's tools read their arguments by plain json.loads, as openai-python does.

    Source: autogen-core 0.7.5, autogen_core/utils/_load_json.py, extract_json_from_str.
    """
    give(tracer, _blocks(tracer), "a later block fails: nothing is given")
    if not tracer.attempts:
        choose_if_ok(tracer, tracer.attempt("whole", whole(tracer.raw)))


def _blocks(tracer: Tracer) -> Iterator[Attempt]:
    raw, at = tracer.raw, 0
    while (opening := _BLOCK.search(raw, at)) and (end := raw.find("```", opening.end())) >= 0:
        if opening[1] and opening[1].lower() != "json":
            yield tracer.fail("fenced", Span(*opening.span()), f"ValueError: found language: {opening[1][:40]}")
        yield tracer.attempt("fenced", Span(opening.end(), end))
        at = end + 3


@described("dspy", LIBRARIES, revision=3, calls=("json-repair",))
def dspy(tracer: Tracer) -> None:
    """DSPy's JSONAdapter: json_repair over the whole response, else over the first balanced braces.

    1. json_repair.loads over the whole response, including prose. 2. If that gives no object, json_repair.loads over
    the first { that some } balances, ignoring strings. 3. If that is no object either, it raises. What the signature
    asks for, by which DSPy then drops and casts fields, is not known here.

    Source: dspy 3.4.1, dspy/adapters/json_adapter.py, JSONAdapter.parse.
    """
    if not _fields(tracer, "whole", whole(tracer.raw)) and (braces := first_balanced(tracer.raw)):
        _fields(tracer, "balanced", braces)


def _fields(tracer: Tracer, strategy: str, span: Span) -> bool:
    if tracer.probe(span, []) is None:
        attempt = tracer.attempt(strategy, span)
    elif (written := repaired_text(tracer, span)) is not None:
        attempt = rewritten(tracer, strategy, span, json.loads(written), "by json_repair")
    else:
        return False
    return _object(tracer, attempt)


def first_balanced(raw: str) -> Span | None:
    r"""What the recursive pattern \\{(?:[^{}]|(?R))*\\} finds first: the first { that some } balances. Linear."""
    openers: list[int] = []
    ends: dict[int, int] = {}
    for match in re.finditer("[{}]", raw):
        if match[0] == "{":
            openers.append(match.start())
        elif openers:
            ends[openers.pop()] = match.end()
    return Span(min(ends), ends[min(ends)]) if ends else None


LONGEST = 1024 * 1024
WORK = 16  # a failed start is charged with the rest of the text, up to this many times the text
DEEPEST = 128  # levels
_decoder = json.JSONDecoder()
_OPENER = re.compile(r"[\[{]")


@described("instructor", LIBRARIES, revision=2, roots="last")
def instructor(tracer: Tracer) -> None:
    """instructor's `extract_json_from_codeblock`: the last object or list in the response that decodes is taken.

    1. Tries to decode at each { or [ that is not inside a value which was read already. 2. The last value that was read
    is the result: what comes earlier may be quoted from the prompt. 3. Without any, decodes the whole response. Texts
    of more than 1 MiB are refused, and so are texts with very many openers that start nothing, with more than 128
    levels, or with an integer of more digits than Python reads.

    Source: instructor 1.17.0, instructor/v2/core/json.py, extract_json_from_codeblock; the model's schema, which is
    checked afterwards, is not known here.
    """
    raw = tracer.raw
    if len(raw) > LONGEST:
        tracer.fail("balanced", whole(raw), "ValueError: JSON extraction input exceeds the 1 MiB character limit")
        return
    last, at, work = None, 0, WORK * len(raw)
    while opener := _OPENER.search(raw, at):
        start = opener.start()
        if work < len(raw) - start:
            tracer.fail("balanced", Span(start, len(raw)), "ValueError: malformed-input work limit exceeded")
            return
        try:
            end = _decoder.raw_decode(raw, start)[1]
            if nesting(raw[start:end])[0] > DEEPEST:
                raise ValueError(f"JSON extraction nesting exceeds the {DEEPEST} level limit")
        except json.JSONDecodeError:
            tracer.reject("balanced", Span(start, start + 1), "no value begins here")
            work -= len(raw) - start
            at = start + 1
            continue
        except (ValueError, RecursionError) as error:
            tracer.fail("balanced", Span(start, len(raw)), f"ValueError: {error}")
            return
        if last is not None:
            tracer.amend(last, outcome="rejected", reason="a later value is taken")
        last = tracer.attempt("balanced", Span(start, end))
        work -= end - start
        at = end
    choose_if_ok(tracer, last or tracer.attempt("whole", whole(raw), offers=bool(_OPENER.search(raw))))


@described("llamaindex", LIBRARIES, revision=2, calls=("PyYAML",))
def llamaindex(tracer: Tracer) -> None:
    """LlamaIndex's `parse_json_markdown`: first bracket to last, `json.loads`, else YAML.

    1. If there is a ```json, only the text between the first and the second of them counts, without backticks at its
    end. 2. Takes from the first { or [, whichever comes first, to the last closer of that kind. 3. json.loads. 4. If
    that fails, yaml.safe_load of the same text: single quotes, bare words and trailing commas pass, and so do texts
    that were never meant as JSON. A response without brackets becomes '' and is None by YAML, which no caller sees as
    an error.

    Source: llama-index-core 0.14.25, llama_index/core/output_parsers/utils.py, parse_json_markdown.
    """
    strategy, span = _marshalled(tracer.raw)
    attempt = tracer.attempt(strategy, span, offers=span.start < span.end)
    if choose_if_ok(tracer, attempt) or escapes(attempt):
        return
    attempt = decode_other(tracer, "yaml", span, _DRAWN.format("yaml.safe_load"))
    if attempt.ok and attempt.value is None:
        reason = "YAML reads None, which no caller sees as an error"
        tracer.amend(attempt, outcome="rejected", reason=reason, edits=(), note=None)
    else:
        choose_if_ok(tracer, attempt)


def _marshalled(raw: str) -> tuple[str, Span]:
    strategy, span = "outermost", whole(raw)
    pieces_start = raw.find("```json")
    if pieces_start >= 0:
        start = pieces_start + len("```json")
        end = raw.find("```json", start)
        strategy, span = "fenced", stripped(raw, *stripped(raw, start, end if end >= 0 else len(raw)), "`")
    span = stripped(raw, *span)
    square, brace = raw.find("[", *span), raw.find("{", *span)
    opener, closer = (square, "]") if brace < 0 or 0 <= square < brace else (brace, "}")
    end = raw.rfind(closer, *span) + 1
    if opener >= 0:
        return strategy, Span(opener, max(opener, end))
    # str.find gave -1: the slice then begins at the last character, and ends where the last "]" stood, if anywhere
    last = max(span.start, span.end - 1)
    return strategy, Span(last, max(last, end)) if end else Span(span.start, span.start)


plugins = (autogen, crewai, dspy, instructor, llamaindex)
