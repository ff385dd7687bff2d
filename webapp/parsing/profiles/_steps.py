"""What re-statements of people's parsers share: cuts at a response, decoders, and steps that try one reading each."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from webapp.capture.plain_values import failure_of, no_json, plain
from webapp.parsing.edit import Edit, Span, apply, composed
from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import SERVERS, Described, described
from webapp.parsing.trace import Attempt

LONGEST = 200_000  # characters that a decoder written in Python is given: its time is minutes beyond
_DECODERS = {"literal": ("ast", "literal_eval"), "json5": ("json5", "loads"), "yaml": ("yaml", "safe_load")}
Parser = Callable[[Tracer], None]
Step = Callable[[Tracer], bool]
"""Tries one reading of the whole text; whether that decided, be it with a value or with a refusal."""
Check = Callable[[Any], str]
"""what is wrong with a value; empty where nothing is"""
Change = tuple[Callable[[Any], Any], str]
"""what makes another value of one, or gives the same one; and a note on that"""
Rule = tuple[re.Pattern[str], str]
"""a pattern and what `re.sub` puts in the place of each match"""
BRACE = re.compile("[{}]")
_decoder = json.JSONDecoder()
# What `\s` matches in JavaScript (ECMA-262, WhiteSpace and LineTerminator); Python's differs in six characters.
_POINTS = (*range(9, 14), 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF)
WHITE = "".join(map(chr, _POINTS))
_GIVEN_UP = "another call cannot be read: none is given"
_IF_ONE_FAILS = "; so it is where one call fails: none is given, and the caller sees no error."


def whole(raw: str) -> Span:
    return Span(0, len(raw))


def between(raw: str, opener: str, closer: str) -> Span | None:
    """From the first `opener` to the last `closer` behind it, or None."""
    first, last = raw.find(opener), raw.rfind(closer)
    return Span(first, last + 1) if 0 <= first < last else None


def balanced(raw: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Every object that brace counting closes. Not string-aware; a stray `}` makes the count negative."""
    count, begin = 0, -1
    for match in BRACE.finditer(raw, start, len(raw) if end is None else end):
        if match[0] == "{":
            begin = match.start() if count == 0 else begin
            count += 1
        else:
            count -= 1
            if count == 0 and begin >= 0:
                yield Span(begin, match.end())


def value_end(raw: str, start: int = 0) -> int:
    """Where the JSON value ends that begins at `start`; -1 where none can be read."""
    try:
        return _decoder.raw_decode(raw, start)[1]
    except (ValueError, RecursionError):
        return -1


def completed(raw: str, end: int, closers: str, until: int | None = None) -> list[Edit]:
    """The edit that puts `closers` in the place of all from `end` to `until`; none where both are empty."""
    span = Span(end, len(raw) if until is None else until)
    rest = span.of(raw)
    return [Edit("truncation" if rest else "missing_closer", span, rest, closers)] if rest or closers else []


def rewritten(tracer: Tracer, strategy: str, span: Span, value: Any, note: str) -> Attempt:
    """An attempt whose value another decoder than JSON's gave: one edit writes it as JSON, so that it can be shown."""
    text = json.dumps(value, ensure_ascii=False)
    old = span.of(tracer.raw)
    return tracer.attempt(strategy, span, [Edit(strategy, span, old, text)] if text != old else [], note=note)


def derived(tracer: Tracer, span: Span, value: Any, note: str = "") -> Attempt:
    """An attempt whose value is not written as JSON, but made of what stands there."""
    return rewritten(tracer, "derived", span, value, "; ".join(filter(None, ["not JSON as written", note])))


def choose_if_ok(tracer: Tracer, attempt: Attempt) -> bool:
    """Make an attempt the result where it decoded; whether it did."""
    if attempt.ok:
        tracer.choose(attempt)
    return attempt.ok


def escapes(attempt: Attempt) -> bool:
    """Whether the decoder failed with an error that its callers do not catch, such as one of nesting."""
    return attempt.error is not None and attempt.error.type != "JSONDecodeError"


def refuse(tracer: Tracer, attempt: Attempt, reason: str) -> Attempt:
    """Make what decoded a failure of the original's own; which attempt that is."""
    tracer.offered = True
    return tracer.amend(attempt, outcome="failed", reason=reason)


class Unreadable(Exception):
    """Why an agent refuses a text, and the number of the line."""


class Refused(Exception):
    """A call, whose failure is recorded, makes a server refuse the request: none that it read before is given."""


def give(tracer: Tracer, attempts: Iterable[Attempt], given_up: str = _GIVEN_UP, *, all_or_none: bool = True) -> None:
    """Make every attempt that decoded the result; none where one is `Refused`, or has failed with `all_or_none`."""
    made: list[Attempt] = []
    try:
        for attempt in attempts:
            if all_or_none and attempt.outcome == "failed":
                raise Refused
            made += [attempt] if attempt.ok else []
    except Refused:
        for earlier in made:
            tracer.amend(earlier, outcome="rejected", reason=given_up)
    else:
        for attempt in made:
            tracer.choose(attempt)


def give_calls(tracer: Tracer, attempts: Iterable[Attempt]) -> None:
    """Make every call that decoded the result, unless one is `Refused`; without any the response is plain text."""
    give(tracer, attempts, all_or_none=False)
    if not tracer.attempts:
        tracer.reject("tagged", whole(tracer.raw), "no call begins in it: plain text")


