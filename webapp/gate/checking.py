"""Compares what a profile makes of responses now with the baseline, and decides: passed, failed or error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from webapp import parsing
from webapp.gate.judging import judge, roots_of
from webapp.gate.samples import BadLines, Sample, SampleReading, digest_of, read_baseline, reading, rows, write_baseline
from webapp.jsontext import same_as
from webapp.parsing import Profile

EXIT = {"passed": 0, "failed": 1, "error": 2}
RANK = {"right": 2, "nothing": 2, "missed": 1, "wrong": 0, "spurious": 0}
"""of an outcome under a final label: right, an error that shows, an error that is silent"""
_HOW_TO_GIVE = "give --labels FILE, or label responses of the database (/labels)"
KINDS = {
    "regression": "worse than before, by its final label",
    "allowed": "worse than before, and allowed by name",
    "changed": "another value than before, and no final label says which is right",
    "fixed": "better than before, by its final label",
    "moved": "another value than before, as right or as wrong by its final label",
}


@dataclass(frozen=True, slots=True)
class SampleChange:
    """A response that is read otherwise than before. Outcomes are None where no final label says what was meant;
    `reason` says why a regression is allowed. `kind` is one of `KINDS`."""

    kind: str
    sample: Sample
    before: SampleReading
    after: SampleReading
    was: str | None = None
    now: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All that a run of the gate says. `problems` are sentences; `written` is None, "created" or "updated"."""

    profile: str
    version: str
    strict: bool
    split: str | None
    checked: int
    labelled: int
    changes: tuple[SampleChange, ...] = ()
    problems: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    written: str | None = None
    rights: Mapping[str, str | None] = field(default_factory=dict)
    """each response's outcome, None without a final label"""

    def of(self, kind: str) -> list[SampleChange]:
        return [change for change in self.changes if change.kind == kind]

    @property
    def outcomes(self) -> dict[str, int]:
        """What the responses with a final label come to now, with how many of each."""
        return {name: list(self.rights.values()).count(name) for name in RANK}

    @property
    def reasons(self) -> list[str]:
        """Why it did not pass; empty where it did."""
        if self.problems:
            return list(self.problems)
        reasons = []
        if regressions := len(self.of("regression")):
            reasons.append(f"{_responses(regressions)} worse than before, by final labels")
        if self.strict and (changed := len(self.of("changed"))):
            reasons.append(f"{_responses(changed)} read differently than before, without a label (--strict)")
        if self.written == "created":
            reasons.append("the baseline is new: review and commit it")
        return reasons

    @property
    def verdict(self) -> str:
        """passed, failed or error: the only place where it is decided."""
        return "error" if self.problems else "failed" if self.reasons else "passed"

    @property
    def exit_code(self) -> int:
        return EXIT[self.verdict]


def _responses(count: int) -> str:
    return f"{count:,} {'response is' if count == 1 else 'responses are'}"


def readings(samples: Iterable[Sample], profile: Profile) -> dict[str, SampleReading]:
    """Run the profile over the responses; what it makes of each, by id."""
    return {sample.id: reading(sample, parsing.parse(sample.text, profile)) for sample in samples}


def compare(
    samples: Sequence[Sample],
    now: Mapping[str, SampleReading],
    before: Mapping[str, SampleReading],
    profile: Profile,
    *,
    allowed: Mapping[str, str],
    strict: bool = False,
    split: str | None = None,
    updating: bool = False,
) -> Report:
    """Hold what the profile makes `now` against the baseline. With `updating` other responses than the baseline's are
    no problem, since it is about to be written anew."""
    chosen = [sample for sample in samples if split in (None, sample.split)]
    problems = [] if updating else _problems(samples, before)
    if not chosen:
        where = f" in the split {split}" if split else ""
        problems.append(f"there is no response to check{where}: {_HOW_TO_GIVE}")
    sample_ids = {sample.id for sample in samples}
    problems += [
        f"{sample_id!r} is allowed to be worse, but no response has that id"
        for sample_id in allowed
        if sample_id not in sample_ids
    ]
    rights = {sample.id: outcome(sample, now[sample.id], profile) for sample in chosen}
    pairs = [(sample, before[sample.id]) for sample in chosen if sample.id in before]
    same = [(sample, old, now[sample.id]) for sample, old in pairs if old.text == sample.sha256]
    changes = [change for pair in same if (change := _change(*pair, profile, allowed))]
    used = {change.sample.id for change in changes if change.kind == "allowed"}
    return Report(
        profile.name,
        profile.version,
        strict,
        split,
        len(chosen),
        sum(sample.meant is not None for sample in chosen),
        tuple(changes),
        tuple(problems),
        tuple(sample_id for sample_id in allowed if sample_id not in used and sample_id in rights),
        rights=rights,
    )


