"""A Markdown fence, whatever its info string, its length or its end."""

from __future__ import annotations

import re
from itertools import islice

from webapp.parsing import escaped, plausible, suspects
from webapp.parsing.finder import MARKED, Finder
from webapp.parsing.patterns import later
from webapp.parsing.strategies import Strategy, called

JSON_LABELS = {
    *("", "json", "json5", "jsonc", "jsonl", "ndjson", "geojson", "javascript", "js"),
    *("tool_call", "tool", "tool_code", "text", "txt", "plaintext", "output", "response", "result"),
}
_label = later(r"[ \t]*+(?P<label>[A-Za-z_][\w+.#-]*+)?(?P<rest>[^\n`{\[]*+)")
_before_content = later(r"(?:\s++|//[^\n]{0,1000}+\n|/\*[^*]{0,1000}+(?:\*(?!/)[^*]{0,1000}+){0,20}+\*/){0,40}+")
"""White space and a few comments."""
_call = later(r"<(?:[\w]+:)?(?:tool_calls?|function|function_calls|invoke|tool_use|tools?)\b")
_second_half = later(r'\s*+(?:[^`\n{}\[\]"]{1,80}+\n\s*+)?```[A-Za-z]{0,12}+\s*+(?P<begins>["{\[])')
_inner = later(r"```|~~~")
_escaped = later(escaped.OPENING)
_close = later(r"\s*+(?:`{3,}|~{3,})")


def _take(finder: Finder, match: re.Match[str]) -> int:
    raw, ticks = finder.tracer.raw, match[0].strip()
    if finder.fence and ticks.startswith(finder.fence):
        finder.fence, finder.meant = "", False
        return match.end()
    info = _label.match(raw, match.end(), finder.end)
    label = (info["label"] or "").lower() if info else ""
    begin = info.end() if info else match.end()
    at = _before_content.match(raw, begin, finder.end).end()  # type: ignore[union-attr]  # always matches
    opens = at < finder.end and raw[at] in "{["
    if calls := called.take_calls(finder, at) if label in ("tool_code", "tool_call", "tool") else 0:
        return calls
    if len(ticks) > 3 and _inner.match(raw, at, finder.end):
        finder.fence, finder.meant = ticks, False
        return at
    if label not in JSON_LABELS and not opens and not _call.match(raw, at, finder.end):
        return _code(finder, match.start(), begin, ticks, label)
    is_other = label == "diff" or _escaped.match(raw, at, finder.end)
    if not opens or is_other or plausible.why_not(raw, at, finder.end, lenient=True):
        finder.fence = ticks if "\n" in raw[begin : at + 1] else ""
        finder.meant = bool(finder.fence) and label.startswith("json")
        return at
    note = f"fence labelled {label}" if label else None
    end = finder.consider("fenced", at, lambda: _limits(finder, at, ticks), finder.tier(at, MARKED), note)
    close = _close.match(raw, end, finder.end)
    finder.fence = "" if close or end >= finder.end else ticks
    finder.meant = bool(finder.fence)
    return close.end() if close else end


def _limits(finder: Finder, at: int, ticks: str) -> list[int]:
    """Where the fence's content may end: the first closing fences, since some may stand inside a string."""
    closing = re.compile(rf"\n[ \t>]*+{ticks[0]}{{{len(ticks)},}}[ \t]*+(?=\n|\Z)|{ticks[0]}{{{len(ticks)},}}")
    raw, ends, goes_on = finder.tracer.raw, [], False
    for match in islice(closing.finditer(raw, at, finder.end), 8):
        if goes_on:  # this one opens the second half of a value that was parted
            goes_on = False
            continue
        is_open = raw[max(at, match.start() - 20) : match.start()].rstrip()[-1:] == ","
        half = _second_half.match(raw, match.end(), finder.end) if is_open else None
        innermost = raw[suspects.open_bracket(raw, at, match.start())] if half else ""
        goes_on = half is not None and (half["begins"] == '"' or innermost == "[")
        if not goes_on:
            ends.append(match.start())
    is_in_line = ends and raw[ends[-1]] != "\n"  # and may be of a string that the text's end cuts
    return [*dict.fromkeys(ends[:3] + ends[-1:])] + [finder.end] * (is_in_line or not ends)


def _code(finder: Finder, start: int, begin: int, ticks: str, label: str) -> int:
    """A fence of another language: passed over up to its end, and shown as rejected."""
    close = re.compile(rf"(?:^|\n)[ \t>]*+{ticks[0]}{{{len(ticks)},}}[ \t]*+(?=\n|\Z)").search(
        finder.tracer.raw, begin, finder.end
    )
    end = close.end() if close else finder.end
    return finder.reject("fenced", start, end, f"a fence of {label}, not of JSON")


plugin = Strategy("fenced", r"`{3,}|~{3,}", "`~", 10, _take)
