"""One run of the gate: read the baseline, run the profile, compare, and write a new baseline where asked to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from webapp.gate import baseline, checking
from webapp.gate.checking import Report
from webapp.gate.samples import BadLines, Sample, rows
from webapp.parsing import Profile


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
    before = {} if is_new else baseline.read(path)
    writes = is_new or update
    chosen = samples if writes else [sample for sample in samples if split in (None, sample.split)]
    now = checking.readings(chosen, profile)
    report = checking.compare(
        samples, now, before, profile, allowed=allowed, strict=strict and not writes, split=split, updating=writes
    )
    if not writes or report.verdict != "passed":
        return report
    baseline.write(path, now.values())
    return replace(report, written="created" if is_new else "updated")
