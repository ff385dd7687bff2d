"""Fencepost's own: finds JSON anywhere in the text, repairs it, and shows every step."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from webapp.parsing.decode import first_keys
from webapp.parsing.doubts import makes_equal_keys
from webapp.parsing.edit import apply, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.finder import Finder
from webapp.parsing.leftovers import name_leftovers
from webapp.parsing.patterns import later
from webapp.parsing.profiles._about import FENCEPOST
from webapp.parsing.strategies import scan_region
from webapp.parsing.trace import Attempt, Flag
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


@dataclass(frozen=True)
class Policies:
    """The policies of a profile, named in every trace it writes.

    roots: which of several values are the result. missing: what a key without a value gets. duplicates: which of
    two equal keys counts. truncated: whether a value that was cut off is a result. scalars: whether a response
    that is a bare string, number or literal is JSON. wanted: keys that `best` scores, each 10, the first 100.
    """

    roots: Literal["all", "first", "last", "best"] = "all"
    missing: Literal["null", "drop"] = "null"
    duplicates: Literal["last", "first", "error"] = "last"
    truncated: Literal["keep", "refuse"] = "keep"
    scalars: Literal["accept", "ignore"] = "accept"
    wanted: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, str]:
        """Every policy by name, as `Trace.policy` keeps it."""
        return {name: ", ".join(value) if name == "wanted" else value for name, value in vars(self).items()}


@dataclass(frozen=True)
class Fencepost:
    """The whole text first; then fences, tags and brackets outside of thoughts; then inside them."""

    name: str = "fencepost"
    version: str = "37"
    group: str = FENCEPOST
    policies: Policies = field(default_factory=Policies)
    about: str = ABOUT

    def run(self, tracer: Tracer) -> None:
        tracer.policy = self.policies.as_dict()
        whole = _whole(tracer)
        if whole.ok:
            self._take_whole(tracer, whole)
            return
        finder = Finder(tracer, self.policies.missing)
        outside, inside = _regions(tracer.raw)
        looked_at: list[list[tuple[int, int]]] = []
        for regions in (outside, inside):
            if looked_at and not (inside and _is_answer(tracer.raw, outside)):
                break
            looked_at.append(regions)
            for start, end in regions:
                scan_region(finder, start, end)
            if finder.accepted or tracer.offered:
                break
        self._choose(tracer, finder)
        if len(looked_at) == 2:
            tracer.flags += [Flag("draft", tracer.attempts[index].span) for index in tracer.chosen]
        name_leftovers(tracer, inside if len(looked_at) == 1 else [])

    def _take_whole(self, tracer: Tracer, whole: Attempt) -> None:
        """The response is JSON: it is the result, unless a policy says otherwise."""
        if self.policies.scalars == "ignore" and not isinstance(whole.value, (dict, list)):
            tracer.amend(whole, outcome="rejected", reason="a bare scalar (policy: ignore)")
        elif _duplicates(tracer, 0, self.policies.duplicates):
            tracer.chosen.append(0)

    def _choose(self, tracer: Tracer, finder: Finder) -> None:
        best = max((tier for tier, _ in finder.accepted), default=0)
        accepted: list[int] = []
        for tier, index in finder.accepted:
            if tier < best:
                _amend(
                    tracer, index, outcome="rejected", reason="what a fence, a tag or an object holds goes before it"
                )
                span = tracer.attempts[index].span
                if tracer.attempts[index].edits and span.start <= finder.whole.start:
                    tracer.flags.append(Flag("left_over", span))
            elif self.policies.truncated == "refuse" and index in finder.cut:
                _amend(tracer, index, outcome="failed", reason="it was cut off (policy: refuse)")
                tracer.offered = True
            elif _duplicates(tracer, index, self.policies.duplicates):
                accepted.append(index)
        tracer.chosen.extend(_roots(tracer, accepted, self.policies))
        if tracer.chosen:
            start = finder.whole.start
            broken = (one.span for one in tracer.attempts[1:] if one.outcome == "failed" and one.span.start <= start)
            tracer.flags += [Flag("left_over", span) for span in broken][:1]
        tracer.flags += [Flag("several_values", tracer.attempts[index].span) for index in accepted[len(accepted) < 2 :]]
        tracer.truncated = bool(finder.cut.intersection(tracer.chosen)) or (not tracer.chosen and bool(finder.cut))


def _amend(tracer: Tracer, index: int, **changes: Any) -> None:
    tracer.attempts[index] = replace(tracer.attempts[index], **changes)


def _duplicates(tracer: Tracer, index: int, policy: str) -> bool:
    """Whether an accepted attempt stays so: a repair that makes equal keys is refused, the policy says of others."""
    attempt = tracer.attempts[index]
    if attempt.edits and makes_equal_keys(tracer.raw, attempt):
        _amend(tracer, index, outcome="failed", reason="its repair would put two equal keys into one object")
        tracer.offered = True
        return False
    if policy == "last":
        return True
    value, repeated = first_keys(apply(tracer.raw, attempt.span, attempt.edits))
    if repeated and policy == "error":
        _amend(tracer, index, outcome="failed", reason="a key stands twice in one object (policy: error)")
        tracer.offered = True
        return False
    if repeated:
        _amend(tracer, index, value=value, note="the first of equal keys counts (policy: first)")
    return True


def _roots(tracer: Tracer, accepted: list[int], policies: Policies) -> list[int]:
    """The attempts that the policy `roots` makes the result; the others stay accepted and unchosen."""
    if len(accepted) < 2 or policies.roots == "all":
        return accepted
    if policies.roots == "best":
        for index in accepted:
            _amend(tracer, index, score=_score(tracer.attempts[index], policies.wanted))
        return [max(accepted, key=lambda index: tracer.attempts[index].score or 0)]
    return [accepted[0] if policies.roots == "first" else accepted[-1]]


def _score(attempt: Attempt, wanted: tuple[str, ...]) -> float:
    """100 for the first wanted key, 10 for each other, and a little for size (the rule of report 002, made even)."""
    value = attempt.value
    if not isinstance(value, dict):
        return 0.0
    keys = sum(100.0 if key == wanted[0] else 10.0 for key in wanted if key in value) if wanted else 0.0
    return keys + min(len(value), 9) / 10


def _whole(tracer: Tracer) -> Attempt:
    return tracer.attempt("whole", stripped(tracer.raw, characters=JSON_SPACE), offers=False, finite=True)


def _regions(raw: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The text outside of thoughts and the thoughts themselves; a thought may lack its opening or its closing tag."""
    outside: list[tuple[int, int]] = []
    inside: list[tuple[int, int]] = []
    if not ("<" in raw or "◁" in raw or "THINK]" in raw):
        return [(0, len(raw))], []  # far cheaper than the pattern
    at, depth = 0, 0
    for match in _thought.finditer(raw):
        closes = match["closes"] or match["moon"] or match["end"] or match["bracket"] or match["harmony"]
        if (match["harmony"] and not depth) or (closes and not at and _in_string(raw, match.start())):
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


def _in_string(raw: str, at: int) -> bool:
    """Whether a string of the line is open at `at`: what stands there closes no thought. Looks at some characters."""
    low = max(raw.rfind("\n", max(0, at - 400), at), at - 400, 0)
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