def give_behind(
    begins: str, tracer: Tracer, attempts: Iterable[Attempt], *, all_or_none: bool = False, strategy: str = "tagged"
) -> None:
    """As `give`; a text without `begins` is plain text, and one that has it and no complete call is lost."""
    begin = tracer.raw.find(begins)
    if begin < 0:
        tracer.reject(strategy, whole(tracer.raw), f"no {_in_words(begins)}: plain text")
        return
    give(tracer, attempts, all_or_none=all_or_none)
    if not tracer.attempts:
        tracer.fail(strategy, Span(begin, len(tracer.raw)), "no complete call: none is given, this text is lost")


def _in_words(begins: str) -> str:
    return begins.replace("\n", " at the end of a line")


def reader(
    name: str, begins: str, source: str, *, all_or_none: bool = False, strategy: str = "tagged", **fields: Any
) -> Callable[[Callable[[Tracer], Iterable[Attempt]]], Described]:
    """Makes a model server's profile of a function that tries every call: all that decode are the result.

    A text without `begins` is plain text. With `all_or_none` a call that fails takes the others with it.
    """
    plain = f"Without {_in_words(begins)} the response is plain text{_IF_ONE_FAILS if all_or_none else '.'}"

    def profile(tries: Callable[[Tracer], Iterable[Attempt]]) -> Described:
        def parser(tracer: Tracer) -> None:
            give_behind(begins, tracer, tries(tracer), all_or_none=all_or_none, strategy=strategy)

        text = (tries.__doc__ or "").replace("\n\n", f"\n\n{plain} ", 1) + f"\n\nSource: {source}."
        return described(name, SERVERS, text, **{"roots": "all", **fields})(parser)

    return profile


def decode_other(tracer: Tracer, decoder: str, span: Span, note: str, edits: Sequence[Edit] = ()) -> Attempt:
    """The attempt of the decoder `literal` (Python's), `json5` or `yaml` at the edited `span`, drawn as JSON.

    Rejected where it gives what JSON has not, such as a set; failed where the decoder raises.
    """
    text = apply(tracer.raw, span, edits)
    if len(text) > LONGEST:
        reason = f"stopped: a text of more than {LONGEST:,} characters is not given to this decoder"
        return tracer.fail(decoder, span, reason)
    module, name = _DECODERS[decoder]
    try:
        with warnings.catch_warnings():  # of escapes unknown to Python, which are an error under -W error
            warnings.simplefilter("ignore")
            value = getattr(import_module(module), name)(text)
    except Exception as error:  # noqa: BLE001 — whatever a library raises on such a text is its outcome
        return tracer.fail(decoder, span, f"{type(error).__name__}: {failure_of(error)['said']}")
    if words := no_json(value):
        return tracer.reject(decoder, span, words)
    return rewritten(tracer, decoder, span, plain(value), note)


def empty(spaces: str | None = "") -> Step:
    """No text, or only characters of `spaces` (white space where None), stands for no arguments: {}."""

    def step(tracer: Tracer) -> bool:
        if tracer.raw.strip(spaces):
            return False
        tracer.choose(rewritten(tracer, "empty_arguments", whole(tracer.raw), {}, "no text stands for no arguments"))
        return True

    return step


def in_turn(tracer: Tracer, steps: Iterable[Step]) -> None:
    """Try each step, until one has decided."""
    any(step(tracer) for step in steps)


def loads(
    *rules: Rule,
    check: Check | None = None,
    make: Change | None = None,
    strict: bool = True,
    finite: bool = False,
    offers: bool = True,
) -> Step:
    """Decode the whole text after the rules, each in turn, as `Tracer.attempt` does.

    Of the value that `make` gives for another one it is the result; what `check` says is wrong is refused.
    """

    def step(tracer: Tracer) -> bool:
        span = whole(tracer.raw)
        edits = edits_of(tracer.raw, span, rules)
        attempt = tracer.attempt("whole", span, edits, strict=strict, finite=finite, offers=offers)
        if attempt.ok and make and (value := make[0](attempt.value)) is not attempt.value:
            tracer.amend(attempt, outcome="rejected", reason=make[1])
            attempt = rewritten(tracer, "derived", span, value, make[1])
        return attempt.ok and checked(tracer, attempt, check)

    return step


def checked(tracer: Tracer, attempt: Attempt, check: Check | None) -> bool:
    """Make what decoded the result, or refuse it in the words of the check; true."""
    if check and (reason := check(attempt.value)):
        refuse(tracer, attempt, reason)
    else:
        tracer.choose(attempt)
    return True


def edits_of(raw: str, span: Span, rules: Sequence[Rule]) -> list[Edit]:
    """What the rules change at `span`, each in the text that the one before it left. Linear in the text for each."""
    edits: list[Edit] = []
    for pattern, new in rules:
        text = apply(raw, span, edits)
        edits = composed(raw, span, edits, list(_changes(text, pattern, new)))
    return edits


def _changes(text: str, pattern: re.Pattern[str], new: str) -> Iterator[Edit]:
    """Where each match changes something, without what stands at both ends of it before and after."""
    for match in pattern.finditer(text):
        old, by = match[0], match.expand(new)
        same = next((at for at, (a, b) in enumerate(zip(old, by, strict=False)) if a != b), None)
        prefix = min(len(old), len(by)) if same is None else same
        right = 0
        while right < min(len(old), len(by)) - prefix and old[-right - 1] == by[-right - 1]:
            right += 1
        if old != by:
            start, end = match.start() + prefix, match.end() - right
            yield Edit("rewrite", Span(start, end), text[start:end], by[prefix : len(by) - right])
