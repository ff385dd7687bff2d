"""Fencepost's own: finds JSON anywhere in the text, repairs it, and shows every step."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from webapp.parsing.doubts import makes_equal_keys
from webapp.parsing.edit import stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.finder import Finder
from webapp.parsing.leftovers import name_leftovers
from webapp.parsing.patterns import later
from webapp.parsing.profiles._about import FENCEPOST
from webapp.parsing.strategies import scan_region
from webapp.parsing.trace import Flag
from webapp.parsing.verdicts import JSON_SPACE

_thought = re.compile(
    r"[<◁\[](?:(?:\w+:)?(?P<closes>/?)(?i:think|thinking|thought|thoughts|reasoning|scratchpad|reflection)>|(?P<moon>/?)think▷"
    r"|\|(?:START|(?P<end>END))_THINKING\|>|(?P<bracket>/?)THINK\]|\|channel\|>analysis<\|message\|>"
    r"|(?P<harmony>\|(?:end|channel)\|>))"
)

ABOUT = """\
1. Decodes the whole response; if that works, it is clean. 2. Sets thoughts (<think>…</think>) aside; they are \
searched only if nothing else was said, or the rest points at them, and their values are flagged. 3. Looks for \
candidates at every place where JSON may begin: fences of any kind, tags, tool calls in other notations, escaped \
strings, JSON lines, brackets in prose, keys without an opening bracket. Placeholders, f-strings, references and \
code of other languages are rejected with the reason. 4. Decodes each candidate unchanged; else removes, puts \
in or replaces one structural character; else reads it with a state machine \
that records its edits. The value is always what the edited text decodes to. 5. Chooses: a fence or a tag that marks \
a call or an answer takes precedence over an object in prose, which takes precedence over a list of numbers in a \
sentence and over quoted input. Several answers of the same rank are all returned. 6. Reports what no attempt \
explains: brackets and keys outside of all values.
A candidate that cannot be read to its end has failed; no fragment of it is returned instead. A text that ends before \
its value does is marked as cut off. The trace names the policies that applied."""


POLICY = {
    "roots": "all",
    "missing": "null",
    "duplicates": "last",
    "truncated": "keep",
    "scalars": "accept",
    "wanted": "",
}
"""what decides where a text leaves a choice, as its traces state it"""


@dataclass(frozen=True)
class Fencepost:
    """The whole text first; then fences, tags and brackets outside of thoughts; then inside them."""

    name: str = "fencepost"
    version: str = "41"
    group: str = FENCEPOST
    about: str = ABOUT

    def run(self, tracer: Tracer) -> None:
        tracer.policy = POLICY
        whole = tracer.attempt("whole", stripped(tracer.raw, characters=JSON_SPACE), offers=False, finite=True)
        if whole.ok:
            tracer.choose(whole)
            return
        finder = Finder(tracer)
        outside, inside = _regions(tracer.raw)
        for start, end in outside:
            scan_region(finder, start, end)
        finds_none = bool(inside) and not finder.accepted and not tracer.offered
        looks_inside = finds_none and _is_answer(tracer.raw, outside)
        for start, end in inside if looks_inside else ():
            scan_region(finder, start, end)
        self._choose(tracer, finder)
        if looks_inside:
            tracer.flags += [Flag("draft", tracer.attempts[index].span) for index in tracer.chosen]
        name_leftovers(tracer, [] if looks_inside else inside)

    def _choose(self, tracer: Tracer, finder: Finder) -> None:
        best = max((tier for tier, _ in finder.accepted), default=0)
        accepted: list[int] = []
        for tier, index in finder.accepted:
            if tier < best:
                attempt, reason = tracer.attempts[index], "what a fence, a tag or an object holds goes before it"
                tracer.attempts[index] = replace(attempt, outcome="rejected", reason=reason)
                if attempt.edits and attempt.span.start <= finder.whole.start:
                    tracer.flags.append(Flag("left_over", attempt.span))
            elif not _makes_equal_keys(tracer, index):
                accepted.append(index)
        tracer.chosen.extend(accepted)
        if tracer.chosen:
            start = finder.whole.start
            broken = (one.span for one in tracer.attempts[1:] if one.outcome == "failed" and one.span.start <= start)
            tracer.flags += [Flag("left_over", span) for span in broken][:1]
        tracer.flags += [Flag("several_values", tracer.attempts[index].span) for index in accepted[len(accepted) < 2 :]]
        tracer.truncated = bool(finder.cut.intersection(tracer.chosen)) or (not tracer.chosen and bool(finder.cut))


def _makes_equal_keys(tracer: Tracer, index: int) -> bool:
    """Whether an accepted attempt is refused, since its repair makes equal keys."""
    attempt = tracer.attempts[index]
    if not attempt.edits or not makes_equal_keys(tracer.raw, attempt):
        return False
    reason = "its repair would put two equal keys into one object"
    tracer.attempts[index] = replace(attempt, outcome="failed", reason=reason)
    tracer.offered = True
    return True


def _regions(raw: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The text outside of thoughts and the thoughts themselves; a thought may lack its opening or its closing tag."""
    outside: list[tuple[int, int]] = []
    inside: list[tuple[int, int]] = []
    if not ("<" in raw or "◁" in raw or "THINK]" in raw):
        return [(0, len(raw))], []  # far cheaper than the pattern
    at, depth, inner = 0, 0, False
    for match in _thought.finditer(raw):
        closes = match["closes"] or match["moon"] or match["end"] or match["bracket"] or match["harmony"]
        was_inner, inner = inner, not closes and not depth and _in_value(raw, match.start(), opens=True)
        if inner or (match["harmony"] and not depth):
            continue
        if closes and ((was_inner and not depth) or (not at and _in_value(raw, match.start()))):
            continue
        if (closes and depth == 0 and not outside and not inside) or (closes and depth):
            inside.append((at, match.start()))
        elif not closes and not depth:
            outside.append((at, match.start()))
        else:
            continue
        at, depth = match.end(), 0 if closes else 1
    (inside if depth else outside).append((at, len(raw)))
    return outside, inside


def _in_value(raw: str, at: int, *, opens: bool = False) -> bool:
    """Whether a string or a bracket of the line is open at `at`: what stands there is no tag of a thought, or one
    within the value. Looks nearby. One that `opens` a thought needs a brace, since prose ends in a comma as well.
    """
    low = max(raw.rfind("\n", max(0, at - 400), at), at - 400, 0)
    if raw[low:at].rstrip()[-1:] in (",", "{", "["):
        return not opens or raw.rfind("{", low, at) > raw.rfind("}", low, at)
    return raw.count('"', low, at) % 2 == 1 and '"' in raw[at : at + 100].partition("\n")[0]


def _is_answer(raw: str, outside: list[tuple[int, int]]) -> bool:
    """Whether thoughts are the answer: nothing stands outside of them but tags, or a word that points at them."""
    rest = _tag.sub("", " ".join(raw[start:end] for start, end in outside))
    return not _word.search(rest) or _points_back.search(rest[:400]) is not None


_tag = later(r"<[^<>\n]{1,60}>")
_word = later(r"\w")
_points_back = later(
    r"(?i)\b(?:as|see|is|given|stated|shown)[^.\n]{0,40} (?:above|in my (?:thought|thinking|reasoning)s?)\b"
)


plugin = Fencepost()