def outcome(sample: Sample, reading: SampleReading, profile: Profile) -> str | None:
    """right, wrong, missed, spurious or nothing; None where no final label says what was meant."""
    if sample.meant is None:
        return None
    if reading.values is None:
        same = digest_of(same_as(sample.meant)) == reading.digest
        return "right" if same else "wrong" if sample.meant else "spurious"
    return judge(reading.values, sample.meant, roots_of(profile)).outcome


def _problems(samples: Sequence[Sample], before: Mapping[str, SampleReading]) -> list[str]:
    """Where baseline and responses do not speak of the same."""
    texts = {sample.id: sample.sha256 for sample in samples}
    lost = [f"{ident!r} is in the baseline, but not among the responses" for ident in before if ident not in texts]
    new = [
        f"{ident!r} is not in the baseline: see what is new, then --update" for ident in texts if ident not in before
    ]
    changed = [ident for ident, old in before.items() if texts.get(ident, old.text) != old.text]
    return [*lost, *new, *(f"{ident!r} has another text than in the baseline" for ident in changed)]


def _change(
    sample: Sample, old: SampleReading, new: SampleReading, profile: Profile, allowed: Mapping[str, str]
) -> SampleChange | None:
    was, now = (outcome(sample, reading, profile) for reading in (old, new))
    if was is not None and now is not None and RANK[now] != RANK[was]:
        reason = allowed.get(sample.id) if RANK[now] < RANK[was] else None
        kind = "fixed" if RANK[now] > RANK[was] else "allowed" if reason else "regression"
        return SampleChange(kind, sample, old, new, was, now, reason)
    if old.digest == new.digest:
        return None
    return SampleChange("changed" if was is None else "moved", sample, old, new, was, now)


def read_allowed(path: Path) -> dict[str, str]:
    """Regressions that somebody allowed: reasons by id, from lines `{"id", "reason"}`.

    Raises `BadLines`, also for an id that occurs there twice.
    """
    allowed: dict[str, str] = {}
    with path.open("rb") as file:
        for number, row in rows(file, str(path)):
            ident, reason = row.get("id"), row.get("reason")
            if not isinstance(ident, str) or not isinstance(reason, str) or not ident or not reason.strip():
                raise BadLines(f'{path}, line {number}: "id" and "reason" must be texts, and neither empty')
            if ident in allowed:
                raise BadLines(f"{path}, line {number}: the id {ident!r} occurs there twice")
            allowed[ident] = reason.strip()
    return allowed


def run(
    samples: Sequence[Sample],
    profile: Profile,
    path: Path,
    *,
    allowed: Mapping[str, str],
    strict: bool = False,
    split: str | None = None,
    update: bool = False,
) -> Report:
    """Check `samples` against the baseline at `path`.

    Without one it is written and the report fails: somebody must look at it. With `update` it is written anew, but for
    a report that fails: a regression must be allowed by name first. Raises `BadLines` where a file cannot be used.
    """
    twice = [ident for ident, count in Counter(sample.id for sample in samples).items() if count > 1]
    if twice:
        raise BadLines(f"the id {twice[0]!r} is used for several responses")
    is_new = not path.exists()
    before = {} if is_new else read_baseline(path)
    writes = is_new or update
    chosen = samples if writes else [sample for sample in samples if split in (None, sample.split)]
    now = readings(chosen, profile)
    report = compare(
        samples, now, before, profile, allowed=allowed, strict=strict and not writes, split=split, updating=writes
    )
    if not writes or report.verdict != "passed":
        return report
    write_baseline(path, now.values())
    return replace(report, written="created" if is_new else "updated")


def as_dict(report: Report) -> dict[str, Any]:
    return {
        "verdict": report.verdict,
        "exit_code": report.exit_code,
        "reasons": report.reasons,
        **{name: getattr(report, name) for name in ("profile", "version", "strict", "split", "checked", "labelled")},
        "baseline": report.written,
        "outcomes": report.outcomes,
        "problems": list(report.problems),
        "allowances_not_needed": list(report.unused),
        "counts": {kind: len(report.of(kind)) for kind in KINDS},
        "changes": [_change_dict(change) for change in report.changes],
    }


def _change_dict(change: SampleChange) -> dict[str, Any]:
    values = {
        side: None if reading.values is None else list(reading.values)
        for side, reading in (("before", change.before), ("after", change.after))
    }
    return {
        "kind": change.kind,
        "id": change.sample.id,
        "was": change.was,
        "now": change.now,
        "reason": change.reason,
        "verdicts": [change.before.verdict, change.after.verdict],
        "values": values,
        "expected": None if change.sample.meant is None else list(change.sample.meant),
        "split": change.sample.split,
    }
