"""A failure group in words: a response in one line, and the group as Markdown for an issue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webapp.markdown import block, code, escaped
from webapp.parsing import words
from webapp.parsing.trace import UNFIT, Trace
from webapp.parsing.words import counted
from webapp.store.failures.group_detail import GroupDetail
from webapp.store.failures.group_line import GroupLine, Rate
from webapp.store.sessions.turns import ExampleText
from webapp.visible import visible


def markdown(detail: GroupDetail, url: str, reproduction: dict[str, Any]) -> str:
    """The report; `reproduction` as `failure_pages.reduced` gives it."""
    return "\n".join(_lines(detail, url, reproduction)) + "\n"


def _lines(detail: GroupDetail, url: str, reproduction: dict[str, Any]) -> Iterator[str]:
    yield f"# {escaped(detail.title)}\n"
    yield f"- page: {url}"
    yield f"- group: {code(detail.key)}"
    if detail.line is None:
        yield "- none of it is in view under these filters"
        return
    yield from _facts(detail.line)
    for title, rates in (("Rate by model", detail.models), ("Rate by version", detail.versions)):
        if rates:
            yield f"\n## {title}\n"
            yield from (f"- {escaped(rate.name or 'no model named')}: {rate_words(rate)}" for rate in rates)
    if detail.before and detail.after:
        yield "\n## Before and after\n"
        yield from (f"- {escaped(rate.name)}: {rate_words(rate)}" for rate in (detail.before, detail.after))
    yield "\n## Smallest reproduction\n"
    if reproduction["reproduction"] is None:
        yield f"{escaped(reproduction['why'])}."
    else:
        yield f"Fails under {code(reproduction['parser'])}; {escaped(reproduction['why'])}:\n"
        yield block(reproduction["reproduction"], "text").rstrip()
    yield "\n## Profiles that would have read it\n"
    for reader in detail.readers:
        if reader.read:
            yield f"- {code(reader.profile)}: {reader.read:,} of {reader.run:,}"
    if reads_none := [reader.profile for reader in detail.readers if reader.run and not reader.read]:
        yield f"- read none of them: {', '.join(code(name) for name in reads_none)}"
    if missing := [reader.profile for reader in detail.readers if not reader.run]:
        yield f"- not run: {', '.join(code(name) for name in missing)}"


def _facts(line: GroupLine) -> Iterator[str]:
    share = "" if line.share is None else f", {percent(line.share)} of all responses"
    yield f"- {counted(line.count, 'response')} in {counted(line.sessions, 'session')}{share}"
    yield f"- first seen {line.first_seen:%Y-%m-%d %H:%M} UTC, last seen {line.last_seen:%Y-%m-%d %H:%M} UTC"
    yield f"- state: {line.state}{', ' + escaped(line.why) if line.why else ''}"
    if line.paths:
        yield f"- JSON paths: {', '.join(f'{code(path)} {count:,}' for path, count in line.paths)}"


def rate_words(rate: Rate) -> str:
    """`2.7 % of 50,000 (1,352; 95 %: 2.6 to 2.9 %)`; a count alone says that the number of all is not known."""
    if rate.share is None or rate.low is None or rate.high is None:
        return f"{rate.count:,} of an unknown number"
    return f"{percent(rate.share)} of {rate.of:,} ({rate.count:,}; 95 %: {percent(rate.low)} to {percent(rate.high)})"


def percent(share: float) -> str:
    """`2.7 %`, `0.004 %`; two digits that say something."""
    number = 100 * share
    return f"{number:.3g} %" if number >= 10 else f"{number:.2g} %"


BEFORE, AFTER = 24, 96
"""code points of raw text in front of the first edit and behind it"""
SHORTEST_GAP = 16
"""code points that are as long as what would be said instead"""
LONGEST_EDIT = 40
MOST_EDITS = 6


@dataclass(frozen=True, slots=True)
class LinePiece:
    """A stretch of the line: `text`, `del`, `ins`, `at` (a place without a width) or `gap`, text that is left out."""

    kind: str
    text: str


def pieces(example: ExampleText) -> list[LinePiece]:
    """The line; of a text that is too long to be read for it, only how long it is."""
    if example.raw is None:
        return [LinePiece("gap", f"{example.size:,} bytes, too long to be drawn here")]
    if example.ours and example.ours.version == UNFIT:
        return [_text(example.raw[:AFTER]), LinePiece("gap", "its stored parse does not fit this text")]
    edits = words.chosen_edits(example.ours) if example.ours else []
    at = edits[0].span.start if edits else _place(example.ours)
    first = max(0, at - BEFORE) if at > BEFORE + SHORTEST_GAP else 0
    line = [LinePiece("gap", f"{first:,} characters")] if first else []
    last = len(example.raw) if at + AFTER + SHORTEST_GAP >= len(example.raw) else at + AFTER
    here = first
    for edit in edits[:MOST_EDITS]:
        if edit.span.start >= last:
            break
        line.append(_text(example.raw[here : edit.span.start]))
        line += [LinePiece(kind, _cut(text)) for kind, text in (("del", edit.old), ("ins", edit.new)) if text]
        here = max(here, edit.span.end)
    if not edits and example.ours and not example.ours.chosen:
        line += [_text(example.raw[here:at]), LinePiece("at", "▲")]
        here = at
    line.append(_text(example.raw[here : max(here, last)]))
    if (more := len(example.raw) - max(here, last)) > 0:
        line.append(LinePiece("gap", f"{more:,} characters"))
    return [piece for piece in line if piece.text]


def _place(ours: Trace | None) -> int:
    """Where an unedited response is looked at: at its value, else at the last error."""
    if ours is None:
        return 0
    if ours.chosen:
        return ours.attempts[ours.chosen[0]].span.start
    fault = next((attempt.error for attempt in reversed(ours.attempts) if attempt.error), None)
    return fault.at if fault else 0


def _text(text: str) -> LinePiece:
    return LinePiece("text", visible(text.replace("\r\n", "\n").replace("\n", "↵")))


def _cut(text: str) -> str:
    cut = text if len(text) <= LONGEST_EDIT else f"{text[:LONGEST_EDIT]}…"
    return visible(cut.replace("\n", "↵"))
