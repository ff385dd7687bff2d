"""The finder: tries a candidate as it stands, then repaired, and records what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from webapp.parsing import decode, escaped
from webapp.parsing.calls import tags
from webapp.parsing.calls.tags import Mark
from webapp.parsing.edit import Edit, NotJson, Span, apply, composed, edit_at, in_order, places, stripped
from webapp.parsing.engine import Tracer
from webapp.parsing.machine import closers, escapes, tokens
from webapp.parsing.machine.reader import read_value
from webapp.parsing.machine.state import Machine
from webapp.parsing.mended import LONGEST, Mended, closed_twice, one_character, requoted
from webapp.parsing.patterns import later
from webapp.parsing.trace import Attempt

Limits = Callable[[], list[int]] | None
"""Asked for only where repairs are needed: the offsets at which the value may have to end, nearest first."""
QUOTED, WEAK, PROSE, MARKED = 1, 2, 3, 4
"""How plainly a place says that JSON is meant as the answer: quoted input, numbers in a sentence, an object in prose, a
fence or a tag."""
_NO_MARK, _NOWHERE = Mark(), Span(0, 0)
SHOWN = 2_000
"""So many rejected candidates are shown one by one."""
CROWDED = 12
"""characters from one candidate that the machine refuses to the next: so close none stand in what people write"""


@dataclass(slots=True)
class Finder:
    """Looks for candidates in `raw` and tries each; `accepted` has tier and index of each attempt accepted.

    `fence` is what the open fence began with, `meant` whether it says JSON; `resume_at` the end of a candidate that
    reached past its region, `loose` where brackets stand that began nothing, `closings` where the next closing tag of
    each name stands (-1: nowhere), `hidden` rejected ones past the limit; `refused_at` where the machine gave up last,
    `crowded` how often it did so right behind the one before.
    """

    tracer: Tracer
    accepted: list[tuple[int, int]] = field(default_factory=list)
    end: int = 0
    skips: int = 0
    look: int = 0
    tries: int = 0
    resume_at: int = 0
    rejected: int = 0
    refused_at: int = -1000
    crowded: int = 0
    cut: set[int] = field(default_factory=set)
    hidden: tuple[int, int, int] = (0, 0, 0)
    fence: str = ""
    meant: bool = False
    loose: dict[str, int] = field(default_factory=dict)
    closings: dict[str, int] = field(default_factory=dict)
    mark: Mark = _NO_MARK
    whole: Span = _NOWHERE

    def enter(self, start: int, end: int) -> int:
        """Turn to `raw[start:end]`; where to begin in it, since the last candidate may have reached into it."""
        raw = self.tracer.raw
        if not self.whole.end:
            size = len(raw)
            self.skips, self.look, self.tries = 4 * size + 10_000, 16 * size + 20_000, 14 * size + 30_000
            self.whole = stripped(raw)
        self.end = end
        return max(start, self.resume_at)

    def leave(self, at: int) -> None:
        """The region is over, its last candidate ended at `at`."""
        self.resume_at = at if at > self.end else 0
        first, last, count = self.hidden
        if count:
            self.hidden = (0, 0, 0)
            self.tracer.exhausted = True
            reason = f"{count:,} more candidates were looked at and are no JSON"
            self.tracer.reject("balanced", Span(first, last), reason)

    def lenient(self, start: int, tier: int = PROSE) -> bool:
        """Whether the place says that JSON is meant: a fence, a tag, or the very beginning of the response."""
        return tier == MARKED or start <= self.whole.start

    def marked(self, at: int) -> bool:
        """Whether the value at `at` belongs to the tag read last: before its closing tag, or close behind it."""
        return self.mark.covers(self.tracer.raw, at, self.last_end())

    def last_end(self) -> int:
        """Where the value that was accepted last ends."""
        return self.tracer.attempts[self.accepted[-1][1]].span.end if self.accepted else 0

    def tier(self, at: int, otherwise: int = PROSE) -> int:
        """The rank of a value at `at`."""
        if not self.marked(at):
            return otherwise
        return QUOTED if self.mark.kind == tags.QUOTED else MARKED

    def _noted(self, start: int, value: Any, note: str | None) -> str | None:
        return tags.note_of(self.tracer.raw, start, value, self.mark if self.marked(start) else Mark(), note)

    def reject(self, strategy: str, start: int, end: int, reason: str) -> int:
        """Record a candidate that is no JSON; after the first thousands, only how many there were."""
        self.rejected += 1
        if self.rejected <= SHOWN:
            self.tracer.reject(strategy, Span(start, end), reason)
        else:
            first, _, count = self.hidden
            self.hidden = (first or start, end, count + 1)
        kind = self.tracer.raw[start]
        if kind in "{[":
            self.loose[kind] = start
        return end

    def give_up(self, at: int) -> None:
        """Name the rest of the region as not looked at."""
        self.tracer.exhausted = True
        reason = f"after {len(self.tracer.attempts):,} attempts the rest was not looked at"
        self.tracer.reject("balanced", Span(at, self.end), reason)

    def consider(self, strategy: str, start: int, limits: Limits, tier: int, note: str | None = None) -> int:
        """Try the value that begins at `start`: as it is, then repaired up to one of `limits`; where it ends."""
        if self.tries > 0:
            failed = self.tracer.refused_at if self.tracer.refused.start == start else 0
            end, value, cost = (-1, None, failed) if failed > 0 else decode.read(self.tracer.raw, start)
            if end > 0 and not closers.goes_on(self.tracer.raw, start, end, self.end):
                return self._as_it_is(strategy, start, end, value, tier, note)
            self.tries -= cost
            if end < 0 and self.skips > 0 and (layer := escaped.layer_at(self.tracer.raw, start, self.end, cost)):
                self.skips -= layer.span.end - start
                return self.unescaped(layer, tier)
            if stop := self._one_character(strategy, start, tier, note, failed - start):
                return stop
        return self._mended(strategy, start, limits() if limits else [self.end], tier, note)

    def _one_character(self, strategy: str, start: int, tier: int, note: str | None, failed: int) -> int:
        """Try the value with one structural character taken out or put in; where it ends, or 0."""
        raw = self.tracer.raw
        result = one_character(raw, start, self.end, failed) or self._requoted(start)
        if not result or closers.goes_on(raw, start, result.end, self.end):
            return 0
        name, span = self._name(strategy, start, result.end), Span(start, result.end)
        note = self._noted(start, result.value, note)
        self.accept(self.tracer.record(name, span, result.value, result.edits, note=note), tier)
        return result.end

    def _requoted(self, start: int) -> Mended | None:
        """Try the value as if single quotes were double ones, as far as its brackets show where it may end."""
        raw = self.tracer.raw
        if self.skips < 0 or not _in_single_quotes.match(raw, start):
            return None
        end = tokens.balanced_end(raw, start, min(self.end, start + LONGEST))
        end = min(self.end, start + LONGEST, end + 400 if end > 0 else self.end)
        self.skips -= end - start
        result = requoted(raw, start, end)
        return None if result and closers.text_goes_on.match(raw, result.end) else result

    def _as_it_is(self, strategy: str, start: int, end: int, value: Any, tier: int, note: str | None) -> int:
        raw = self.tracer.raw
        edits: tuple[Edit, ...] = ()
        tail = self._tail(start, end, self.end, tier)
        if tail > end and "\n" in raw[start:end] and (earlier := closed_twice(raw, start, end, tail)):
            value, edits = earlier.value, earlier.edits
        elif tail > end:
            edits = (edit_at(raw, "extra_closer", *stripped(raw, end, tail)),)
        name = self._name(strategy, start, tail)
        note = self._noted(start, value, note)
        span = Span(start, tail)
        self.accept(self.tracer.record(name, span, value, edits, note=note, is_json=not edits), tier)
        return tail

    def _tail(self, start: int, end: int, limit: int, tier: int) -> int:
        """The end of the extra closers behind a value; in prose only those that touch it and close no other opener."""
        raw = self.tracer.raw
        tail = closers.tail.match(raw, end, limit).end()  # type: ignore[union-attr]  # always matches
        if tail == end or tier == MARKED or start <= self.whole.start:
            return tail
        if raw[end].isspace() or any(start - self.loose.get(kind, -1000) < 300 for kind in "{["):
            return end
        return tail

    def _name(self, strategy: str, start: int, end: int) -> str:
        return "whole" if start <= self.whole.start and end >= self.whole.end else strategy

    def accept(self, attempt: Attempt, tier: int) -> None:
        if attempt.ok:
            self.accepted.append((tier, self.tracer.index(attempt)))

    def _mended(self, strategy: str, start: int, limits: list[int], tier: int, note: str | None) -> int:
        end = start
        for last, limit in enumerate(limits, 1 - len(limits)):
            machine = Machine(
                self.tracer.raw,
                start,
                limit,
                lenient=self.lenient(start, tier),
                final=limit >= self.whole.end,
                look=self.look,
            )
            try:
                self.run(machine)
            except NotJson as refused:
                end = self._refused(strategy, start, limit, refused, tier)
                if last:
                    continue
                return end
            if machine.truncated and last and not machine.final:
                reason = "it stops short at this fence or tag; there is another one further on"
                self.reject(strategy, start, limit, reason)
                continue
            return self.conclude(strategy, start, machine, tier, note)
        return end

    def conclude(self, strategy: str, start: int, machine: Machine, tier: int, note: str | None) -> int:
        tail = self._tail(start, machine.at, machine.end, tier)
        raw = self.tracer.raw
        if tail > machine.at:
            machine.patch("extra_closer", *stripped(raw, machine.at, tail))
        span = Span(start, max(tail, machine.last))
        name = self._name(strategy, start, tail)
        edits = escapes.throughout(raw, span, in_order(machine.patches))
        attempt = self.tracer.attempt(name, span, edits, finite=True)
        if note := self._noted(start, attempt.value, note):
            attempt = self.tracer.amend(attempt, note=note)
        if machine.truncated:
            attempt = self.tracer.amend(attempt, note=f"{note}; cut off" if note else "cut off")
            self.cut.add(self.tracer.index(attempt))
        self.accept(attempt, tier)
        return tail

    def run(self, machine: Machine) -> None:
        """Run a machine on what is left to spend; all machines of one parse share it, so that time stays linear."""
        try:
            read_value(machine)
        except NotJson:
            self.tracer.exhausted = self.tracer.exhausted or machine.look < 0
            raise
        finally:
            self.look = machine.look

    def unescaped(self, layer: escaped.Layer, tier: int) -> int:
        """Try a value under a layer that is taken off, such as one whose text is the inside of a JSON string."""
        raw, (span, edits) = self.tracer.raw, layer
        text, end = apply(raw, span, edits), span.end
        machine = Machine(text, 0, len(text), final=end >= self.whole.end, look=self.look)
        if decode.decode(text, finite=True).failure:
            try:
                self.run(machine)
            except NotJson as refused:
                return self.reject("escaped", span.start, end, str(refused))
            end = places(span, edits).raw(0, max(machine.at, machine.last)).end
            made = escapes.throughout(text, Span(0, len(text)), in_order(machine.patches))
            edits = [edit for edit in composed(raw, span, edits, made) if edit.span.end <= end]
        attempt = self.tracer.attempt("escaped", Span(span.start, end), escaped.joined(raw, edits), finite=True)
        if machine.truncated:
            self.cut.add(self.tracer.index(attempt))
        self.accept(attempt, tier)
        return end

    def _refused(self, strategy: str, start: int, limit: int, refused: NotJson, tier: int) -> int:
        """Record that the machine gave up, and step over all that it gave up on, so that no fragment is taken."""
        end = max(self.skip(start, limit), refused.at, start + 1)
        if self.lenient(start, tier) or _meant.match(self.tracer.raw, start):
            self.tracer.fail(strategy, Span(start, end), str(refused))
            return end
        self.crowded += start - self.refused_at < CROWDED
        self.refused_at = start
        return self.reject(strategy, start, end, str(refused))

    def skip(self, start: int, limit: int) -> int:
        """The end of the bracketed text that begins at `start`; `start` where it never closes or costs too much."""
        if self.skips < 0:
            return start
        end = tokens.balanced_end(self.tracer.raw, start, limit)
        self.skips -= (end if end > 0 else limit) - start
        return max(end, start)


_meant = later(r'[{\[]\s*+(?:[{\[]\s*+)?+[*`_~\\^.;|-]{0,3}+"[^"\n]{1,80}+"[*`_~\\^.;|-]{0,3}+\s*+:')
"""A bracket, a quoted key and a colon: whatever stands before it, this was meant as JSON."""
_in_single_quotes = later(r"[{\[][\s{\[]*+(?:'|(?:True|False|None)\b|-?\d[\d.]*+\s*+,\s*+')")
