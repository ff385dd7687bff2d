"""What no attempt explains: brackets and keys outside of every candidate, which a trace must name before it is done."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from webapp.parsing.doubts import doubts
from webapp.parsing.edit import Span
from webapp.parsing.engine import Tracer
from webapp.parsing.machine.tokens import TWINS, balanced_end
from webapp.parsing.patterns import holds, later, up_to
from webapp.parsing.trace import Flag

_CALL = (
    r"<(?:/?(?:[a-z]{1,30}[:_]|[｜|‖ ]{1,3}DSML[｜|‖ ]{1,3})?"
    r"(?:tool_calls?|function(?:_calls)?|invoke|parameter|arg_key|arg_value)\b[^<>\n{}\[\]]{0,80}>"
    r"|[|｜](?=[^<>|｜\n{}\[\]]{0,40}(?:tool|python))[^<>|｜\n{}\[\]]{1,60}[|｜]>)"
)
_KEYS = (r'"[^"\n]{1,100}+"{1,2}\s{0,20}+:', r"'\w[\w -]{0,60}+'\s{0,20}+:")
_next = later(
    up_to("{}[]", _CALL, *_KEYS)
    + rf"(?:(?P<call>{_CALL})|(?P<key>{'|'.join(_KEYS)})|(?P<tag>\[/?[A-Z][A-Z_]{{2,30}}\])"
    r"|(?P<opener>[{\[])|(?P<closer>[}\]]))"
)
_any_tag = later(r"<[^<>\n]{1,100}>|```\w*")
_glued = later(r"""[\[{]\s*+[\]},]|\d|\[(?=["'])""")
"""What stands right behind a value as if it were of it: `[1,][, 2]`, `{"a": 1}["a"]`."""
_opened = later(
    r"""[{\[]\s*+(?:["'][^"'\n]{0,80}+["']?+\s*+)?+\Z"""
    r"""|<[｜|]tool[▁_]call[▁_](?:argument[▁_])?begin[|｜]>[^<>{\[]{0,60}\Z|<[\w:｜|]{0,12}(?:invoke|function|tool_call)[^<>]{0,60}\Z"""
)
"""A bracket behind which the text ends, at most a key between; or a call's opening tag, or a part of it."""
_unexplained = later("no (?:key|colon|value)")
"""Why a bracket was passed over of which it is not known what it is."""
_named = later(r"[A-Za-z_]\[\s*+\{")
"""A name right before an array of objects, which may be a call: `search[{"q": "x"}]`."""
_between_tags = later(r"\s*[\w.:/-]{0,80}\s*")
_named_tag = later(r"<(?:[a-z]{1,30}:)?(?:parameter|arg_key|arg_value|(?:function|invoke)[= ])")
LONG = 10_000
"""What an attempt so long passes over is not looked at again."""
_REASONS = {
    "call": "a tag of a tool call, which belongs to no call that was read",
    "closer": "a closing bracket behind a value, which closes nothing that was read",
    "key": "a key and its colon, which belong to no object that was read",
    "opener": "a bracket at which nothing was looked at",
    "tag": "a tag in square brackets, not an array",
    "thought": "inside a thought, which is read only if there is no candidate outside of it",
}


def name_leftovers(tracer: Tracer, thoughts: list[tuple[int, int]]) -> None:
    """Add an attempt for each run of unexplained brackets and keys; beside a value they make the trace ambiguous."""
    covered = _merged([attempt.span for attempt in tracer.attempts[1:]])
    long = [attempt.span for attempt in tracer.attempts[1:] if attempt.span.end - attempt.span.start > LONG]
    values = _merged([*(tracer.attempts[index].span for index in tracer.chosen), *long])
    runs = list(_runs(tracer.raw, covered, values, thoughts))
    for kind, start, end in runs:
        tracer.reject("leftover", Span(start, end), _REASONS[kind])
    if tracer.chosen:
        tracer.flags = list(dict.fromkeys([*tracer.flags, *_flags(tracer, runs)]))
        tracer.ambiguous = bool(tracer.flags)


def _flags(tracer: Tracer, runs: list[tuple[str, int, int]]) -> Iterator[Flag]:
    """What was left over beside the chosen values, and which of their edits leave it open what they are."""
    for kind, start, end in runs:
        if kind not in ("thought", "tag"):
            yield Flag("left_over", Span(start, end))
    end = max(tracer.attempts[index].span.end for index in tracer.chosen)
    if opened := _opened.search(tracer.raw, max(end, len(tracer.raw) - 100)):
        yield Flag("left_over", Span(*opened.span()))
    passed = [attempt for attempt in tracer.attempts[1:] if not attempt.ok]
    starts = {attempt.span.start for attempt in passed}
    brackets = {attempt.span.start for attempt in passed if _unexplained.search(attempt.reason or "")}
    failed = {attempt.span.end: attempt.span for attempt in passed if attempt.outcome == "failed"}
    unread = (("unopened", "rejected"), ("called", "failed"))
    yield from [Flag("left_over", a.span) for a in passed if (a.strategy, a.outcome) in unread]
    for index in tracer.chosen:
        span = tracer.attempts[index].span
        before = len(tracer.raw[max(0, span.start - 99) : span.start].rstrip(": ,\t\r\n")) - min(99, span.start)
        for end in range(span.start + before, span.start + 1):
            if end in failed:  # what holds it could not be read
                yield Flag("left_over", failed[end])
        glued = _glued.match(tracer.raw, span.end)
        if glued and (tracer.attempts[index].edits or span.end in starts):
            yield Flag("left_over", Span(*glued.span()))
        is_plain = tracer.attempts[index].strategy in ("balanced", "lines")
        if is_plain and (bracket := _bracket_around(tracer.raw, span, brackets)) >= 0:
            yield Flag("left_over", Span(bracket, bracket + 1))
        value, start = tracer.attempts[index].value, max(0, span.start - 1)
        if _named.match(tracer.raw, start) and isinstance(value, list) and len(value) == 1 and "name" not in value[0]:
            yield Flag("left_over", Span(start, start + 1))
        kinds: dict[str, Flag] = {}
        for flag in doubts(tracer.raw, tracer.attempts[index], cut=tracer.truncated):
            kinds.setdefault(flag.kind, flag)
        yield from kinds.values()


def _bracket_around(raw: str, value: Span, passed: set[int]) -> int:
    """Where a bracket stands near before a value that was passed over and closes behind it, what holds it; else -1."""
    low = max(0, value.start - 200)
    near = raw[low : value.end + 200].translate(TWINS)
    for at in range(value.start - 1, low - 1, -1):
        if at in passed and near[at - low] in "{[":
            return at if balanced_end(near, at - low, len(near)) + low > value.end else -1
    return -1


def _runs(
    raw: str, covered: list[Span], values: list[Span], thoughts: list[tuple[int, int]]
) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each run of leftovers outside of `covered` that no attempt parts."""
    starts, thinking = [span.start for span in covered], [start for start, _ in thoughts]
    run: tuple[str, int, int] | None = None
    for kind, start, end in _leftovers(raw, values):
        index = bisect_right(starts, start) - 1
        if index >= 0 and start < covered[index].end:
            continue
        thought = bisect_right(thinking, start) - 1
        kind = "thought" if thought >= 0 and start < thoughts[thought][1] else kind
        if run and run[0] == kind and bisect_right(starts, run[1]) == index + 1:
            run = kind, run[1], end
            continue
        if run:
            yield run
        run = kind, start, end
    if run:
        yield run


def _leftovers(raw: str, values: list[Span]) -> Iterator[tuple[str, int, int]]:
    """Openers, keys, and closers that no bracket outside of the values opened and that stand behind a value."""
    edges = [0, *(edge for span in values for edge in span), len(raw)]
    open_brackets: list[str] = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        at = start
        if not holds(raw, start, end, "{[]}<\"'"):
            continue
        while (match := _next.match(raw, at)) and match.start(match.lastgroup or 0) < end:
            kind = match.lastgroup or ""
            place = match.span(kind)
            at = place[0] + 1 if kind == "call" else place[1]
            if kind == "opener":
                open_brackets.append("}" if raw[place[0]] == "{" else "]")
            elif kind == "closer" and open_brackets and open_brackets[-1] == raw[place[0]]:
                open_brackets.pop()
                continue
            if not (kind == "closer" and not start) and not (
                kind == "call" and values and _wraps(raw, *place, start, end)
            ):
                yield kind, *place


def _wraps(raw: str, start: int, end: int, low: int, high: int) -> bool:
    """Whether only tags, a fence and a name stand between a call's tag and a value, which ends at `low` or begins at
    `high`; or whether the tag is spoken of in a sentence, or is a token of a model's template."""
    if raw[start + 1] in "|｜" or raw[end - 2] in "|｜":
        return True
    closes = raw[start + 1] == "/"
    if (closes and not low) or (not closes and high == len(raw)):
        return not closes and bool(raw[end:].strip()) and not _named_tag.match(raw, start)
    gap = raw[low:start] if closes else raw[end:high]
    spoken_of = not (closes or _named_tag.match(raw, start))
    return spoken_of or _between_tags.fullmatch(_any_tag.sub("", gap[:400])) is not None


def _merged(spans: list[Span]) -> list[Span]:
    """The spans in order, those that overlap made one."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged
