"""LlamaIndex's `parse_json_markdown`: first bracket to last, `json.loads`, else YAML."""

from __future__ import annotations

from webapp.parsing.engine import Tracer
from webapp.parsing.profile_groups import LIBRARIES
from webapp.parsing.profiles import _decoders
from webapp.parsing.profiles._about import Described, restated
from webapp.parsing.profiles._cutting import choose_if_ok, whole
from webapp.parsing.span import Span, stripped


def run(tracer: Tracer) -> None:
    strategy, span = _marshalled(tracer.raw)
    attempt = tracer.attempt(strategy, span, offers=span.start < span.end)
    if not choose_if_ok(tracer, attempt) and attempt.error and attempt.error.type == "JSONDecodeError":
        _yaml(tracer, span)


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


def _yaml(tracer: Tracer, span: Span) -> None:
    note = "decoded by yaml.safe_load, drawn as the JSON of its value"
    attempt = _decoders.decode(tracer, "yaml", span, note)
    if attempt.ok and attempt.value is None:
        reason = "YAML reads None, which no caller sees as an error"
        tracer.amend(attempt, outcome="rejected", reason=reason, edits=(), note=None)
    else:
        choose_if_ok(tracer, attempt)


plugin = Described(
    name="llamaindex",
    group=LIBRARIES,
    version=restated("0.14.25-2", "PyYAML"),
    about=(
        "1. If there is a ```json, only the text between the first and the second of them counts, without "
        "backticks at its end. 2. Takes from the first { or [, whichever comes first, to the last closer of that kind. "
        "3. json.loads. 4. If that fails, yaml.safe_load of the same text: single quotes, bare words and trailing "
        "commas pass, and so do texts that were never meant as JSON. A response without brackets becomes '' and is "
        "None by YAML, which no caller sees as an error.\n"
        "Source: llama-index-core 0.14.25, llama_index/core/output_parsers/utils.py, parse_json_markdown."
    ),
    parser=run,
)
